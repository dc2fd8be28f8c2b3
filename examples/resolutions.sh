#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Seven months of a real series at four resolutions, by one command each: weeks, days, hours, and
# the half hours as they were reported. Below each answer stands what it is made of.
#
#   VARVE   the program   build/release/varve
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
. examples/show.sh
varve=${VARVE:-build/release/varve}
folder=$(mktemp -d)
server=''

cleanup() {
  if [ -n "$server" ]; then
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  rm -rf "$folder"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

"$varve" serve --data "$folder/data" --listen 127.0.0.1:0 >"$folder/log" 2>&1 </dev/null &
server=$!
while ! grep -q ' ready ' "$folder/log"; do
  kill -0 "$server" 2>/dev/null || { cat "$folder/log"; exit 1; }
  sleep 0.05
done
VARVE_SERVER="http://$(sed -n 's/.* listening address=//p' "$folder/log")"
export VARVE_SERVER

heading 'Taxi passengers in New York, per half hour, July 2014 to January 2015, with tiers above them'
run tenants set default --tiers hour=forever,day=forever
run load --csv examples/data/nyc_taxi.csv --measurement taxi --tag city=new-york \
  --field value=passengers
run flush --seal

heading '1. Weeks: seven months at a glance. Thanksgiving, Christmas and a blizzard stand out'
run query taxi.passengers --step 7d --agg mean,min,max,p95 --format table

heading '2. Days: the last days of January'
run query taxi.passengers --from 2015-01-20T00:00:00Z --to 2015-01-31T00:00:00Z --step 1d \
  --agg mean,min,max,p95 --format table

heading '3. Hours: the day on which the roads were closed, and the one before'
run query taxi.passengers --from 2015-01-26T00:00:00Z --to 2015-01-28T00:00:00Z --step 1h \
  --agg sum,max --format table

heading '4. As it was reported: that night'
run query taxi.passengers --from 2015-01-26T20:00:00Z --to 2015-01-27T08:00:00Z --format table
