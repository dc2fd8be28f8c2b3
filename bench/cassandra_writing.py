# SPDX-License-Identifier: Apache-2.0
"""Writing through the whole program: points per CPU second of Cassandra, and bytes a point on disk,
for the layouts `blocks` and `rows` at runs of 1, 6 and 60 reports of 10 metrics.

Each case has a keyspace and a server of its own and writes whole hours of reports, 10 s apart: after
each 1, 6 or 60 reports of every source the head is flushed, so that a run has exactly as many. Then
all spans are sealed. A case is done several times, for later hours; the figures are medians. At the
end Cassandra writes its memtables to files and compacts them. What has expired is gone when the node
has been started again with a clock that is days ahead, and compacted once more.
"""
import json
import statistics
import subprocess
import time
import urllib.parse

import common
from cassandra_varve import LAYOUTS, METRICS, SLACK_S, TENANT, Varve

INTERVAL_S = 10
HOUR_S = 3600
DAY_S = 24 * HOUR_S
RETENTION = "30d"  # has a table with TWCS
# Beyond the end of a bucket, the slack and gc_grace_seconds; before the end of the retention.
LATER_S = SLACK_S + 4 * DAY_S

PLAIN_TABLES = (
    "CREATE KEYSPACE IF NOT EXISTS bench WITH replication = "
    "{'class': 'NetworkTopologyStrategy', 'dc1': 1}",
    "CREATE TABLE IF NOT EXISTS bench.rows (tenant text, source uuid, bucket timestamp, "
    "split smallint, event_time timestamp, nanos int, metric text, value double, integer bigint, "
    "PRIMARY KEY ((tenant, source, bucket, split), event_time, nanos, metric)) "
    "WITH CLUSTERING ORDER BY (event_time DESC, nanos DESC, metric ASC) "
    "AND compaction = {'class': 'TimeWindowCompactionStrategy', "
    "'compaction_window_unit': 'DAYS', 'compaction_window_size': 1} "
    "AND compression = {'class': 'LZ4Compressor', 'chunk_length_in_kb': 16}",
    "CREATE TABLE IF NOT EXISTS bench.runs (region text, tenant text, source uuid, "
    "bucket timestamp, bucket_s int, split smallint, measurement text, span timestamp, run bigint, "
    "part bigint, metrics blob, data blob, written bigint, PRIMARY KEY ((region, tenant, source, "
    "bucket, bucket_s, split), measurement, span, run, part)) "
    "WITH compaction = {'class': 'TimeWindowCompactionStrategy', "
    "'compaction_window_unit': 'HOURS', 'compaction_window_size': 4} "
    "AND compression = {'class': 'LZ4Compressor', 'chunk_length_in_kb': 16}",
    "CREATE TABLE IF NOT EXISTS bench.marks (region text, part int, slot timestamp, node int, "
    "mark text, newest blob, retired bigint, PRIMARY KEY ((region, part, slot), node, mark)) "
    "WITH compaction = {'class': 'TimeWindowCompactionStrategy', "
    "'compaction_window_unit': 'HOURS', 'compaction_window_size': 4}",
    "CREATE TABLE IF NOT EXISTS bench.marks_in_columns (region text, part int, slot timestamp, "
    "node int, due bigint, tenant text, source uuid, bucket timestamp, bucket_s int, "
    "split smallint, measurement text, span timestamp, id text, span_ns bigint, run bigint, "
    "put bigint, retired bigint, PRIMARY KEY ((region, part, slot), node, due, tenant, source, "
    "bucket, bucket_s, split, measurement, span)) "
    "WITH compaction = {'class': 'TimeWindowCompactionStrategy', "
    "'compaction_window_unit': 'HOURS', 'compaction_window_size': 4}")
PLAIN_START_S = 1_700_000_000
RUN_BYTES = 700  # about what 60 reports of 10 metrics take


class Case:
    """One layout at one length of runs."""

    def __init__(self, layout, reports, hosts, hours):
        self.layout, self.reports, self.hosts, self.hours = layout, reports, hosts, hours
        self.keyspace = f"bench_{layout}_{reports}"
        self.points = hosts * hours * HOUR_S // INTERVAL_S * METRICS
        self.figures = {}

    def __str__(self):
        return f"{self.layout}, runs of {self.reports}"


