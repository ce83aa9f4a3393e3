#!/bin/sh
# Builds sdist and wheel of the last commit, the same bytes wherever and whenever: `sh scripts/build.sh FOLDER`.
set -eu
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
mkdir "$work/tree"
git archive HEAD | tar -xm -C "$work/tree"
# The wheel is made from the unpacked sdist, so an sdist that lacks a file cannot give a whole wheel.
.venv/bin/python -m build --no-isolation --outdir "$out" "$work/tree" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
