#!/bin/sh
# Compiles the replay's kernels once, so that processes that need them at the same time do not each do it: `poolsplit` is on the path.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
poolsplit trace synth rag --requests 120 --quiet -o "$work/rag.pst"
poolsplit surface "$work/rag.pst" --budget 300MB --state-bytes 800000 --kv-bytes 1000 --json > "$work/surface.json"
