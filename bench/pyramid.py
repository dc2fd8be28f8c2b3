# SPDX-License-Identifier: Apache-2.0
"""What the pyramid of tiers gives, and what it costs, on the embedded store.

Reports of 10 metrics, 10 s apart, of many hosts over months, written as history, so that everything
is sealed and built. Queries ask the same of the tiers and, with tier=raw, of the points. What tiers
cost is the server's CPU seconds beside a server without them; what late points cost, its CPU seconds
for points that come into hours that were sealed and built before.
"""
import argparse
import http.client
import json
import statistics
import subprocess
import threading
import time
import urllib.parse

import common

INTERVAL_S = 10
METRICS = 10
DAY_S = 24 * 3600
NS = 1_000_000_000
FOREVER = {"minute": "forever", "hour": "forever", "day": "forever"}
TIERS = {"minute": "1m", "hour": "1h", "day": "1d"}


# ---- writing

def make_tenant(server, tenant, tiers):
    body = json.dumps({"tenant": tenant, "retention": "forever", **({"tiers": FOREVER} if tiers else {})})
    status, answer = common.request(server.port, "PUT", "/api/v1/tenants", body)
    if status not in (200, 204):
        raise RuntimeError(f"tenants: {status} {answer[:300]}")


def load(server, tenant, hosts, start_s, duration_s, interval_s=INTERVAL_S, seed=1):
    """Writes one stretch; returns its points."""
    command = [str(common.BUILD / "bench" / "tsbs_load"), str(server.port),
               f"/write?db={tenant}", "--hosts", str(hosts), "--interval", str(interval_s),
               "--duration", str(duration_s), "--start", str(start_s), "--seed", str(seed),
               "--batch", "1000", "--connections", "4"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["points"]


def seal(server):
    status, answer = common.request(server.port, "POST", "/api/v1/flush?seal=true", timeout=3600)
    if status not in (200, 204):
        raise RuntimeError(f"flush: {status} {answer[:300]}")


class Cost:
    """CPU seconds of a server meanwhile."""

    def __init__(self, server):
        self.server, self.seconds = server, 0.0

    def __enter__(self):
        self.before = self.server.cpu_seconds()
        return self

    def __exit__(self, *_):
        self.seconds = self.server.cpu_seconds() - self.before


def load_days(server, tenant, arguments, days, text):
    """Points per CPU second, all sealed and built."""
    points = 0
    with common.Step(f"{text}: {arguments.hosts} hosts, {days} days"), Cost(server) as cost:
        for day in range(days):
            points += load(server, tenant, arguments.hosts, arguments.start + day * DAY_S, DAY_S,
                           seed=day + 1)
            seal(server)
    return points, points / cost.seconds


# ---- asking

def ask(server, tenant, **parameters):
    lists = list(parameters.items())
    path = "/api/v1/query?" + urllib.parse.urlencode([("tenant", tenant)] + lists)
    start = time.perf_counter()
    status, body = common.request(server.port, "GET", path, timeout=600)
    took_ms = (time.perf_counter() - start) * 1000
    if status != 200:
        raise RuntimeError(f"query: {status} {body[:300]}")
    return took_ms, json.loads(body)


def range_of(arguments, days):
    end = arguments.start + arguments.days * DAY_S
    return {"from": (end - days * DAY_S) * NS, "to": end * NS}


def values_of(answer):
    return [point[:2] for series in answer["series"] for point in series["points"]]


def compare_query(server, arguments, days, step, agg, hosts):
    """Medians of tiers and of raw points; the answers must be the same but for percentiles."""
    took = {"tiers": [], "raw": []}
    for repeat in range(arguments.repeats):
        host = "|".join(f"host_{(repeat * hosts + i) % arguments.hosts}" for i in range(hosts))
        common_words = {"metric": "cpu.usage_user", "tag": f"hostname={host}", "step": step,
                        "agg": agg, **range_of(arguments, days)}
        tiers_ms, tiers = ask(server, "tiered", **common_words)
        raw_ms, raw = ask(server, "tiered", tier="raw", **common_words)
        took["tiers"].append(tiers_ms)
        took["raw"].append(raw_ms)
        if agg == "max" and values_of(tiers) != values_of(raw):
            raise RuntimeError(f"tiers do not answer what raw points do: {days} days, {step}")
    return statistics.median(took["tiers"]), statistics.median(took["raw"])


def query_rows(server, arguments):
    rows = []
    for name, days in (("month", 30), ("quarter", 90)):
        if days > arguments.days:
            continue
        for step, agg, hosts in (("1h", "max", 1), ("6h", "mean", 1), ("1d", "max", 1),
                                 ("1d", "p99", 1), ("1d", "mean", 10)):
            text = f"{name}, {agg} of {step}, {hosts} host{'s' if hosts > 1 else ''}"
            with common.Step(text):
                tiers, raw = compare_query(server, arguments, days, step, agg, hosts)
            rows.append(common.row(text, "ms", tiers, "raw points", raw, 1 / 20,
                                   higher_is_better=False))
    return rows


def bytes_by_tier(server, arguments, points):
    """What a point of one host takes in each tier, as it is read."""
    figures = {}
    whole = range_of(arguments, arguments.days)
    for tier, step in TIERS.items():
        facts = ask(server, "tiered", metric="cpu.usage_user", tag="hostname=host_0", tier=tier,
                    step=step, agg="count", **whole)[1]["facts"]
        figures[tier] = facts["bytes_read"] / (points / arguments.hosts)
    return figures


# ---- late points

def late_rows(server, arguments):
    """History of two days that is sealed and built; then so many more points over all of it."""
    rows = []
    start = arguments.start
    for share, interval in ((1, 1000), (5, 200), (20, 50)):
        tenant = f"late{share}"
        make_tenant(server, tenant, True)
        with common.Step(f"{share} % late"):
            with Cost(server) as first:
                points = load(server, tenant, arguments.hosts, start, 2 * DAY_S)
                seal(server)
            with Cost(server) as later:
                late = load(server, tenant, arguments.hosts, start + 5, 2 * DAY_S, interval)
                seal(server)
        rows.append(common.row(f"{share} % late points: CPU seconds beside the ordinary ones", "s",
                               later.seconds, f"{points // 1000:,} k in time", first.seconds))
        rows.append(common.row(f"{share} % late points: CPU a late point", "µs",
                               later.seconds / late * 1e6, "one in time",
                               first.seconds / points * 1e6))
    return rows


# ---- live data beside history

class Live(threading.Thread):
    """Writes a few reports of now, again and again, until it is told to stop."""

    def __init__(self, server, seconds):
        super().__init__()
        self.port, self.end, self.took = server.port, time.monotonic() + seconds, []

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        while time.monotonic() < self.end:
            now = time.time_ns()
            body = "\n".join(f"live,host=h{i} value={i} {now}" for i in range(100))
            start = time.perf_counter()
            connection.request("POST", "/write?db=live", body)
            answer = connection.getresponse()
            answer.read()
            self.took.append((time.perf_counter() - start) * 1000)
            if answer.status != 204:
                raise RuntimeError(f"live write: {answer.status}")
            time.sleep(0.01)
        connection.close()

    def p99(self):
        return sorted(self.took)[int(len(self.took) * 0.99)]


def live_rows(server, arguments):
    make_tenant(server, "live", True)
    make_tenant(server, "history", True)
    with common.Step("live data alone"):
        alone = Live(server, arguments.live_seconds)
        alone.start()
        alone.join()
    with common.Step("live data beside history"):
        beside = Live(server, arguments.live_seconds)
        beside.start()
        day = 0
        while beside.is_alive():
            load(server, "history", arguments.hosts, arguments.start + day * DAY_S, DAY_S // 4,
                 seed=day + 7)
            day += 1
        beside.join()
    return [common.row("live writes beside history: acknowledgement p99", "ms", beside.p99(),
                       "alone", alone.p99(), 2, higher_is_better=False)]


# ---- all

def plain_cost(arguments):
    with common.Folder() as folder:
        server = common.start_varve(folder)
        try:
            make_tenant(server, "plain", False)
            points, per_cpu = load_days(server, "plain", arguments,
                                        min(arguments.days, arguments.plain_days), "without tiers")
        finally:
            server.stop()
        (server.folder / "server.log").unlink()
        return per_cpu, common.folder_bytes(folder) / points


def run(arguments):
    plain_per_cpu, plain_bytes = plain_cost(arguments)
    with common.Folder() as folder:
        server = common.start_varve(folder)
        try:
            make_tenant(server, "tiered", True)
            points, per_cpu = load_days(server, "tiered", arguments, arguments.days, "with tiers")
            disk = common.folder_bytes(folder) / points
            rows = [common.row("points per CPU second, written, sealed and built", "1/s", per_cpu,
                               "without tiers", plain_per_cpu, 1 / 1.25),
                    common.row("on disk", "bytes/point", disk, "without tiers", plain_bytes)]
            rows += [common.row(f"{tier} tier, as read", "bytes/point of raw data", value)
                     for tier, value in bytes_by_tier(server, arguments, points).items()]
            rows += query_rows(server, arguments)
            rows += late_rows(server, arguments)
            rows += live_rows(server, arguments)
        finally:
            server.stop()
    return points, rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a look: 10 hosts, 31 days")
    parser.add_argument("--hosts", type=int, default=100)
    parser.add_argument("--days", type=int, default=90)
    parser.add_argument("--plain-days", type=int, default=14,
                        help="days that are written without tiers, to compare with")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--live-seconds", type=int, default=30)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.hosts, arguments.days, arguments.plain_days = 10, 31, 7
        arguments.repeats, arguments.live_seconds = 5, 10
    month = 28 * DAY_S
    arguments.start = ((int(time.time()) - arguments.days * DAY_S) // month - 1) * month
    points, rows = run(arguments)
    print(f"{points:,} points of {arguments.hosts} hosts and {METRICS} metrics, "
          f"{arguments.days} days")
    if arguments.quick:
        common.print_rows(rows)
    else:
        common.write_results("pyramid", rows)


if __name__ == "__main__":
    main()
