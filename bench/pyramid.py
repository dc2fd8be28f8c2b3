# SPDX-License-Identifier: Apache-2.0
"""What the pyramid of tiers gives, and what it costs, on the embedded store.

Reports of 10 metrics, 10 s apart, of many hosts over months, written as history, so that
everything is sealed and built. Queries ask the same of the tiers and, with tier=raw, of the points,
in turns of some hosts each, over one connection. What tiers cost is the server's CPU seconds beside
a server without them, in turns, at 10 s (a minute holds 6 points, so it keeps them) and at 1 s
(60); what late points cost, its CPU seconds for points that come into hours that were sealed and
built before.
"""
import argparse
import contextlib
import http.client
import json
import shutil
import signal
import socket
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

@contextlib.contextmanager
def running(folder, settings=()):
    server = common.start_varve(folder, settings)
    try:
        yield server
    finally:
        server.stop()


def make_tenant(server, tenant, tiers):
    body = json.dumps({"tenant": tenant, "retention": "forever", **({"tiers": FOREVER} if tiers else {})})
    status, answer = common.request(server.port, "PUT", "/api/v1/tenants", body)
    if status not in (200, 204):
        raise RuntimeError(f"tenants: {status} {answer[:300]}")


def load(server, tenant, hosts, start_s, duration_s, interval_s=INTERVAL_S, seed=1, nice=0):
    """Writes one stretch; returns its points."""
    command = ["nice", "-n", str(nice), str(common.BUILD / "bench" / "tsbs_load"), str(server.port),
               f"/write?db={tenant}", "--hosts", str(hosts), "--interval", str(interval_s),
               "--duration", str(duration_s), "--start", str(start_s), "--seed", str(seed),
               "--batch", "1000", "--connections", "4"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["points"]


def seal(server):
    status, answer = common.request(server.port, "POST", "/api/v1/flush?seal=true", timeout=3600)
    if status not in (200, 204):
        raise RuntimeError(f"flush: {status} {answer[:300]}")


SETTLED_S, SETTLED_CPU_S, SETTLING_S_MAX = 8, 0.08, 240
# What is over is merged, and its volumes are made, soon: not after an hour and ten minutes.
AT_REST = ("store.merge_after=5s", "retention.interval=1s", "tiers.volumes_after=1s")


def settle(server):
    """Waits until the store has merged its files, which takes from questions what is not theirs."""
    with common.Step("until nothing is left to be done"):
        end = time.monotonic() + SETTLING_S_MAX
        while time.monotonic() < end:
            before = server.cpu_seconds()
            time.sleep(SETTLED_S)
            if server.cpu_seconds() - before <= SETTLED_CPU_S:
                return
        raise RuntimeError(f"the server is still busy after {SETTLING_S_MAX} s")


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
    """All sealed and built, once for all days; returns the points."""
    points = 0
    with common.Step(f"{text}: {arguments.hosts} hosts, {days} days"):
        for day in range(days):
            points += load(server, tenant, arguments.hosts, arguments.start + day * DAY_S, DAY_S,
                           seed=day + 1)
        seal(server)
    return points


# ---- what tiers cost

def write_once(arguments, tiers, hosts, days, interval_s):
    """CPU seconds a point, and bytes a point, of a server of its own. Each unit is built once, as of
    live data."""
    with common.Folder() as folder:
        with running(folder) as server:
            make_tenant(server, "cost", tiers)
            points = 0
            with Cost(server) as cost:
                for day in range(days):
                    points += load(server, "cost", hosts, arguments.start + day * DAY_S, DAY_S,
                                   interval_s, seed=day + 1)
                seal(server)
        (server.folder / "server.log").unlink()
        return cost.seconds / points, common.folder_bytes(folder) / points


def cost_rows(arguments):
    rows = []
    for interval_s, hosts, days, bar in ((1, arguments.cost_hosts, 1, 1.25),
                                         (10, arguments.cost_hosts, 7, None)):
        plain, tiered = [], []
        for repeat in range(arguments.cost_repeats):
            with common.Step(f"cost at {interval_s} s, {repeat + 1}: {hosts} hosts, {days} days"):
                plain.append(write_once(arguments, False, hosts, days, interval_s))
                tiered.append(write_once(arguments, True, hosts, days, interval_s))
        without = statistics.median(seconds for seconds, _ in plain) * 1e6
        ratio = statistics.median(t[0] / p[0] for t, p in zip(tiered, plain))
        text = f"{60 // interval_s} points a minute's step"
        rows.append(common.row(f"{text}: CPU a point, written, sealed and built", "µs",
                               without * ratio, "without tiers", without, bar,
                               higher_is_better=False))
        rows.append(common.row(f"{text}: on disk", "bytes/point", tiered[-1][1], "without tiers",
                               plain[-1][1]))
    return rows


# ---- asking

class Asking:
    """One connection, kept, as of a dashboard. Bytes as they come, since http.client takes as long
    to read an answer's head as the server to answer."""

    def __init__(self, server):
        self.connection = socket.create_connection(("127.0.0.1", server.port), timeout=600)
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.answers = self.connection.makefile("rb")

    def chunks(self):
        while size := int(self.answers.readline(), 16):
            yield self.answers.read(size)
            self.answers.readline()
        self.answers.readline()

    def exchange(self, path):
        """The status and the body."""
        self.connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        status = int(self.answers.readline().split()[1])
        size = None
        while (line := self.answers.readline().strip().lower()) != b"":
            name, value = line.split(b": ", 1)
            size = int(value) if name == b"content-length" else size
        return status, b"".join(self.chunks()) if size is None else self.answers.read(size)

    def ask(self, **parameters):
        """The answer, milliseconds until it was there, and those of the server alone."""
        words = urllib.parse.urlencode({"tenant": "tiered", **parameters})
        start = time.perf_counter()
        status, body = self.exchange(f"/api/v1/query?{words}")
        took_ms = (time.perf_counter() - start) * 1000
        if status != 200:
            raise RuntimeError(f"query: {status} {body[:300]}")
        answer = json.loads(body)
        return answer, took_ms, answer["facts"]["duration_ms"]


def range_of(arguments, days):
    end = arguments.start + arguments.days * DAY_S
    return {"from": (end - days * DAY_S) * NS, "to": end * NS}


def values_of(answer):
    return [point[:2] for series in answer["series"] for point in series["points"]]


def questions(arguments, days, step, agg, hosts, turn):
    """Of as many hosts as a turn has, one or some at a time."""
    for question in range(arguments.repeats):
        first = (turn * arguments.repeats + question) * hosts
        host = "|".join(f"host_{(first + i) % arguments.hosts}" for i in range(hosts))
        yield {"metric": "cpu.usage_user", "tag": f"hostname={host}", "step": step, "agg": agg,
               **range_of(arguments, days)}


def compare_query(asking, arguments, days, step, agg, hosts):
    """Medians of tiers and of raw points, until the answer was there and of the server alone, when
    it is asked for the first time and when it is asked again; the answers must be the same but for
    percentiles. Host after host is asked for, as by a dashboard, all of them again, as it does
    after some seconds, and then the same from raw points, in turns."""
    took = {}
    for turn in range(arguments.turns):
        answers = {"tiers": [], "raw": []}
        for kind, more in (("tiers", {}), ("raw", {"tier": "raw"})):
            for time_asked in ("first", "again"):
                for words in questions(arguments, days, step, agg, hosts, turn):
                    answer, *ms = asking.ask(**words, **more)
                    took.setdefault((kind, time_asked), []).append(ms)
                    answers[kind].append(values_of(answer))
        if agg == "max" and answers["tiers"] != answers["raw"]:
            raise RuntimeError(f"tiers do not answer what raw points do: {days} days, {step}")
    return {asked: [statistics.median(times) for times in zip(*all_took)]
            for asked, all_took in took.items()}


def fill_caches(asking, arguments):
    """As of a server that has been asked before: the memory of its caches is there."""
    for host in range(arguments.hosts):
        asking.ask(metric="cpu.usage_user", tag=f"hostname=host_{host}", step="1d", agg="count",
                   tier="raw", **range_of(arguments, arguments.days))


def query_rows(asking, arguments):
    rows = []
    for name, days in (("month", 30), ("quarter", 90)):
        if days > arguments.days:
            continue
        for step, agg, hosts in (("1h", "max", 1), ("6h", "mean", 1), ("1d", "max", 1),
                                 ("1d", "p99", 1), ("1d", "mean", 10)):
            text = f"{name}, {agg} of {step}, {hosts} host{'s' if hosts > 1 else ''}"
            with common.Step(text):
                took = compare_query(asking, arguments, days, step, agg, hosts)
            for time_asked, when in (("again", ""), ("first", ", for the first time")):
                for at, what in enumerate((when, f"{when}, the server alone")):
                    rows.append(common.row(text + what, "ms", took["tiers", time_asked][at],
                                           "raw points", took["raw", time_asked][at], 1 / 20,
                                           higher_is_better=False))
    return rows


COHORT = 64  # hosts whose hours and days are kept together, too


def without_cohorts(server):
    """A tag that leaves out one host of each cohort, so that each other host is asked by itself."""
    status, body = common.request(server.port, "GET", "/api/v1/sources?tenant=tiered&limit=100000")
    if status != 200:
        raise RuntimeError(f"sources: {status} {body[:300]}")
    hosts = [source["tags"]["hostname"] for source in json.loads(body)["sources"]]
    return "hostname!=" + "|".join(hosts[::COHORT])


def fleet_rows(server, asking, arguments):
    """One metric over all hosts: hosts together, beside one host after the other."""
    rows = []
    apart = without_cohorts(server)
    for step, agg in (("1h", "mean"), ("1h", "p99"), ("1d", "max")):
        text = f"month, {agg} of {step}, all {arguments.hosts} hosts as one"
        took = {"together": [], "apart": []}
        with common.Step(text):
            for _ in range(arguments.repeats):
                for words, way in (({}, "together"), ({"tag": apart}, "apart")):
                    answer, ms, _ = asking.ask(metric="cpu.usage_user", step=step, agg=agg,
                                               group_by="all", **words, **range_of(arguments, 30))
                    parts = sum(tier.get("cohorts", 0) for tier in answer["facts"]["tiers"])
                    if (parts > 0) != (way == "together"):
                        raise RuntimeError(f"{way}: {parts} parts of several hosts")
                    took[way].append(ms)
        rows.append(common.row(text, "ms", statistics.median(took["together"]), "host by host",
                               statistics.median(took["apart"]), 1, higher_is_better=False))
    return rows


def bytes_by_tier(asking, arguments, points):
    """What a point of one host takes in each tier, as it is read."""
    figures = {}
    whole = range_of(arguments, arguments.days)
    for tier, step in TIERS.items():
        facts = asking.ask(metric="cpu.usage_user", tag="hostname=host_0", tier=tier, step=step,
                           agg="count", **whole)[0]["facts"]
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

CLIENT_NICE = 19  # of whoever loads history on this machine: the server is measured, not the client


class Live(threading.Thread):
    """Writes a few reports of now, again and again, until its time is over or it is told to stop."""

    def __init__(self, server, seconds):
        super().__init__()
        self.port, self.seconds, self.took = server.port, seconds, []
        self.stop, self.failure = threading.Event(), None
        self.start()

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        end = time.monotonic() + self.seconds
        while time.monotonic() < end and not self.stop.is_set():
            now = time.time_ns()
            body = "\n".join(f"live,host=h{i} value={i} {now}" for i in range(100))
            start = time.perf_counter()
            connection.request("POST", "/write?db=live", body)
            answer = connection.getresponse()
            answer.read()
            self.took.append((time.perf_counter() - start) * 1000)
            if answer.status != 204:
                self.failure = f"live write: {answer.status}"
                break
            time.sleep(0.01)
        connection.close()

    def result(self):
        """p50 and p99."""
        self.join()
        if self.failure:
            raise RuntimeError(self.failure)
        took = sorted(self.took)
        return took[len(took) // 2], took[int(len(took) * 0.99)]


def accepted(server, tenant):
    body = common.request(server.port, "GET", "/metrics")[1].decode()
    start = f'varve_points_accepted_total{{tenant="{tenant}"'
    return sum(float(line.rsplit(" ", 1)[1]) for line in body.splitlines() if line.startswith(start))


def live_alone(server, arguments):
    return (*Live(server, arguments.live_seconds).result(), 0)


def live_beside_load(server, arguments, turn):
    """History by plain requests; p50, p99 and points a second of history."""
    begin, points, part = time.monotonic(), 0, 0
    live = Live(server, arguments.live_seconds)
    while live.is_alive():
        day = turn * 18 + part  # each is new to the server, but for the quickest of machines
        points += load(server, "history", arguments.hosts, arguments.start + day * DAY_S,
                       DAY_S // 4, seed=day + 7, nice=CLIENT_NICE)
        part += 1
    took = time.monotonic() - begin
    return (*live.result(), points / took)


def live_beside_backfill(server, arguments, turn, files, folder):
    """From its first point until the last is sealed, or the time is over."""
    tenant = f"backfill{turn}"
    make_tenant(server, tenant, True)
    command = ["nice", "-n", str(CLIENT_NICE), str(common.BUILD / "varve"), "backfill", "--server",
               f"http://127.0.0.1:{server.port}", "--tenant", tenant, "--staging",
               f"{folder}/staging{turn}", files]
    backfill = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while accepted(server, tenant) == 0:
        if backfill.poll() is not None:
            raise RuntimeError(f"backfill: {backfill.returncode}")
        time.sleep(0.01)
    begin = time.monotonic()
    live = Live(server, arguments.live_seconds)
    while live.is_alive() and backfill.poll() is None:
        time.sleep(0.05)
    live.stop.set()
    took, points = time.monotonic() - begin, accepted(server, tenant)
    if backfill.poll() is None:
        backfill.send_signal(signal.SIGINT)
    backfill.wait()
    shutil.rmtree(f"{folder}/staging{turn}", ignore_errors=True)
    return (*live.result(), points / took)


def make_archive(server, arguments, folder):
    """A file of some days, for `varve backfill`."""
    make_tenant(server, "archive", False)
    for day in range(arguments.archive_days):
        load(server, "archive", arguments.hosts, arguments.start + day * DAY_S, DAY_S, seed=day + 3)
    path = f"{folder}/archive.lp"
    subprocess.run([str(common.BUILD / "varve"), "export", "--server",
                    f"http://127.0.0.1:{server.port}", "--tenant", "archive", "--output", path],
                   check=True, capture_output=True)
    return path


def live_rows(server, arguments):
    """In turns, as the machine is not the same from one minute to the next; medians of these."""
    make_tenant(server, "live", True)
    make_tenant(server, "history", True)
    turns = {"alone": [], "plain writes": [], "varve backfill": []}
    with common.Folder() as folder:
        with common.Step("a file of history"):
            archive = make_archive(server, arguments, folder)
            seal(server)
        for turn in range(arguments.live_turns):
            with common.Step(f"live data alone, and beside history, {turn + 1}"):
                turns["alone"].append(live_alone(server, arguments))
                turns["plain writes"].append(live_beside_load(server, arguments, turn))
                seal(server)
                turns["varve backfill"].append(
                    live_beside_backfill(server, arguments, turn, archive, folder))
                seal(server)
    p50, p99, rate = ({way: statistics.median(turn[at] for turn in results)
                       for way, results in turns.items()} for at in range(3))
    rows = []
    for way in ("plain writes", "varve backfill"):
        text = f"live writes beside history by {way}: acknowledgement"
        rows.append(common.row(f"{text} p50", "ms", p50[way], "alone", p50["alone"],
                               higher_is_better=False))
        rows.append(common.row(f"{text} p99", "ms", p99[way], "alone", p99["alone"], 2,
                               higher_is_better=False))
        rows.append(common.row(f"history by {way} meanwhile", "points/s", rate[way]))
    return rows


# ---- all

def run_live(arguments):
    with common.Folder() as folder, running(folder) as server:
        return live_rows(server, arguments)


def asked_rows(server, arguments):
    """History is written, and asked for; returns its points, too."""
    make_tenant(server, "tiered", True)
    points = load_days(server, "tiered", arguments, arguments.days, "with tiers")
    settle(server)
    asking = Asking(server)
    rows = [common.row(f"{tier} tier, as read", "bytes/point of raw data", value)
            for tier, value in bytes_by_tier(asking, arguments, points).items()]
    fill_caches(asking, arguments)
    rows += query_rows(asking, arguments)
    return points, rows + fleet_rows(server, asking, arguments)


def written_rows(server, arguments):
    return late_rows(server, arguments) + live_rows(server, arguments)


def run(arguments):
    rows = cost_rows(arguments)
    with common.Folder() as folder:
        with running(folder, AT_REST) as server:
            points, asked = asked_rows(server, arguments)
        with running(folder) as server:
            rows += asked + written_rows(server, arguments)
    return points, rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a look: 10 hosts, 31 days")
    parser.add_argument("--hosts", type=int, default=100)
    parser.add_argument("--days", type=int, default=90)
    parser.add_argument("--cost-hosts", type=int, default=20,
                        help="that are written with and without tiers")
    parser.add_argument("--cost-repeats", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=25, help="questions of a turn")
    parser.add_argument("--turns", type=int, default=4, help="tiers, then raw points")
    parser.add_argument("--live-seconds", type=int, default=20)
    parser.add_argument("--live-turns", type=int, default=5)
    parser.add_argument("--archive-days", type=int, default=5)
    parser.add_argument("--only-live", action="store_true", help="live writes beside history")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.hosts, arguments.days, arguments.cost_hosts = 10, 31, 5
        arguments.cost_repeats, arguments.repeats, arguments.live_seconds = 3, 9, 10
        arguments.live_turns, arguments.archive_days = 3, 20
    month = 28 * DAY_S
    arguments.start = ((int(time.time()) - arguments.days * DAY_S) // month - 1) * month
    if arguments.only_live:
        common.print_rows(run_live(arguments))
        return
    points, rows = run(arguments)
    print(f"{points:,} points of {arguments.hosts} hosts and {METRICS} metrics, "
          f"{arguments.days} days")
    if arguments.quick:
        common.print_rows(rows)
    else:
        common.write_results("pyramid", rows)


if __name__ == "__main__":
    main()
