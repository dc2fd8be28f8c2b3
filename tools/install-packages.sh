#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that building and testing need; without the rights to, it lists what
# is missing and fails. With --bench also the servers that `make bench` compares with.
set -eu

build='gcc clang libclang-rt-14-dev cmake ninja-build pkg-config git librocksdb-dev
libmicrohttpd-dev libyaml-dev libjansson-dev zlib1g-dev libzstd-dev liblz4-dev libxxhash-dev
libroaring-dev libcmocka-dev libcurl4-openssl-dev clang-format clang-tidy shellcheck python3
python3-venv curl libuv1-dev libssl-dev openssl openjdk-17-jre-headless maven'
peers='influxdb victoria-metrics'

is_installed() {
  dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null | grep -q '^installed$'
}

wanted=$build
if [ "${1:-}" = --bench ]; then
  wanted="$build $peers"
fi
if ! command -v dpkg-query >/dev/null 2>&1; then
  echo "no Debian packages here; the names on Debian 12 are: $wanted" >&2
  exit 0
fi
missing=''
for package in $wanted; do
  is_installed "$package" || missing="$missing $package"
done
if [ -z "$missing" ]; then
  exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "these packages are missing; install them with" >&2
  echo "  sudo apt-get install --no-install-recommends$missing" >&2
  exit 1
fi
echo "installing$missing"
export DEBIAN_FRONTEND=noninteractive
# A server that comes with a package must not start here: benchmarks start their own.
policy=/usr/sbin/policy-rc.d
made_policy=no
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod +x "$policy"
  made_policy=yes
fi
status=0
# shellcheck disable=SC2086 # a list of words
apt-get install -y -q --no-install-recommends $missing ||
  { apt-get update -q && apt-get install -y -q --no-install-recommends $missing; } || status=$?
if [ "$made_policy" = yes ]; then
  rm -f "$policy"
fi
exit "$status"
