#!/bin/sh
# Services that a few tests run against a real server: prometheus with promtool. Those tests are skipped without them.
set -eu
if command -v promtool >/dev/null && command -v prometheus >/dev/null; then exit 0; fi
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
  echo "prometheus and promtool are not installed: the dashboard tests will be skipped" >&2
  exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends prometheus >/dev/null
