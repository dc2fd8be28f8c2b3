#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs every script in bench/ against an optimised build; results go to bench/results.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
tools/install-packages.sh --bench
cmake --preset release >/dev/null
cmake --build --preset release -j "$(nproc)"
for script in bench/*.py; do
  if grep -q '__main__' "$script"; then
    echo "== $script"
    python3 -B "$script" "$@"
  fi
done
