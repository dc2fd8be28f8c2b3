#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Breaks a copy of the write path in each of the ways listed in README.md and shows that the
# simulation finds it. Not part of `make test`: it builds the simulation once for each break.
# usage: tests/simulation/exercise.sh [SECONDS for each]
#        tests/simulation/exercise.sh --check   only whether each break can still be put in
set -u
seconds=${1:-60}
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/varve-exercise-XXXXXX")
trap 'rm -rf "$work"' EXIT
survived=0
mkdir "$work/tree"
parts=.
[ "$seconds" = --check ] && parts=src
tar -C "$root" --exclude=./build --exclude=./.git -cf - $parts | tar -C "$work/tree" -xf -

# try NAME FILE PYTHON-EXPRESSION over the text `s`: the expression is the broken text.
try() {
  local name=$1 file=$2 expression=$3
  python3 - "$work/tree/$file" "$expression" <<'PYTHON' || { echo "$name: cannot be applied any more"; survived=1; return; }
import sys
path, expression = sys.argv[1:]
text = open(path).read()
broken = eval(expression, {"s": text})
if broken == text:
    sys.exit(1)
open(path, "w").write(broken)
PYTHON
  if [ "$seconds" = --check ]; then
    cat "$root/$file" >"$work/tree/$file"
    return
  fi
  cmake -S "$work/tree" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DVARVE_WERROR=OFF >/dev/null || exit 1
  ninja -C "$work/build" test_simulation >"$work/log" 2>&1 || { tail -20 "$work/log"; exit 1; }
  if "$work/build/tests/simulation/test_simulation" --seconds "$seconds" >"$work/log" 2>&1; then
    echo "$name: SURVIVED ($(tail -n 1 "$work/log"))"
    survived=1
  else
    echo "$name: found: $(grep -m 1 -E 'failed|invariant' "$work/log")"
  fi
  cat "$root/$file" >"$work/tree/$file" # whole again, and newer than its object file
}

commit=src/engine/commit.c
try "acknowledge before the sync" $commit \
  's.replace("    enum vv_status status = round.n_records ? journal", "    complete(engine, &round, &error);\n    round.n = 0;\n    enum vv_status status = round.n_records ? journal")'
try "drop the last record of a commit" $commit \
  's.replace("round->records, round->n_records, &end", "round->records, round->n_records - 1, &end")'
try "apply out of order" $commit \
  's.replace("round.submissions[i]->status = prepare(engine, &round, round.submissions[i]);", "round.submissions[round.n - 1 - i]->status = prepare(engine, &round, round.submissions[round.n - 1 - i]);")'
try "publish although the journal refused" $commit \
  's.replace("        vv_head_forget(engine->head);\n", "        vv_head_publish(engine->head);\n")'
try "forget a mark" src/flush/flush.c \
  's.replace("    return store->ops->put_mark(store, &mark, flush->error);", "    return flush->run % 3 ? store->ops->put_mark(store, &mark, flush->error) : VV_OK;")'
try "release a segment before the store has it" src/engine/storage.c \
  's.replace("    status = vv_job_store(engine, job, error);", "    (void)!vv_journal_release(engine->journal, job->position, error);\n    status = vv_job_store(engine, job, error);")'
try "count replayed batches again" src/engine/recover.c \
  's.replace("record->stamp > replaying->flushed ?", "true ?").replace("record->stamp > cell->stored_until", "true")'
try "the older value wins" src/model/merge_buffer.c \
  's.replace("for (size_t i = end; i-- > first;)", "for (size_t i = first; i < end; i++)")'
try "remove runs before the block is durable" src/seal/sealer.c \
  's.replace("status = put_blocks(sealer, error);", "status = store->ops->remove_runs(store, sealer->runs.items, sealer->runs.n, error);\n        status = status != VV_OK ? status : put_blocks(sealer, error);")'
try "forget what is deleted when sealing" src/seal/span.c \
  's.replace("vv_deletions_begin_merge(sealer->options.deletions,", "vv_deletions_begin_merge(NULL,")'
try "forget what is deleted when flushing" $commit \
  's.replace("!vv_definitions_add(&engine->definitions, VV_META_DELETION, order->sources[i])", "false")'
try "leave a block whose rows are all deleted" src/seal/span.c \
  's.replace("if ((reading->had_block || keeps_runs) && sealer->blocks.n == blocks_before)", "if (false)")'

# Late points that are kept apart.
try "forget late points in an answer" src/query/scan_window.c \
  's.replace("|| space == VV_REGISTRY_NONE) {", "|| true) {")'
try "forget late points when building" src/seal/pyramid.c \
  's.replace("status == VV_OK && build->late != VV_REGISTRY_NONE", "false")'
try "forget the mark of late points" src/flush/flush.c \
  's.replace("    return store->ops->put_mark(store, &mark, flush->error);", "    return key->partition.tenant == flush->late_space ? VV_OK : store->ops->put_mark(store, &mark, flush->error);")'
try "forget late points when sweeping what is deleted" src/engine/sweep.c \
  's.replace("status == VV_OK && late != VV_REGISTRY_NONE\n", "false\n")'

# Tiers.
try "make minutes of a span that is not all of the unit" src/seal/minutes.c \
  's.replace("bucket.splits == 1 && bucket.span_ns", "bucket.span_ns")'
