#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs bench/NAME.py against an optimised build; results go to bench/results.
#   tools/run-bench.sh NAME [argument …]
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
name=$1
shift
case $name in
  tsbs) tools/install-packages.sh --bench ;;
  *) tools/install-packages.sh ;;
esac
cmake --preset release >/dev/null
cmake --build --preset release -j "$(nproc)"
exec python3 -B "bench/$name.py" "$@"
