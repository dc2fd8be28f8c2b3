# SPDX-License-Identifier: Apache-2.0
"""A month from tiers beside the same from raw points, of one host and of many, on Cassandra.

Reports of 10 metrics, 10 s apart, written as history, so that all is sealed and built. The same
question is asked of the tiers and, with tier=raw, of the points, in turns, over one connection.
"""
import http.client
import json
import statistics
import time
import urllib.parse

import common
from cassandra_varve import TENANT, Varve

INTERVAL_S = 10
DAY_S = 24 * 3600
MONTH_DAYS = 30
BEFORE_DAYS = 2  # the month begins in the middle of what there is
FOREVER = {"minute": "off", "hour": "forever", "day": "forever"}
SETTINGS = ("seal.interval=1s", "seal.quiet=1s", "seal.lateness=1s", "cassandra.classes=",
            "fleet.beat=1s", "fleet.poll=500ms", "fleet.gone_after=5s")
SEALING_S_MAX = 900
BAR = 1 / 20


class Shape:
    """How much there is to ask."""

    def __init__(self, quick):
        self.hosts = 8 if quick else 40
        self.repeats = 3 if quick else 9
        self.warm_s = 1 if quick else 5  # Java compiles what is often asked
        self.start_s = (int(time.time()) // DAY_S - MONTH_DAYS - BEFORE_DAYS - 1) * DAY_S

    def questions(self):
        """text, parameters, and whether each time asks another host"""
        many = self.hosts
        for step, agg in (("1h", "max"), ("1d", "p99")):
            yield f"month, {agg} of {step}, 1 host", {"step": step, "agg": agg}, True
        for step, agg in (("1h", "max"), ("1d", "mean")):
            yield f"month, {agg} of {step}, {many} hosts", {"step": step, "agg": agg}, False
        for step, agg in (("1h", "p99"), ("1d", "mean")):
            yield (f"month, {agg} of {step}, {many} hosts as one",
                   {"step": step, "agg": agg, "group_by": "all"}, False)


def load(varve, shape):
    body = json.dumps({"tenant": TENANT, "retention": "forever", "tiers": FOREVER})
    status, answer = common.request(varve.server.port, "PUT", "/api/v1/tenants", body)
    if status not in (200, 204):
        raise RuntimeError(f"tenants: {status} {answer[:300]}")
    day_steps = DAY_S // INTERVAL_S
    varve.load(shape.hosts, INTERVAL_S, (MONTH_DAYS + BEFORE_DAYS) * DAY_S, shape.start_s,
               day_steps)


def seal(varve):
    """Until nothing of the tenant waits to be sealed or built."""
    end = time.monotonic() + SEALING_S_MAX
    while time.monotonic() < end:
        varve.flush(seal=True)
        if json.loads(varve.ask("GET", f"/api/v1/sealing?tenant={TENANT}"))["waiting"] == 0:
            return
        time.sleep(1)
    raise RuntimeError(f"not sealed in {SEALING_S_MAX} s")


class Asking:
    """One connection, kept, as of a dashboard."""

    def __init__(self, varve, shape):
        self.connection = http.client.HTTPConnection("127.0.0.1", varve.server.port, timeout=600)
        begin = shape.start_s + BEFORE_DAYS * DAY_S
        self.common = {"tenant": TENANT, "metric": "cpu.usage_user", "from": begin * 10**9,
                       "to": (begin + MONTH_DAYS * DAY_S) * 10**9}

    def ask(self, **parameters):
        """The answer, and the server's own milliseconds."""
        words = urllib.parse.urlencode({**self.common, **parameters})
        self.connection.request("GET", f"/api/v1/query?{words}")
        reply = self.connection.getresponse()
        body = reply.read()
        if reply.status != 200:
            raise RuntimeError(f"query: {reply.status} {body[:300]}")
        answer = json.loads(body)
        return answer, answer["facts"]["duration_ms"]


def values_of(answer):
    return [[point[:2] for point in series["points"]] for series in answer["series"]]


def measure(asking, shape, words, one_host):
    """Medians; the answers must be the same but for percentiles and means."""
    def host(number):
        return {"tag": f"hostname=host_{number * 7 % shape.hosts}"} if one_host else {}

    took = {"tiers": [], "raw": []}
    begin, asked = time.monotonic(), 0
    while time.monotonic() - begin < shape.warm_s:
        asking.ask(**words, **host(asked))
        asking.ask(tier="raw", **words, **host(asked))
        asked += 1
    for repeat in range(shape.repeats):
        more = host(asked + repeat)
        tiers, tiers_ms = asking.ask(**words, **more)
        raw, raw_ms = asking.ask(tier="raw", **words, **more)
        if words["agg"] == "max" and values_of(tiers) != values_of(raw):
            raise RuntimeError(f"tiers do not answer what raw points do: {words}")
        took["tiers"].append(tiers_ms)
        took["raw"].append(raw_ms)
    return [statistics.median(took[kind]) for kind in ("tiers", "raw")]


def run(node, quick):
    """Returns (rows of results, figures)."""
    shape = Shape(quick)
    rows, figures = [], {}
    with Varve(node, "tiers", "blocks", SETTINGS) as varve:
        with common.Step("tiers: loading"):
            load(varve, shape)
        with common.Step("tiers: sealing"):
            seal(varve)
            node.write_to_disk(varve.keyspace)
        asking = Asking(varve, shape)
        for text, words, one_host in shape.questions():
            with common.Step(f"tiers: {text}"):
                tiers, raw = measure(asking, shape, words, one_host)
            figures[text] = {"tiers_ms": tiers, "raw_ms": raw}
            rows.append(common.row(f"{text}, from tiers", "ms", tiers, "raw points", raw, BAR,
                                   higher_is_better=False))
    return rows, figures