try "forget the mark of a stale unit" src/seal/stale.c \
  's.replace("    return options->store->ops->put_mark(options->store, &mark, error);", "    return stale->run % 3 ? options->store->ops->put_mark(options->store, &mark, error) : VV_OK;")'
try "take a unit for open that may have been built" src/flush/flush.c \
  's.replace("    return now_ns > run_ns ? now_ns : run_ns;", "    return (now_ns > run_ns ? now_ns : run_ns) - 40 * VV_DAY;")'
try "answer from a stale record" src/query/tier_take.c \
  's.replace("    return replaces ? VV_OK : vv_cover_add_stale(&taking->level->cover, &given.unit);", "    (void)replaces;\n    return VV_OK;")'
try "leave a volume beside a record that is newer" src/seal/volumes.c \
  's.replace("        remove_volumes(&putting, volumes->registry);", "")'
try "build of a stale record" src/seal/pyramid.c \
  's.replace("        return vv_cover_add_stale(&level->cover, &record.unit);", "        return VV_OK;")'
try "forget the tiers when raw spans are sealed" src/seal/span.c \
  's.replace("        status = make_stale(sealer, mark, reading, minutes.is_on);", "")'
try "leave the stale record of a unit that has expired" src/seal/span.c \
  's.replace("(!reading.keep_bytes && !reading.is_unit)", "!reading.keep_bytes")'
try "expire what is still to be built of" src/engine/storage_expire.c \
  's.replace("*now_out = is_held ? backlog.since_ns : now;", "*now_out = now;")'
try "drop raw runs that have expired, tiers or not" src/seal/span.c \
  's.replace("if (sealer->kind == VV_SEAL_RAW &&\n        vv_registry_tiers_built", "if (false && vv_registry_tiers_built")'
try "forget the tiers when sweeping what is deleted" src/engine/sweep.c \
  's.replace("vv_stale_range(marking->stale,", "true ? VV_OK : vv_stale_range(marking->stale,")'
try "a step in two units" src/seal/pyramid.c \
  's.replace("gather(build, (int)tier, unit->from, unit->to)", "gather(build, (int)tier, unit->from, unit->to + vv_tier_step_ns(tier))")'

# Classes.
try "write a class's points to the tenant" src/flush/flush.c \
  's.replace("late ? flush->late_space : place;", "late ? flush->late_space : vv_registry_source_tenant(flush->options->registry, source);")'
try "take the tenant's tiers for those of a class" src/seal/stale.c \
  's.replace("vv_registry_tiers_built(options->registry, place),", "vv_registry_tiers_built(options->registry, vv_registry_source_tenant(options->registry, source)),")'
try "sweep the tenant for what is deleted of a class" src/engine/sweep.c \
  's.replace("    sweep->stay = stays[sweep->stay_at];", "    sweep->stay = stays[sweep->stay_at];\n    sweep->stay.place = vv_registry_source_tenant(engine->registry, sweep->source);")'
try "forget a measurement's class at a restart" src/registry/records.c \
  's.replace(": place != measurement->tenant ? FORM_PLACED", ": false ? FORM_PLACED")'

# Moves from class to class.
try "move points of the days before, too" src/engine/moves.c \
  's.replace("vv_time_floor(at + DISTANCE_NS, VV_DAY) + VV_DAY", "vv_time_floor(at + DISTANCE_NS, VV_DAY)")'
try "write all rows where the first of them goes" src/flush/flush.c \
  's.replace("rows->times[first] >= flush->stay.to", "flush->stay.to == INT64_MIN")'
try "read points of a window where its last ones are" src/query/scan_window.c \
  's.replace("outlook.range = vv_window_intersect(outlook.range, shown);", "(void)shown;")'
try "read tiers of the last place only" src/query/result_route.c \
  's.replace("route_of(result, stays[i].place)", "route_of(result, stays[n - 1].place)")'
try "ask a cohort for what it had in another place" src/query/group_walk.c \
  's.replace(".from = walk->legs[walk->leg].range.from,", ".from = result->from,")'
try "forget a move at a restart" src/registry/records.c \
  's.replace("n_moves > 0                    ? form_of_moves", "false                          ? form_of_moves")'

# Cohorts.
try "forget the cohort of what is stale" src/seal/stale.c \
  's.replace("has == VV_OK ? put_or_list(stale, &cohort, error) : has;", "has == VV_OK ? VV_OK : has;")'
try "build a cohort without what is not built of a source" src/seal/cohorts.c \
  's.replace("status = look_at_raw(build, source);", "status = VV_OK;")'
try "build a cohort without one of its sources" src/seal/cohorts.c \
  's.replace("i < VV_COHORT_SOURCES && build->is_whole", "i < 5 && build->is_whole")'
try "look at the head for one source of a cohort" src/query/tier_scan.c \
  's.replace("        .n_sources = scan->series.n_sources,\n        .metric", "        .n_sources = 1,\n        .metric")'
try "look at the deletions of one source of a cohort" src/query/tier_level.c \
  's.replace("context->deletions && i < series->n_sources", "context->deletions && i < 1")'
try "ask sources for what their cohort has answered" src/query/group_walk.c \
  's.replace("range = walk->gaps[walk->gap];", "range = (struct vv_window){result->from, result->to};")'
exit $survived
