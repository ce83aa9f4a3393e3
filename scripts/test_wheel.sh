#!/bin/sh
# Builds the wheel and runs the command-line tests against it, installed in a fresh environment without the sources.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
.venv/bin/python -m build --wheel --no-isolation --outdir "$work/dist" . > "$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/test.txt
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps "$work"/dist/*.whl
mkdir "$work/outside"
cp -r tests examples README.md docs pyproject.toml "$work/outside/"
cd "$work/outside"
"$work/venv/bin/python" -m pytest -q tests/e2e
