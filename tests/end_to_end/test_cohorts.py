# SPDX-License-Identifier: Apache-2.0
"""Questions about all sources: what is kept of many together is what their points say, through
kills, late points and deletions; and reads less."""
import hashlib
import itertools
import json
import os
import unittest

from varve_process import VarveTest, wait_until

DAY_S = 24 * 3600
START_S = 1709251200  # 2024-03-01
DAYS = 5
SOURCES = 7


def cohort_of(tenant, source):
    """Where nodes share a store: by the hash of the source's id."""
    text = b"\0".join([b"varve source", tenant.encode(), f"source={source}".encode()])
    return hashlib.sha256(text).digest()[0] >> 2


# Of one cohort, by number as well as by hash.
NAMES = list(itertools.islice(
    (name for name in range(100000) if cohort_of("default", name) == cohort_of("default", 0)),
    SOURCES))


ON_CASSANDRA = os.environ.get("VARVE_E2E_STORE") == "cassandra"
# There units are not built on request, but when they are due.
SETTINGS = {"seal.lateness": "1s", "seal.quiet": "1s", "seal.interval": "1s"} if ON_CASSANDRA else {}


class Cohorts(VarveTest):
    def ask(self, server, **words):
        answer = server.get("/api/v1/query", metric="m.v", group_by="all", step="1h",
                            agg="count,sum,min,max,first,last", from_=START_S, epoch="s",
                            to=START_S + DAYS * DAY_S, **words)
        self.assertStatus(answer, 200)
        content = answer.json()
        facts = content["facts"]
        cohorts = sum(tier.get("cohorts", 0) for tier in facts.get("tiers", []))
        return content["series"], cohorts, facts["partitions_read"]

    def assertSame(self, server):
        """Returns how many parts were of many sources."""
        series, cohorts, _ = self.ask(server)
        self.assertEqual(series, self.ask(server, tier="raw")[0])
        return cohorts

    def assertBuilt(self, server):
        """All is answered by what is kept of many sources; on Cassandra at some time, as units may
        be built once more, and right at any moment before."""
        if ON_CASSANDRA:
            wait_until(lambda: self.assertSame(server) == DAYS, "all days of the cohort are built")
        else:
            self.assertEqual(self.assertSame(server), DAYS)

    def wait_built(self, server):
        self.assertStatus(server.flush(seal=True), 204)
        self.assertBuilt(server)

    def begin(self):
        server = self.server(settings=SETTINGS).start()
        body = json.dumps({"tenant": "default", "retention": "forever",
                           "tiers": {"hour": "forever", "day": "forever"}})
        self.assertStatus(server.request("PUT", "/api/v1/tenants", body), 200)
        lines = [f"m,source={NAMES[source]} v={at % 977 + source}i {at}"
                 for at in range(START_S, START_S + DAYS * DAY_S, 60)
                 for source in range(SOURCES) if source < 4 or at % 1800 == 0]
        self.assertStatus(server.write(lines, precision="s"), 204)
        self.wait_built(server)
        return server

    def test_all_sources_together_are_what_their_points_say(self):
        server = self.begin()
        server.kill()
        server.start()
        self.assertBuilt(server)
        late = START_S + DAY_S + 12345
        self.assertStatus(server.write(f"m,source={NAMES[5]} v=-7i {late}", precision="s"), 204)
        for _ in range(2): # before a kill and after it
            cohorts = self.assertSame(server)
            if not ON_CASSANDRA: # there it may be built again by now
                self.assertEqual(cohorts, DAYS - 1)
            server.kill()
            server.start()
        self.wait_built(server)
        server.stop()

    def test_what_is_deleted_of_a_source_is_deleted_of_all_together(self):
        server = self.begin()
        before = self.ask(server)[0]
        deleted = server.request("POST", "/api/v1/delete", json.dumps({
            "tenant": "default", "source": f"source={NAMES[2]}", "metric": "m.v",
            "from": START_S + DAY_S, "to": START_S + DAY_S + 3600, "epoch": "s"}))
        self.assertIn(deleted.status, (200, 202), deleted)
        after = self.ask(server)[0]
        self.assertNotEqual(after, before)
        self.assertSame(server)
        self.wait_built(server)
        self.assertEqual(self.ask(server)[0], after)
        server.stop()

    def test_a_question_about_all_sources_reads_one_partition_for_many(self):
        server = self.begin()
        some = [f"source={name}" for name in NAMES[1:]]
        wait_until(lambda: self.ask(server)[1:] == (DAYS, 1), "one partition is read")
        wait_until(lambda: self.ask(server, source=some)[1:] == (0, SOURCES - 1),
                   "each of fewer sources is read")
        server.stop()


if __name__ == "__main__":
    unittest.main()
