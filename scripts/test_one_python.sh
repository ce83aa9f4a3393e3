#!/bin/sh
# Holds one Python: `sh scripts/test_one_python.sh FOLDER PYTHON`, with a wheel, an sdist and test.txt in the folder.
set -eu
folder=$1 python=$2
place=$(mktemp -d "$folder/python.XXXX")
"$python" -m venv "$place/venv"
"$place/venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$folder/test.txt"
"$place/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps "$folder"/*.whl
mkdir "$place/outside"
tar -xzf "$folder"/*.tar.gz --strip-components=1 -C "$place/outside"
rm -r "$place/outside/src"
cd "$place/outside"
PATH="$place/venv/bin:$PATH" sh scripts/compile_kernels.sh
status=passed
"$place/venv/bin/python" -m pytest -q -n 2 tests/unit tests/golden tests/contract \
  tests/e2e/test_plan.py tests/e2e/test_replay.py tests/e2e/test_command_line.py > "$place/tests.log" 2>&1 || status=FAILED
grep -E "^(FAILED|ERROR|E  )" "$place/tests.log" || true
echo "$("$place/venv/bin/python" --version): $status, $(tail -1 "$place/tests.log")"
cd "$folder" && rm -rf "$place"
[ $status = passed ]
