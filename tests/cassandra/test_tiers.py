# SPDX-License-Identifier: Apache-2.0
"""Tiers on a real Cassandra: two nodes of Varve write the same sources, in both layouts; whichever is
asked, minutes, hours and days say what the points do, also when points came late, and when the node
that took them is killed."""
import ast
import json
import urllib.parse

from cassandra_process import QUICK_TIERS, ClusterTest, main
from varve_process import in_time, wait_until

SECOND = 10**9
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
START = 20_000 * DAY  # 2024-10-04

STEPS = {"minute": ("1m", MINUTE), "hour": ("1h", HOUR), "day": ("1d", DAY)}
TENANTS = ("b", "r")
GONE_S = 120  # until a node that is silent counts as gone, with patience


class TestTiers(ClusterTest):
    CLUSTER = {"nodes": 1}
    REPLICATION = "dc1:1"
    STORE = {"cassandra.classes": "30d,365d"}
    SETTINGS = {**QUICK_TIERS, "cassandra.rows_tenants": "r"}

    def setUp(self):
        super().setUp()
        self.points = {tenant: {} for tenant in TENANTS}

    def write(self, server, tenant, points):
        """points: {(source, time): value}"""
        lines = [f"pump,host={source} v={value}i {time}"
                 for (source, time), value in points.items()]
        self.assertStatus(server.write(lines, tenant), 204)
        self.points[tenant] |= points

    def expected(self, tenant, length):
        """{(source, step): [count, sum, min, max, first, last]}"""
        steps = {}
        for (source, time), value in sorted(self.points[tenant].items(), key=lambda one: one[0][1]):
            steps.setdefault((f"host={source}", time // length * length), []).append(value)
        return {key: [len(found), sum(found), min(found), max(found), found[0], found[-1]]
                for key, found in steps.items()}

    def ask(self, server, tenant, tier):
        step, _ = STEPS[tier]
        answer = in_time(lambda: server.get(
            "/api/v1/query", tenant=tenant, metric="pump.v", tier=tier, step=step,
            agg="count,sum,min,max,first,last", time_format="ns", to=str(START + 400 * DAY)))
        self.assertStatus(answer, 200)
        return answer.json()

    def compare(self, servers):
        for server in servers:
            for tenant in TENANTS:
                for tier, (_, length) in STEPS.items():
                    found = {}
                    answer = self.ask(server, tenant, tier)
                    for series in answer["series"]:
                        for row in series["points"]:
                            found[series["source"], row[0]] = row[1:]
                    self.assertEqual(found, self.expected(tenant, length), (tenant, tier))

    def read_of(self, server, tenant, tier):
        """How many steps of the answer were read of the tier."""
        parts = self.ask(server, tenant, tier)["facts"]["tiers"]
        found = [part for part in parts if part["tier"] == tier]
        return sum(part.get("steps", 0) for part in found)

    def are_built(self, server):
        """Whether the tiers answer by themselves: each hour has an hour's or a minute's step."""
        server.flush(True)
        return all(self.read_of(server, tenant, tier) >= len(self.expected(tenant, length))
                   for tenant in TENANTS for tier, (_, length) in STEPS.items())

    def test_tiers_equal_raw_on_all_nodes_whoever_writes_and_dies(self):
        first, second = self.pair()
        first.start()
        second.start()
        for tenant in TENANTS:
            answer = first.request("PUT", "/api/v1/tenants",
                                   json.dumps({"tenant": tenant, "tiers": {
                                       "minute": "forever", "hour": "forever",
                                       "day": "forever"}}))
            self.assertStatus(answer, 200)
        servers = (first, second)
        # Dense, so that each tier keeps steps and not the points.
        for n, tenant in enumerate(TENANTS):
            for k, server in enumerate(servers):
                self.write(server, tenant, {
                    (source, START + 3 * HOUR + i * SECOND): 7 * i + source + n
                    for source in range(3) for i in range(k, 2 * 3600, 2)})
        for server in servers:
            self.flush_in_time(server)
        self.compare(servers)
        wait_until(lambda: all(self.are_built(server) for server in servers), "all is built",
                   GONE_S)
        self.compare(servers)
        # Late points, and others in the place of those that are there, by the second node, which
        # is killed before it seals anything.
        for tenant in TENANTS:
            self.write(second, tenant, {(source, START + 3 * HOUR + i * 11 * SECOND): -i
                                        for source in range(3) for i in range(1, 100)})
            self.write(second, tenant, {(1, START + 5 * DAY + i * SECOND): i for i in range(200)})
        self.flush_in_time(second)
        second.kill()
        self.compare([first])
        wait_until(lambda: self.are_built(first), "the first has taken over", GONE_S)
        self.compare([first])
        second.start()
        self.compare(servers)

    def begin_two(self):
        """Two nodes, tenants with all tiers, and two hours that both have written, built."""
        servers = tuple(server.start() for server in self.pair())
        for tenant in TENANTS:
            answer = servers[0].request("PUT", "/api/v1/tenants",
                                        json.dumps({"tenant": tenant, "tiers": {
                                            "minute": "forever", "hour": "forever",
                                            "day": "forever"}}))
            self.assertStatus(answer, 200)
            for k, server in enumerate(servers):
                self.write(server, tenant, {
                    (source, START + 3 * HOUR + i * SECOND): 7 * i + source
                    for source in range(3) for i in range(k, 2 * 3600, 2)})
        for server in servers:
            self.flush_in_time(server)
        wait_until(lambda: all(self.are_built(server) for server in servers), "all is built",
                   GONE_S)
        return servers

    def reroll(self, server, tenant, **parameters):
        answer = server.request("POST", "/api/v1/reroll?" + urllib.parse.urlencode(
            {"tenant": tenant} | parameters))
        self.assertStatus(answer, 202)
        number = answer.json()["id"]

        def ended():
            state = server.get("/api/v1/reroll", id=str(number)).json()
            return state if state["state"] != "running" else None
        found = wait_until(ended, "the reroll has ended", GONE_S)
        self.assertEqual(found["state"], "done", found)
        return found

    def counts(self, server, tenant, **parameters):
        """What is not zero of what was found."""
        found = self.reroll(server, tenant, **parameters)
        return {word: n for word, n in (found["units"] | found["refused"]).items() if n}

    PLACE = ("region", "tenant", "source", "bucket", "bucket_s", "split", "measurement", "span",
             "seal", "part")

    def damage_hours(self, server, tenant):
        """Behind everybody's back the hours of one source become those of another one, and those of
        a third are taken away."""
        table = f"{server.settings['cassandra.keyspace']}.blocks_forever"
        rows, = self.cluster.execute(f"SELECT {', '.join(self.PLACE)}, data FROM {table}")
        found = [row for row in rows if row["tenant"] == f"{tenant}/hour"
                 and ast.literal_eval(row["data"])] # cohorts of one source have empty ones
        self.assertEqual(len(found), 3)

        def where(row):
            words = {name: f"'{row[name]}'" for name in ("region", "tenant", "measurement")}
            words |= {name: f"'{row[name]}+0000'" for name in ("bucket", "span")}
            return " AND ".join(f"{name} = {words.get(name, row[name])}" for name in self.PLACE)
        other = ast.literal_eval(found[1]["data"]).hex()
        self.cluster.execute(f"UPDATE {table} SET data = 0x{other} WHERE {where(found[0])}",
                             f"DELETE FROM {table} WHERE {where(found[2])}")

    def test_any_node_rerolls_what_all_have_built(self):
        servers = self.begin_two()
        good = {"same": 3 * (2 + 1 + 1)}

        def are_good(server, tenant):
            return self.counts(server, tenant, dry_run="true") == good
        for server, tenant in zip(servers, TENANTS):
            wait_until(lambda s=server, t=tenant: are_good(s, t), "all is as it should be", GONE_S)
        for k, tenant in enumerate(TENANTS):
            # Found by the one that looks, repaired by the other one, whoever seals the sources.
            self.damage_hours(servers[0], tenant)
            wait_until(lambda s=servers[k], t=tenant: self.counts(
                s, t, tier="hour", dry_run="true") == {"same": 1, "different": 1, "missing": 1},
                "what is wrong is found", GONE_S)
            self.assertEqual(self.reroll(servers[1 - k], tenant)["repaired"], 2)
            for server in servers: # who seals the sources builds once more what was repaired
                wait_until(lambda s=server, t=tenant: are_good(s, t), "all is good again", GONE_S)
        self.compare(servers)

    def put_tiers(self, server, tenant, **tiers):
        return server.request("PUT", "/api/v1/tenants",
                              json.dumps({"tenant": tenant, "tiers": tiers}))

    def test_a_tier_needs_a_class_of_its_retention(self):
        server = self.server().start()
        answer = self.put_tiers(server, "t", hour="700d")
        self.assertStatus(answer, 400, "invalid")
        self.assertIn("cassandra.classes", answer.text)
        self.assertStatus(self.put_tiers(server, "t", minute="30d", hour="365d", day="forever"), 200)
        server.stop()

    def tiers(self, server, tenant):
        tenants = server.get("/api/v1/tenants").json()["tenants"]
        return next(one["tiers"] for one in tenants if one["tenant"] == tenant)

    def test_a_tier_that_is_on_again_has_nothing_of_what_it_was(self):
        servers = self.begin_two()
        for tenant in TENANTS:
            self.assertStatus(self.put_tiers(servers[0], tenant, hour="off"), 200)
            self.write(servers[1], tenant, {(source, START + 3 * HOUR + i * 7 * SECOND): -i
                                            for source in range(3) for i in range(1, 300)})
        for server in servers:
            self.flush_in_time(server)
        for tenant in TENANTS:
            wait_until(lambda t=tenant: "hour" not in self.tiers(servers[1], t),
                       "the other node has heard of that", GONE_S)
            wait_until(lambda t=tenant: self.put_tiers(servers[1], t, hour="forever").status == 200,
                       "it is on again", GONE_S)
            self.flush_in_time(servers[1])
            wait_until(lambda t=tenant: "hour" in self.tiers(servers[0], t),
                       "the other node has heard of that, too", GONE_S)
            self.write(servers[0], tenant, {(source, START + 9 * DAY + i * SECOND): i
                                            for source in range(3) for i in range(600)})

        def begins_anew(server):
            for each in servers:
                each.flush(True)
            return all("hour" in self.tiers(server, tenant) and
                       self.read_of(server, tenant, "hour") >= 3 for tenant in TENANTS)
        wait_until(lambda: begins_anew(servers[0]), "what came since is in hours", GONE_S)
        servers[0].kill().start()
        for server in servers:
            wait_until(lambda s=server: begins_anew(s), "hours answer again", GONE_S)
        self.compare(servers)


if __name__ == "__main__":
    main()