def cases(quick):
    """Rows cost so much more that they get fewer points; a point costs the same."""
    share = 5 if quick else 1
    return [Case("blocks", 1, 60 // share, 1), Case("rows", 1, 60 // share, 1),
            Case("blocks", 6, 400 // share, 1), Case("rows", 6, 150 // share, 1),
            Case("blocks", 60, 4000 // share, 1), Case("rows", 60, 150 // share, 1)]


def start_of(case, repeats):
    """The first hour: all of them are over now."""
    return (int(time.time()) // HOUR_S - 1 - case.hours * repeats) * HOUR_S


def set_retention(varve):
    body = json.dumps({"tenant": TENANT, "retention": RETENTION})
    common.request(varve.server.port, "PUT", "/api/v1/tenants", body)


def check_runs(varve, case, start_s):
    """That runs are as long as they should be."""
    if case.layout == "rows":
        return
    query = urllib.parse.urlencode({
        "tenant": TENANT, "metric": "cpu.usage_user", "tag": "hostname=host_0", "agg": "count",
        "from": start_s * 10**9, "to": (start_s + case.hours * HOUR_S) * 10**9})
    facts = json.loads(varve.ask("GET", f"/api/v1/query?{query}"))["facts"]
    wanted = case.hours * HOUR_S // INTERVAL_S // case.reports
    if facts["pieces_read"] != wanted:
        raise RuntimeError(f"{case}: {facts['pieces_read']} runs instead of {wanted}")


def write_once(varve, case, start_s, seed):
    """Loads the case's hours and seals them; returns CPU seconds by phase and server. The seed must
    differ: values that are repeated are not stored twice."""
    node = varve.node
    took = {}
    node.settle()
    varve_before = varve.cpu_seconds()
    with node.measured(took, "write"):
        load = varve.load(case.hosts, INTERVAL_S, case.hours * HOUR_S, start_s, case.reports,
                          seed)
    assert load["points"] == case.points
    took["varve_write"] = varve.cpu_seconds() - varve_before
    if seed == 1:
        check_runs(varve, case, start_s)
    node.settle()
    varve_before = varve.cpu_seconds()
    with node.measured(took, "seal"):
        varve.flush(seal=True)
    took["varve_seal"] = varve.cpu_seconds() - varve_before
    return took


def measure(node, case, repeats):
    start_s = start_of(case, repeats)
    with Varve(node, case.keyspace, case.layout, [f"cassandra.classes={RETENTION}"]) as varve:
        set_retention(varve)
        took = []
        for repeat in range(repeats):
            with common.Step(f"{case}: {case.points:,} points, {repeat + 1} of {repeats}"):
                took.append(write_once(varve, case, start_s + repeat * case.hours * HOUR_S,
                                       repeat + 1))
    figures = {name: statistics.median(one[name] for one in took) for name in took[0]}
    with common.Step(f"{case}: files"):
        files = {}
        with node.measured(files, "files"):
            node.write_to_disk(case.keyspace)
    figures["files"] = files["files"] / repeats
    figures["bytes"] = node.table_bytes(case.keyspace)
    figures["all_points"] = case.points * repeats
    case.figures = figures


def warm_up(node, quick):
    """Until Java has compiled what the cases need: a round costs about what the one before cost."""
    for layout in LAYOUTS:
        case = Case(layout, 6, 30 if quick else 60, 1)
        case.keyspace = f"warm_{layout}"
        with Varve(node, case.keyspace, layout, [f"cassandra.classes={RETENTION}"]) as varve:
            before = None
            for round_ in range(3 if quick else 12):
                with common.Step(f"warming up, {layout}, round {round_ + 1}"):
                    took = write_once(varve, case, start_of(case, 20) + round_ * HOUR_S,
                                      round_ + 1)
                now = took["write"] + took["seal"]
                if before and round_ > 2 and now > 0.9 * before:
                    break
                before = now


def plain(node, name, arguments, repeats):
    """Rows per CPU second that lib/cql alone gets Cassandra to write."""
    command = [str(common.BUILD / "bench" / "cql_load"), node.contact_point, name, *arguments]
    costs = []
    for repeat in range(repeats + 2):
        with common.Step(f"plain {name}, {repeat + 1} of {repeats + 2}"):
            node.settle()
            took = {}
            with node.measured(took, "write"):
                done = json.loads(subprocess.run(
                    [*command, "--start", str(PLAIN_START_S + repeat * 16 * DAY_S)], check=True,
                    capture_output=True).stdout)
        costs.append(took["write"] / done["rows"])
    return 1 / statistics.median(costs[2:])


def plain_rows(node, quick, repeats):
    """The field's practice without Varve: batches of 50 rows of a partition."""
    return plain(node, "rows", ["--sources", "100" if quick else "400", "--reports", "100",
                                "--batch", "50"], repeats)


def plain_runs(node, quick, repeats):
    """Nothing but the inserts of runs: what Varve can't be faster than."""
    return plain(node, "runs", ["--sources", "4000", "--requests", "24000" if quick else "100000",
                                "--size", str(RUN_BYTES)], repeats)


def expire(node, measured):
    """What the keyspaces take when runs have expired."""
    with common.Step("starting Cassandra again, days later"):
        node.restart_later(LATER_S)
    for case in measured:
        with common.Step(f"{case}: without what has expired"):
            node.write_to_disk(case.keyspace)
        case.figures["bytes_later"] = node.table_bytes(case.keyspace)


# ---- results

def per_cpu(case, phases):
    return case.points / sum(case.figures[phase] for phase in phases)


def bytes_per_point(case, when):
    return sum(case.figures[when].values()) / case.figures["all_points"]


def results(measured, rows_alone, runs_alone):
    rows = []
    by_name = {(case.layout, case.reports): case for case in measured}
    for reports in (1, 6, 60):
        blocks, other = by_name["blocks", reports], by_name["rows", reports]
        runs = f"runs of {reports}"
        for text, phases, bar in (
                ("written", ["write"], 50 if reports == 60 else None),
                ("written and sealed", ["write", "seal"], None),
                ("written, sealed, compacted", ["write", "seal", "files"], None)):
            rows.append(common.row(f"{runs}: points per server CPU second, {text}", "1/s",
                                   per_cpu(blocks, phases), "rows", per_cpu(other, phases), bar))
        rows.append(common.row(f"{runs}: on disk while runs are kept", "bytes/point",
                               bytes_per_point(blocks, "bytes"), "rows",
                               bytes_per_point(other, "bytes")))
        rows.append(common.row(f"{runs}: on disk when runs have expired", "bytes/point",
                               bytes_per_point(blocks, "bytes_later"), "rows",
                               bytes_per_point(other, "bytes_later"),
                               1 / 20, higher_is_better=False))
        rows.append(common.row(f"{runs}: points per CPU second of Varve, written and sealed", "1/s",
                               per_cpu(blocks, ["varve_write", "varve_seal"]), "rows",
                               per_cpu(other, ["varve_write", "varve_seal"])))
    rows.append(common.row("rows, runs of 6: points per server CPU second, written", "1/s",
                           per_cpu(by_name["rows", 6], ["write"]), "lib/cql alone", rows_alone, None))
    rows.append(common.row("runs of 60: points per server CPU second, written", "1/s",
                           per_cpu(by_name["blocks", 60], ["write"]), "lib/cql alone",
                           runs_alone * 60 * METRICS, None))
    rows.append(common.row("rows, runs of 6: points per server CPU second", "1/s",
                           per_cpu(by_name["rows", 6], ["write"]), bar=25000))
    return rows


def run(node, quick, repeats):
    """Returns (rows of results, figures). The node is another process afterwards."""
    warm_up(node, quick)
    node.execute(*PLAIN_TABLES)
    rows_alone = plain_rows(node, quick, repeats)
    runs_alone = plain_runs(node, quick, repeats)
    measured = cases(quick)
    for case in measured:
        measure(node, case, repeats)
    expire(node, measured)
    figures = {case.keyspace: {"points": case.points, **case.figures} for case in measured}
    return (results(measured, rows_alone, runs_alone),
            {"plain_rows_per_cpu_second": rows_alone, "plain_runs_per_cpu_second": runs_alone,
             **figures})
