# SPDX-License-Identifier: Apache-2.0
"""Two regions of Varve, each in a data centre with a keyspace of its own: each answers with what
both took; one that is cut off goes on with all it does; afterwards both have everything."""
import time

from cassandra_process import SYNCED, ClusterTest, main
from expectation import SECOND
from varve_process import in_time, wait_until

START = 1767225600 * SECOND  # 2026-01-01
MINUTE = 60 * SECOND

# Where each region's keyspace has its copies. Nobody runs region three; dc2 has no copy of it.
REPLICATION = {"one": "dc1:1,dc2:1", "two": "dc2:1,dc1:1", "three": "dc1:1"}
DATACENTER = {"one": "dc1", "two": "dc2", "three": "dc1"}


class Regions(ClusterTest):
    CLUSTER = {"datacenters": {"dc1": 1, "dc2": 1}, "options": SYNCED}
    SETTINGS = {"head.flush_age": "1s", "partition.bucket": "1h", "partition.span": "10m",
                "seal.lateness": "1s", "seal.quiet": "0s", "seal.spread": "1s",
                "seal.interval": "200ms", "fleet.beat": "500ms", "fleet.poll": "200ms",
                "fleet.gone_after": "10s",
                "query.time_max": "5s"}

    def setUp(self):
        super().setUp()
        self.near, = self.cluster.in_datacenter("dc1")
        self.far, = self.cluster.in_datacenter("dc2")
        self.expected = {}
        self.addCleanup(self.bring_back)

    def bring_back(self):
        if self.near.paused:
            self.near.resume()

    # ---- servers

    def settings_of(self, region):
        node, = self.cluster.in_datacenter(DATACENTER[region])
        return {**self.SETTINGS, "store.kind": "cassandra", "cassandra.classes": "30d",
                "cassandra.keyspace": "varve_{region}", "cassandra.regions": "one,two,three",
                "cassandra.region": region, "cassandra.replication": REPLICATION[region],
                "cassandra.local_datacenter": DATACENTER[region],
                "cassandra.contact_points": node.contact_point}

    def start(self, name, region):
        settings = self.settings_of(region)
        return super(ClusterTest, self).server(name, settings).start()

    # ---- what is written and read

    def write(self, server, source, minutes, value):
        """A point a minute; the later write of a point counts."""
        points = {START + i * MINUTE: value + i for i in minutes}
        lines = [f"m,host={source} v={number} {at}" for at, number in points.items()]
        self.assertStatus(server.write(lines, tenant="t"), 204)
        for at, number in points.items():
            self.expected[(f"host={source}", "m.v", at)] = number

    def found(self, server, **parameters):
        return {(source, metric, at): float(value) for source, metric, at, value in
                server.rows("t", metric="*", limit=100000, **parameters)}

    def flush(self, *servers):
        for server in servers:
            wait_until(lambda each=server: each.flush(seal=True).status == 204, "it is flushed")

    def assertAllHave(self, servers, what):
        for server in servers:
            def has_all(each=server):
                return self.found(each) == self.expected
            try:
                wait_until(has_all, what, 60)
            except TimeoutError:
                self.assertEqual(self.found(server), self.expected, what)

    # ---- what is said

    def nodes(self, server):
        """Of each node its region and state; states of regions."""
        answer = server.get("/api/v1/nodes").json()
        nodes = {each["node"]: (each["region"], each["state"]) for each in answer["nodes"]}
        self.assertEqual(len(nodes), len(answer["nodes"]), answer)  # no number is there twice
        return nodes, {each["region"]: each["state"] for each in answer["regions"]}

    def facts(self, server):
        answer = in_time(lambda: server.get("/api/v1/query", tenant="t", metric="*", limit=1))
        return answer.json()["facts"]

    def regions_in_answer(self, server):
        return {each["name"]: each for each in self.facts(server)["regions"]}

    # ---- the test

    def test_a_region_cut_off_goes_on_and_both_have_all_in_the_end(self):
        began = time.monotonic()
        for region in REPLICATION:
            self.make_tables(self.settings_of(region))
        print(f"tables: {time.monotonic() - began:.0f} s", flush=True)
        one, two = self.start("one", "one"), self.start("two", "two")
        self.together(one, two)
        print(f"together: {time.monotonic() - began:.0f} s", flush=True)
        self.cut_off(one, two)
        print(f"cut off: {time.monotonic() - began:.0f} s", flush=True)
        self.again(one, two)
        print(f"again: {time.monotonic() - began:.0f} s", flush=True)
        for server in (one, two):
            server.stop()

    def together(self, one, two):
        self.write(one, "a", range(30), 100)
        self.write(two, "b", range(30), 200)
        self.write(one, "both", range(0, 40), 300)
        self.write(two, "both", range(20, 60), 400)
        self.flush(one, two)
        self.assertAllHave([one, two], "both have what both took")
        wait_until(lambda: len(self.nodes(one)[0]) == 2 and len(self.nodes(two)[0]) == 2,
                   "they hear of each other")
        for server in (one, two):
            self.assertEqual(self.nodes(server)[0], {1: ("one", "live"), 2: ("two", "live")})
        self.assertEqual(self.nodes(one)[1],
                         {"one": "readable", "two": "readable", "three": "readable"})
        self.assertEqual(self.nodes(two)[1],
                         {"two": "readable", "one": "readable", "three": "absent"})
        said = self.regions_in_answer(two)
        self.assertEqual({name: each["state"] for name, each in said.items()},
                         {"one": "readable", "three": "absent"})
        self.assertIn("heard_until", said["one"])

    def cut_off(self, one, two):
        self.near.pause()
        self.cluster.wait_until_down(self.near)
        seals = two.metrics().sum("varve_seals_total")
        self.write(two, "b", range(30, 60), 500)
        self.write(two, "both", range(50, 70), 600)
        self.write(two, "new", range(50), 700)  # whose plan is agreed on in this region alone
        self.write(one, "late", range(10), 800)  # in its journal
        late = {key for key in self.expected if key[0] == "host=late"}
        self.flush(two)
        wait_until(lambda: two.metrics().sum("varve_seals_total") > seals, "it seals")
        self.assertEqual(self.found(two), {key: value for key, value in self.expected.items()
                                           if key not in late})
        wait_until(lambda: self.nodes(two)[0][1] == ("one", "gone"), "the other region is gone")
        self.assertIn("heard_until", self.regions_in_answer(two)["one"])
        self.assertStatus(two.get("/ready"), 200)
        two.kill().start()  # it needs the other one for nothing
        self.write(two, "newer", range(10), 900)
        self.flush(two)
        self.assertEqual(two.metrics().sum("varve_flush_failures_total"), 0)

    def again(self, one, two):
        self.near.resume()
        self.cluster.wait_until_up(self.near)
        self.flush(one, two)
        self.assertAllHave([one, two], "both have all")
        third, fourth = self.start("third", "one"), self.start("fourth", "two")
        everyone = [one, two, third, fourth]
        wait_until(lambda: all(len(self.nodes(each)[0]) == 4 for each in everyone),
                   "all hear of each other")
        for server in everyone:
            self.assertEqual({number: region for number, (region, _) in
                              self.nodes(server)[0].items()},
                             {1: "one", 2: "two", 9: "one", 10: "two"})
        self.assertAllHave(everyone, "new ones have all as well")
        for server in (third, fourth):
            server.stop()


if __name__ == "__main__":
    main()
