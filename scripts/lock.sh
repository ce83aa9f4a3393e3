#!/bin/sh
# Rewrites the pinned, hashed requirement files from pyproject.toml. Needs `uv` on the path.
set -eu
cd "$(dirname "$0")/.."
compile() {
  uv pip compile --quiet --generate-hashes --universal --python-version 3.11 --no-emit-index-url --no-annotate --no-header "$@"
}
compile pyproject.toml --output-file requirements/run.txt
compile pyproject.toml --group test --output-file requirements/test.txt
compile pyproject.toml --group test --group lint --group build --group docs --output-file requirements/dev.txt
