#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Breaks a copy of what nodes on one store rely on, in each of the ways listed in README.md, and
# shows that the simulation finds it. Not part of `make test`: it builds the simulation once for
# each break.
# usage: tests/simulation/fleet/exercise.sh [SEEDS for each]
#        tests/simulation/fleet/exercise.sh --check   only whether each break can still be put in
set -u
seeds=${1:-3000}
root=$(cd "$(dirname "$0")/../../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/varve-exercise-XXXXXX")
trap 'rm -rf "$work"' EXIT
survived=0
mkdir "$work/tree"
parts=.
[ "$seeds" = --check ] && parts=src
tar -C "$root" --exclude=./build --exclude=./.git -cf - $parts | tar -C "$work/tree" -xf -

# break FILE PYTHON-EXPRESSION over the text `s`: the expression is the broken text.
break_file() {
  python3 - "$work/tree/$1" "$2" <<'PYTHON'
import sys
path, expression = sys.argv[1:]
text = open(path).read()
broken = eval(expression, {"s": text})
if broken == text:
    sys.exit(1)
open(path, "w").write(broken)
PYTHON
}

mend() {
  for file in "$@"; do
    cat "$root/$file" >"$work/tree/$file" # whole again, and newer than its object file
  done
}

# try NAME NODES FILE PYTHON-EXPRESSION [FILE PYTHON-EXPRESSION]
try() {
  local name=$1 nodes=$2 file
  local files=()
  shift 2
  while [ $# -gt 0 ]; do
    files+=("$1")
    break_file "$1" "$2" || { echo "$name: $1 cannot be broken so any more"; survived=1; }
    shift 2
  done
  if [ "$seeds" = --check ]; then
    mend "${files[@]}"
    return
  fi
  cmake -S "$work/tree" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DVARVE_WERROR=OFF >/dev/null || exit 1
  nice ninja -C "$work/build" test_simulation_fleet >"$work/log" 2>&1 || { tail -20 "$work/log"; exit 1; }
  if "$work/build/tests/simulation/fleet/test_simulation_fleet" --seconds 100000 \
    --count "$seeds" --nodes "$nodes" >"$work/log" 2>&1; then
    echo "$name: SURVIVED ($(tail -n 1 "$work/log"))"
    survived=1
  else
    echo "$name: found: $(grep -m 1 -E 'failed|invariant' "$work/log")"
  fi
  mend "${files[@]}"
}

cassandra=src/store/cassandra
try "blocks are written with the wall clock instead of the pass's stamp" 2 $cassandra/blocks.c \
  's.replace("        span->seal = store->shared.shards[span->shard].pass;", "        (void)!vv_cassandra_write_us(store, &span->seal, NULL);")'
try "a mark is retired whatever is stored by then, not as it was read" 2 $cassandra/ledger.c \
  's.replace("(int64_t)vv_key_get_u64(runs.data + at + 12));", "(int64_t)store->write_us);")'
try "the journal's position moves before runs and marks are written" 1 $cassandra/write.c \
  's.replace("enum vv_status landed = vv_flight_wait(&store->flight, status == VV_OK ? error : NULL);", "enum vv_status landed = VV_OK;")'
try "a TTL that ends before the seal" 1 $cassandra/retention.c \
  's.replace("later(end_ns > now_ns ? end_ns : now_ns, store->slack_ns)", "later(end_ns > now_ns ? end_ns : now_ns, store->slack_ns / 8)")'
try "rows without the timestamp of their values" 2 $cassandra/open.c \
  's.replace("\"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) USING TTL ? AND TIMESTAMP ?\"", "\"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) USING TTL ?\"")' \
  $cassandra/rows.c \
  's.replace("    vvcql_add_bigint(statement, (int64_t)vv_stamp_clock_us(writing->rows.stamps[row]));\n", "")'
try "a plan begins where points are already" 2 src/engine/plans.c \
  's.replace("int64_t at = reach(engine, later(wall(engine), engine->fleet ? VV_CLOCKS_DIFFER_NS : 0));", "int64_t at = wall(engine) - VV_HOUR;").replace("&& last >= at)", "&& last >= at && false)").replace("            return status == VV_DONE ? VV_OK : status;", "            return status == VV_DONE ? VV_OK : status;\n        } else {\n            return VV_OK;")'
try "what others told to be deleted is not learnt before sealing" 3 src/seal/sealer.c \
  's.replace("if (status == VV_OK && kept > 0 && sealer->options.learn) {", "if (false) {")'
try "what is deleted is forgotten at a reseal" 2 src/seal/span.c \
  's.replace("vv_deletions_begin_merge(sealer->options.deletions, mark->key.partition.source,", "vv_deletions_begin_merge(NULL, mark->key.partition.source,")'
try "what is told to be deleted of a source that is not known yet is dropped" 3 src/fleet/learn.c \
  's.replace("    if (status == VV_OK && content->kind == VV_TOLD_MARKERS) {", "    if (status == VV_OK && content->kind == VV_TOLD_MARKERS && vv_registry_settled(fleet->registry, VV_REGISTRY_SOURCE, source)) {")'
try "a marker of deletion is retired too early" 2 src/engine/retire.c \
  's.replace("return passes ? now - 2 * retention - bucket - VV_DAY : VV_TIME_MIN;", "(void)passes; return VV_TIME_MAX + 1;")'
try "the runs of an empty block come back with the next one" 2 src/seal/span.c \
  's.replace(".tells_removed = true", ".tells_removed = false")'
try "spans are marked before others can know what is deleted" 2 src/engine/sweep_group.c \
  's.replace("!engine->fleet || marker->is_told;", "true;")'
try "a run that is being sealed elsewhere is not marked" 3 src/engine/sweep.c \
  's.replace("piece->kind == VV_PIECE_BLOCK || engine->fleet || marking->is_late;", "piece->kind == VV_PIECE_BLOCK || marking->is_late;")'
try "rows that are deleted are put when they come late" 2 src/store/cassandra/rows.c \
  's.replace("vv_stamp hidden = hidden_by(writing, row - 1, i);", "vv_stamp hidden = 0 * hidden_by(writing, row - 1, i);")'
try "the mark of a unit is forgotten" 2 src/seal/stale.c \
  's.replace("    return options->store->ops->put_mark(options->store, &mark, error);", "    (void)mark;\n    return VV_OK;")'
try "records of tiers are written with the wall clock, so a stale sealer's win" 3 $cassandra/blocks.c \
  's.replace("        span->seal = store->shared.shards[span->shard].pass;", "        span->seal = store->shared.shards[span->shard].pass;\n        struct vv_str name = vv_cassandra_tenant(store, partition->tenant);\n        if (memchr(name.data, 47, name.size)) {\n            (void)!vv_cassandra_write_us(store, &span->seal, NULL);\n        }")'
try "late points expire before they are folded" 2 $cassandra/retention.c \
  's.replace("return ttl_for(store, key, vv_cassandra_fold_wait(store, key->partition.tenant), now_ns);", "return ttl_for(store, key, 0, now_ns);")'
try "units are built without late points" 2 src/seal/pyramid.c \
  's.replace("if (status == VV_OK && build->late != VV_REGISTRY_NONE) {", "if (false) {")'
try "units are built of partitions without what sources share" 2 src/seal/pyramid.c \
  's.replace("vv_bucket_partition(bucket, number, build->source, split)", "{number, build->source, bucket->start, bucket->bucket_ns, split, 0}")'
try "a source is read without what it shares" 2 src/query/scan_lane.c \
  's.replace("read.partition.split = vv_split_name(bucket, split);", "read.partition.split = split;")'
try "what is flushed while a tier is switched on makes no unit of it stale" 2 src/flush/flush.c \
  's.replace("if (status == VV_OK && misses_tiers(flush)) {", "if (false && misses_tiers(flush)) {")'
try "a cohort's record is built although a source's is stale" 2 src/seal/cohorts.c \
  's.replace("    if (piece->kind == VV_PIECE_RUN) {\n        build->is_whole = false;\n        return VV_DONE;", "    if (piece->kind == VV_PIECE_RUN) {\n        return VV_OK;")'
try "what a source has without a record is not looked for" 2 src/seal/cohorts.c \
  's.replace("    build->is_whole = false;\n    return VV_DONE;\n}\n\nstatic void give_up", "    (void)build;\n    return VV_DONE;\n}\n\nstatic void give_up")'
try "what comes late makes its source's units stale, but not its cohort's" 2 src/seal/stale.c \
  's.replace("    if (has_sources(list)) {", "    bool has = has_sources(list);\n    if (false) {").replace("    if (status == VV_OK) {\n        status = put_cohorts(", "    if (status == VV_OK && !has) {\n        status = put_cohorts(")'
try "what replaces a day is left out where a unit keeps its record" 2 src/seal/pyramid.c \
  's.replace("        if (status == VV_OK && !is_expired) {\n            const struct vv_built", "        if (status == VV_OK && !is_expired && !build.keeps) {\n            const struct vv_built")'
try "a move is settled as each node would have it" 3 $cassandra/places.c \
  's.replace("is_move(wish) ? store->shared.read_move : store->shared.read_place);", "store->shared.read_place);").replace("bool is_ours = asked && statuses[i] == VV_OK && is_applied(results[i]);", "bool is_ours = is_move(&wishes[i]) || (asked && statuses[i] == VV_OK && is_applied(results[i]));")'
exit $survived
