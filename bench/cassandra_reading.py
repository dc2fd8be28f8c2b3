# SPDX-License-Identifier: Apache-2.0
"""Reading through the whole program: what a query reads and how long it takes, for one device over an
hour, a day and a month, its newest 100 points, and a fleet; of unsealed blocks (runs of 60 reports),
sealed blocks and rows.

100 devices report every minute for a day, one of them for a month. All is in Cassandra's files, and
in the page cache: latencies are those of work, not of disks. One client asks one query at a time.
Bytes from Cassandra are what Varve's process read, which is packed by LZ4 on its way.
"""
import json
import statistics
import time
import urllib.parse

import common
from cassandra_varve import TENANT, Varve

INTERVAL_S = 60
HOUR_S = 3600
DAY_S = 24 * HOUR_S
REPORTS = 60  # of a run
QUICK_S, LONG_S = 1, 6  # how long a query is repeated, beyond REPEATS_MIN; as long before for warmth
REPEATS_MIN, REPEATS_MAX = 5, 500


class Shape:
    """How much there is to read."""

    def __init__(self, quick):
        self.hosts = 20 if quick else 100
        self.days = 3 if quick else 30
        self.seconds_max = QUICK_S if quick else LONG_S
        self.end_s = (int(time.time()) // HOUR_S - 1) * HOUR_S

    def queries(self):
        """name → function of a number that gives a path."""
        def path(host, seconds=None, **more):
            wanted = {"tenant": TENANT, "metric": "cpu.usage_user", **more}
            if host is not None:
                wanted["tag"] = f"hostname=host_{host}"
            if seconds:
                wanted |= {"from": (self.end_s - seconds) * 10**9, "to": self.end_s * 10**9}
            return "/api/v1/query?" + urllib.parse.urlencode(wanted)

        def any_host(number):
            return number * 7 % self.hosts

        return {
            "1 device, 1 h, points": lambda n: path(any_host(n), HOUR_S),
            "1 device, 24 h, mean of 10 min": lambda n: path(any_host(n), DAY_S, step="10m",
                                                             agg="mean"),
            f"1 device, {self.days} d, mean of 6 h": lambda n: path(0, self.days * DAY_S, step="6h",
                                                                    agg="mean"),
            "1 device, newest 100 points": lambda n: path(any_host(n), order="desc", limit=100),
            f"{self.hosts} devices, 1 h, mean of 10 min": lambda n: path(None, HOUR_S, step="10m",
                                                                         agg="mean"),
            f"{self.hosts} devices, 24 h, mean of 1 h": lambda n: path(None, DAY_S, step="1h",
                                                                       agg="mean"),
        }


def load(varve, shape):
    long_s = (shape.days - 1) * DAY_S
    day_start = shape.end_s - DAY_S
    varve.load(1, INTERVAL_S, long_s, day_start - long_s, REPORTS)
    varve.load(shape.hosts, INTERVAL_S, DAY_S, day_start, REPORTS)


def local_reads(node, keyspace):
    """{table: reads that the node has done}"""
    rows, = node.execute("SELECT keyspace_name, table_name, count FROM system_views.local_read_latency")
    return {row["table_name"]: row["count"] for row in rows if row["keyspace_name"] == keyspace}


def ask_often(varve, path_of, seconds_max):
    """Milliseconds of each time, and the last answer's facts."""
    times = []
    begin = time.monotonic()
    while len(times) < REPEATS_MIN or (time.monotonic() - begin < seconds_max and
                                       len(times) < REPEATS_MAX):
        at = time.perf_counter()
        body = varve.ask("GET", path_of(len(times)))
        times.append((time.perf_counter() - at) * 1000)
    answer = json.loads(body)
    if not answer["facts"]["complete"] or not answer["series"]:
        raise RuntimeError(f"no whole answer: {body[:300]}")
    return times, answer["facts"]


def measure_query(varve, path_of, seconds_max):
    node = varve.node
    ask_often(varve, path_of, seconds_max)
    reads_before = local_reads(node, varve.keyspace)
    node.settle()
    took = {}
    bytes_before = varve.bytes_in()
    with node.measured(took, "cpu"):
        times, facts = ask_often(varve, path_of, seconds_max)
    bytes_in = varve.bytes_in() - bytes_before
    reads = local_reads(node, varve.keyspace)
    return {
        "latency_ms_p50": statistics.median(times),
        "latency_ms_p99": sorted(times)[int(0.99 * (len(times) - 1) + 0.5)],
        "repeats": len(times),
        "server_cpu_ms": took["cpu"] / len(times) * 1000,
        "server_reads": {table: (count - reads_before.get(table, 0)) / len(times)
                         for table, count in reads.items()
                         if count > reads_before.get(table, 0)},
        "bytes_in": bytes_in / len(times),
        **{name: facts[name] for name in ("partitions_read", "pieces_read", "bytes_read",
                                          "points_read")},
    }


def measure_all(varve, shape, state):
    figures = {}
    for name, path_of in shape.queries().items():
        with common.Step(f"reading, {state}: {name}"):
            figures[name] = measure_query(varve, path_of, shape.seconds_max)
    return figures


def by_state(node, shape):
    """{state: {query: figures}}"""
    states = {}
    for layout in ("blocks", "rows"):
        with Varve(node, f"read_{layout}", layout, ["cassandra.classes=365d"]) as varve:
            with common.Step(f"reading, {layout}: loading"):
                load(varve, shape)
                node.write_to_disk(varve.keyspace)
            if layout == "rows":
                states["rows"] = measure_all(varve, shape, "rows")
                continue
            states["unsealed"] = measure_all(varve, shape, "unsealed blocks")
            with common.Step("reading: sealing"):
                varve.flush(seal=True)
                node.write_to_disk(varve.keyspace)
            states["sealed"] = measure_all(varve, shape, "sealed blocks")
    return states


# name of the figure → (what it is called, unit)
SHOWN = {
    "latency_ms_p50": ("median", "ms"),
    "latency_ms_p99": ("p99", "ms"),
    "server_cpu_ms": ("server CPU", "ms"),
    "partitions_read": ("partitions", "count"),
    "reads": ("reads of Cassandra", "count"),
    "bytes_in": ("from Cassandra", "bytes"),
}


def results(states):
    rows = []
    for queries in states.values():
        for figures in queries.values():
            figures["reads"] = sum(figures["server_reads"].values())
    for query, other in states["rows"].items():
        for state in ("unsealed", "sealed"):
            for name, (text, unit) in SHOWN.items():
                rows.append(common.row(f"{query}, {state}: {text}", unit,
                                       states[state][query][name], "rows", other[name]))
    return rows


def run(node, quick):
    """Returns (rows of results, figures)."""
    states = by_state(node, Shape(quick))
    return results(states), states
