# SPDX-License-Identifier: Apache-2.0
"""A retention that is made shorter and longer again on a real Cassandra: when all nodes know of it
what comes for sources that have nothing there, and beside points that were to live for longer, gets
into all tiers, in several requests."""
import json
import time

from cassandra_process import QUICK_TIERS, ClusterTest, main
from varve_process import in_time, wait_until

SECOND = 10**9
HOUR = 3600 * SECOND
DAY = 24 * HOUR
STEPS = {"minute": "1m", "hour": "1h", "day": "1d"}
EACH = 30  # points of a request
KNOWN_S = 480  # until all nodes know of it for sure: clocks may differ by five minutes
BUILT_S = 120


class TestLonger(ClusterTest):
    CLUSTER = {"nodes": 1}
    REPLICATION = "dc1:1"
    STORE = {"cassandra.classes": "30d,365d"}
    SETTINGS = {**QUICK_TIERS, "retention.raw": "4d", "tiers.default": "true",
                "ingest.future_max": "1s"}

    def setUp(self):
        super().setUp()
        self.hour = time.time_ns() // HOUR * HOUR - 2 * DAY - HOUR
        self.taken = {"a": 0, "new": 0}

    def lines(self, source, first):
        return [f"m,source={source} v={i}i {self.hour + first + i * 60 * SECOND}"
                for i in range(EACH)]

    def write(self, server, source, first):
        answer = server.write(self.lines(source, first))
        self.assertStatus(answer, 204)
        self.taken[source] += EACH

    def assert_refused(self, answer):
        self.assertStatus(answer, 400)
        body = answer.json()
        self.assertEqual(body["refused"], {"retention": EACH}, body)
        self.assertIn("stored 0 points", json.dumps(body))
        self.assertIn("frozen span", json.dumps(body))

    def count(self, server, source, tier):
        answer = in_time(lambda: server.get(
            "/api/v1/query", metric="m.v", tag=f"source={source}", tier=tier, step=STEPS[tier],
            agg="count", format="json", from_=str(self.hour - DAY)))
        if answer.code() == "not_found":  # this node has not heard of the metric yet
            return None
        self.assertStatus(answer, 200)
        return sum(row[1] for series in answer.json()["series"] for row in series["points"])

    def await_tiers(self, servers):
        for server in servers:
            self.flush_in_time(server, seal=True)
        wait_until(lambda: all(self.count(server, source, tier) == n
                               for server in servers for tier in STEPS
                               for source, n in self.taken.items()),
                   f"all tiers have {self.taken}", BUILT_S)

    def keep_for(self, server, retention):
        self.assertIn(server.set_tenant("default", retention).status, (200, 204))

    def test_what_was_to_live_for_longer_is_taken_when_all_know(self):
        servers = tuple(server.start() for server in self.pair())
        self.write(servers[0], "a", 0)
        self.await_tiers(servers)
        self.keep_for(servers[0], "2d")
        self.keep_for(servers[0], "30d")
        # A longer retention counts for what is older when all nodes know of it.
        self.assert_refused(servers[0].write(self.lines("new", 0)))
        wait_until(lambda: servers[0].write(self.lines("new", 0)).status == 204,
                   "the longer retention counts", KNOWN_S)
        self.taken["new"] += EACH
        for number, server in enumerate(servers):
            wait_until(lambda: server.write(self.lines("new", 0)).status == 204,
                       "also for this node", KNOWN_S)
            self.write(server, "a", 1 + number)  # what was to live for four days still does
        self.await_tiers(servers)
        for number, server in enumerate(servers):  # into units that are built
            self.write(server, "new", 1 + number)
            self.await_tiers(servers)


if __name__ == "__main__":
    main()
