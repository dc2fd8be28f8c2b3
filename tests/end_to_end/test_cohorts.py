# SPDX-License-Identifier: Apache-2.0
"""Questions about all sources on the embedded store: what is kept of many together is what their
points say, through kills and late points."""
import json
import unittest

from varve_process import VarveTest, embedded_only

DAY_S = 24 * 3600
START_S = 1709251200  # 2024-03-01
DAYS = 5
SOURCES = 7


@embedded_only("nodes that share a store number sources each for itself")
class Cohorts(VarveTest):
    def ask(self, server, **words):
        answer = server.get("/api/v1/query", metric="m.v", group_by="all", step="1h",
                            agg="count,sum,min,max,first,last", from_=START_S, epoch="s",
                            to=START_S + DAYS * DAY_S, **words)
        self.assertStatus(answer, 200)
        content = json.loads(answer.text)
        tiers = content["facts"].get("tiers", [])
        return content["series"], sum(tier.get("cohorts", 0) for tier in tiers)

    def assertSame(self, server):
        """Returns how many parts were of many sources."""
        series, cohorts = self.ask(server)
        self.assertEqual(series, self.ask(server, tier="raw")[0])
        self.assertGreater(len(series[0]["points"]), 0)
        return cohorts

    def test_all_sources_together_are_what_their_points_say(self):
        server = self.server().start()
        body = json.dumps({"tenant": "default", "retention": "forever",
                           "tiers": {"hour": "forever", "day": "forever"}})
        self.assertStatus(server.request("PUT", "/api/v1/tenants", body), 200)
        lines = [f"m,source={source} v={at % 977 + source}i {at}"
                 for at in range(START_S, START_S + DAYS * DAY_S, 60)
                 for source in range(SOURCES) if source < 4 or at % 1800 == 0]
        self.assertStatus(server.write(lines, precision="s"), 204)
        self.assertStatus(server.flush(seal=True), 204)
        self.assertEqual(self.assertSame(server), DAYS)
        server.kill()
        server.start()
        self.assertEqual(self.assertSame(server), DAYS)
        late = START_S + DAY_S + 12345
        self.assertStatus(server.write(f"m,source=5 v=-7i {late}", precision="s"), 204)
        self.assertEqual(self.assertSame(server), DAYS - 1)
        server.kill()
        server.start()
        self.assertEqual(self.assertSame(server), DAYS - 1)
        self.assertStatus(server.flush(seal=True), 204)
        self.assertEqual(self.assertSame(server), DAYS)
        server.stop()


if __name__ == "__main__":
    unittest.main()
