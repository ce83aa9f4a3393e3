#!/bin/sh
# Rewrites the pinned, hashed requirement files from pyproject.toml, and the bill of materials. Needs `uv` on the path.
set -eu
cd "$(dirname "$0")/.."
lock() {
  uv pip compile --quiet --generate-hashes --python-version 3.11 --no-emit-index-url --no-annotate --no-header "$@"
}
compile() {
  lock --universal "$@"
}
compile pyproject.toml --output-file requirements/run.txt
compile pyproject.toml --group test --output-file requirements/test.txt
compile pyproject.toml --group test --group lint --group build --group docs --output-file requirements/dev.txt
rm -f requirements/minimal.txt   # uv keeps what an old lock pins, and a lowered bound would go unseen
lock --resolution lowest-direct pyproject.toml --group test --output-file requirements/minimal.txt
.venv/bin/python scripts/make_sbom.py
