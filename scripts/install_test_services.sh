#!/bin/sh
# What some tests need of the system: prometheus with promtool, openssl, and Chromium for the page. Those tests are skipped without them.
set -eu
wanted=""
for pair in prometheus:prometheus promtool:prometheus openssl:openssl chromium:chromium; do
  command -v "${pair%%:*}" >/dev/null || wanted="$wanted ${pair#*:}"
done
if [ -z "$wanted" ]; then exit 0; fi
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
  echo "not installed:$wanted. The tests that need them will be skipped" >&2
  exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086  # a list of packages
apt-get install -y -qq --no-install-recommends $wanted >/dev/null
