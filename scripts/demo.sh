#!/bin/sh
# The main job on real input: plan a catalog model, then a server's own start-up log.
set -eu
cd "$(dirname "$0")/.."
show() {
  printf '\n$ %s\n' "$*"
  "$@"
}
show poolsplit plan Qwen/Qwen3-Next-80B-A3B-Instruct --gpu h200 --tp 4 --kv-cache-dtype fp8_e4m3 --context 8192
show poolsplit read examples/boot-qwen3.5-9b-tp2.log
show poolsplit plan --boot-log examples/boot-qwen3.5-9b-tp2.log --context 9216
