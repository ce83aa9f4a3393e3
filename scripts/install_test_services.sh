#!/bin/sh
# What a few tests need of the system: prometheus with promtool, and openssl. Those tests are skipped without them.
set -eu
if command -v promtool >/dev/null && command -v prometheus >/dev/null && command -v openssl >/dev/null; then exit 0; fi
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
  echo "prometheus, promtool or openssl is not installed: the tests that need them will be skipped" >&2
  exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends prometheus openssl >/dev/null
