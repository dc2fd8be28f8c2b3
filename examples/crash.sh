#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What was acknowledged is durable: loads two million points and kills the server with `kill -9`
# three times meanwhile. The loader waits for it and goes on; in the end every point must be there.
#
#   VARVE   the program   build/release/varve
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
varve=${VARVE:-build/release/varve}
folder=$(mktemp -d)
points=2000000
server=''
loader=''

cleanup() {
  for process in $server $loader; do
    kill -9 "$process" 2>/dev/null || true
  done
  rm -rf "$folder"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# $1: where to listen. The first start takes a free port, the others the same one.
start_server() {
  "$varve" serve --data "$folder/data" --listen "$1" >"$folder/log" 2>&1 &
  server=$!
  while ! grep -q ' ready ' "$folder/log"; do
    kill -0 "$server" 2>/dev/null || { cat "$folder/log"; exit 1; }
    sleep 0.05
  done
}

start_server 127.0.0.1:0
address=$(sed -n 's/.* listening address=//p' "$folder/log")
VARVE_SERVER="http://$address"
export VARVE_SERVER
echo "a server on $address, and $points points to load"
"$varve" bench --print --points "$points" >"$folder/points.lp"
"$varve" load "$folder/points.lp" --batch-lines 200 >"$folder/summary" 2>&1 &
loader=$!
for round in 1 2 3; do
  sleep 0.5
  if ! kill -0 "$loader" 2>/dev/null; then
    echo "the loader was done before kill $round"
    break
  fi
  kill -9 "$server"
  wait "$server" 2>/dev/null || true
  echo "kill -9, round $round; starting it again"
  start_server "$address"
  sed -n 's/.* recovered /  replayed: /p' "$folder/log"
done
wait "$loader"
loader=''
cat "$folder/summary"
found=$("$varve" query 'cpu.*' --agg count --group-by all --format csv |
  awk -F, 'NR > 1 { n += $NF } END { print n + 0 }')
echo "points written $points, points found $found"
if [ "$found" -ne "$points" ]; then
  echo "points are missing"
  exit 1
fi
echo "nothing is missing and nothing is there twice"
