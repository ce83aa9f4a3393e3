#!/bin/sh
# Holds the release of the last commit: built twice it has the same bytes, and its wheel passes the command-line tests that its
# sdist carries, in a fresh environment without the sources, on the oldest dependencies that pyproject.toml admits.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
sh scripts/build.sh "$work/dist"
(umask 077; TZ=Asia/Tokyo LC_ALL=C sh scripts/build.sh "$work/again")
for built in "$work"/dist/*; do
  cmp "$built" "$work/again/$(basename "$built")"
  echo "$(basename "$built"): $(wc -c < "$built") bytes, the same twice"
done
git ls-tree -r --name-only HEAD | sort > "$work/committed"
tar -tzf "$work"/dist/*.tar.gz | cut -d/ -f2- | grep -vx PKG-INFO | sort > "$work/held"
diff "$work/committed" "$work/held"   # the sdist holds all that is committed, and nothing else
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/minimal.txt
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps "$work"/dist/*.whl
mkdir "$work/outside"
tar -xzf "$work"/dist/*.tar.gz --strip-components=1 -C "$work/outside"
rm -r "$work/outside/src"
cd "$work/outside"
PATH="$work/venv/bin:$PATH" sh scripts/compile_kernels.sh
"$work/venv/bin/python" -m pytest -q -n 2 tests/e2e
