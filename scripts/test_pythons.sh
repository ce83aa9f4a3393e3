#!/bin/sh
# Runs the last commit's wheel on every Python found: python3.11 to python3.14 of the path and of pyenv, and the one of the
# Debian system in the folder $DEBIAN_ROOT (made with `debootstrap --include=python3-venv,ca-certificates testing FOLDER`).
# Says for each what ran, and which were not found; fails when a found one fails.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work" ${DEBIAN_ROOT:+"$DEBIAN_ROOT$work"}' EXIT INT TERM

find_python() {
  for found in "$(command -v "python$1" || true)" "$HOME"/.pyenv/versions/"$1".*/bin/python; do
    if [ -x "$found" ] && "$found" -c 'import ensurepip' 2>/dev/null; then echo "$found"; return; fi
  done
}

sh scripts/build.sh "$work"
cp requirements/test.txt scripts/test_one_python.sh "$work"
failed=0
for minor in 3.11 3.12 3.13 3.14; do
  python=$(find_python "$minor")
  if [ -n "$python" ]; then
    sh "$work/test_one_python.sh" "$work" "$python" || failed=1
  elif [ -n "${DEBIAN_ROOT:-}" ] && [ -x "$DEBIAN_ROOT/usr/bin/python$minor" ]; then
    cp -r "$work" "$DEBIAN_ROOT$work"
    chroot "$DEBIAN_ROOT" sh "$work/test_one_python.sh" "$work" "/usr/bin/python$minor" || failed=1
  else
    echo "Python $minor: not found, not run"
  fi
done
exit $failed
