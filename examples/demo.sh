#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The demo of `make demo`: a server, real series, five questions.
#
#   VARVE         the program         build/release/varve
#   DEMO_DATA     its data folder     build/demo-data
#   DEMO_LISTEN   its address         127.0.0.1:8987, or a free port when that is taken
#   DEMO_STOP=1   stop the server at the end
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
. examples/show.sh
varve=${VARVE:-build/release/varve}
data=${DEMO_DATA:-build/demo-data}
listen=${DEMO_LISTEN:-127.0.0.1:8987}
log=$data.log
pid_file=$data.pid

# A server of an earlier demo on the same folder.
stop_old() {
  [ -f "$pid_file" ] || return 0
  old=$(cat "$pid_file")
  if [ -r "/proc/$old/cmdline" ] &&
    tr '\0' '\n' <"/proc/$old/cmdline" | grep -Fqx "$data"; then
    echo "stopping the server of the demo before, process $old"
    kill "$old"
    while kill -0 "$old" 2>/dev/null; do sleep 0.1; done
  fi
  rm -f "$pid_file"
}

# Starts it in the background; $1 is where to listen.
start_server() {
  nohup "$varve" serve --data "$data" --listen "$1" >"$log" 2>&1 </dev/null &
  pid=$!
  echo "$pid" >"$pid_file"
  while ! grep -q ' ready ' "$log"; do
    if ! kill -0 "$pid" 2>/dev/null; then
      rm -f "$pid_file"
      return 1
    fi
    sleep 0.1
  done
  address=$(sed -n 's/.* listening address=//p' "$log" | tail -n 1)
  VARVE_SERVER="http://$address"
  export VARVE_SERVER
}

# load FILE MEASUREMENT TAG FIELD
load() {
  run load --csv "examples/data/$1" --measurement "$2" --tag "$3" --field "value=$4"
}

mkdir -p "$(dirname "$data")"
stop_old
heading 'A server'
echo "\$ varve serve --data $data --listen $listen"
if ! start_server "$listen"; then
  if ! grep -q 'in use' "$log"; then
    cat "$log"
    exit 1
  fi
  echo "$listen is taken; any free port will do"
  start_server 127.0.0.1:0 || { cat "$log"; exit 1; }
fi
echo "it listens on $VARVE_SERVER"

heading 'Real series: a machine, a room, servers, roads'
load machine_temperature_system_failure.csv machine machine=industrial temperature
load ambient_temperature_system_failure.csv room room=office temperature
load cpu_utilization_asg_misconfiguration.csv cpu host=asg usage
for id in 24ae8d 53ea38 5f5533 825cc2 ac20cd; do
  load "ec2_cpu_utilization_$id.csv" cpu "host=ec2-$id" usage
done
load rds_cpu_utilization_cc0c53.csv cpu host=rds-cc0c53 usage
load ec2_request_latency_system_failure.csv ec2 region=us-east request_latency
load nyc_taxi.csv taxi city=new-york passengers
load rogue_agent_key_hold.csv typing computer=shared key_hold
load rogue_agent_key_updown.csv typing computer=shared key_updown
for id in 6005 7578 t4013; do
  load "speed_$id.csv" road "sensor=$id" speed
done
run metrics set --file examples/units.csv

heading 'What is there now?'
run metrics --format table

heading '1. The machine failed on 8 February 2014. What did its last days look like?'
run query machine.temperature --from 2014-02-07T00:00:00Z --to 2014-02-09T00:00:00Z \
  --step 3h --agg mean,min,max --format table

heading '2. Was that week unlike others? Percentiles by day'
run query machine.temperature --from 2014-01-31T00:00:00Z --to 2014-02-09T00:00:00Z \
  --step 1d --agg p5,median,p95,p99 --format table

heading '3. When was it hotter than 105?'
run query machine.temperature --where 'value>105' --format table

heading '4. Which server is the busiest?'
run query cpu.usage --agg mean,p95,max,count --format table

heading '5. On which days are readings of the office missing? (24 a day)'
run query room.temperature --to 2014-05-28T00:00:00Z --step 1d --agg count --fill zero --format csv |
  awk -F, '
    function show() {
      printf "%s to %s: %d missing\n", from, to, gap
      lost += gap
      gap = 0
    }
    /^\$/ { print; next }
    $4 !~ /^[0-9]+$/ { next }
    $4 < 24 { to = substr($3, 1, 10); if (gap == 0) { from = to } gap += 24 - $4; next }
    gap > 0 { show() }
    END { if (gap > 0) { show() } printf "together %d\n", lost }'

heading 'The newest of everything'
run latest --format table

if [ "${DEMO_STOP:-0}" = 1 ]; then
  kill "$pid"
  wait "$pid" || true
  rm -f "$pid_file"
  heading 'The server is stopped.'
else
  heading "The server goes on: $VARVE_SERVER, process $pid, log $log"
  echo "ask it:   VARVE_SERVER=$VARVE_SERVER $varve query 'cpu.*' --step 1d --agg mean,max"
  echo "stop it:  kill $pid"
fi
