# SPDX-License-Identifier: Apache-2.0
"""Purging by copying on a real Cassandra: two nodes of Varve, one of them is killed in the middle of
it, and both are written all the time. What lives is there, what is over is gone, and so are the
SSTables that it lay in. Hours pass at once: all read the test's clock, as in test_expiry."""
import test_expiry
from cassandra_process import main
from expectation import MINUTE, SECOND
from varve_process import Threads, wait_until

CLASSES = ("1h", "forever")


class Purge(test_expiry.Expiry):
    STORE = {"cassandra.classes": "1h", "cassandra.purge_every": "30d",
             "cassandra.request_timeout": "2s", "query.time_max": "1s", "fleet.poll": "200ms",
             "fleet.beat": "200ms", "fleet.gone_after": "5s"}
    SETTINGS = {**test_expiry.Expiry.SETTINGS, "retention.interval": "1s"}

    test_expired_windows_go_as_whole_sstables = None  # there are none here

    # ---- data

    def points(self, tenant, begin, n, source):
        return [f"m,source={source} v={number} {begin + number * SECOND}" for number in range(n)]

    def write_some(self, server, begin, source):
        """60 s of points of both tenants; how many each has got."""
        for tenant in ("short", "long"):
            self.assertStatus(server.write(self.points(tenant, begin, 60, source), tenant), 204)
        return 60

    def settle(self, server):
        self.flush_in_time(server, seal=True)
        self.node.nodetool("flush", self.keyspace)

    # ---- purges

    def purges(self, server):
        answer = server.get("/api/v1/purge")
        self.assertStatus(answer, 200)
        return {purge["class"]: purge for purge in answer.json()["purges"]}

    def wait_purged(self, server, number):
        """Until all classes have had so many."""
        def is_over():
            purges = self.purges(server)
            return all(purges[name]["number"] == number and purges[name]["state"] == "idle"
                       for name in CLASSES)
        wait_until(is_over, f"purge {number} of all classes ends", 300)

    def rows_in(self, table):
        (row,), = self.cluster.execute(f"SELECT COUNT(*) AS n FROM {self.keyspace}.{table}")
        return row["n"]

    def sources_in(self, table):
        rows, = self.cluster.execute(f"SELECT source FROM {self.keyspace}.{table}")
        return len({row["source"] for row in rows})

    def wait_sealed(self, servers, which, short, long):
        """Until so many sources of the tenants are in blocks: whoever owns their shards seals."""
        def is_sealed():
            for server in servers:
                self.settle(server)
            return (self.sources_in(f"blocks_1h{which}") == short
                    and self.sources_in(f"blocks_forever{which}") == long)
        wait_until(is_sealed, f"{short} and {long} sources are in blocks")

    def assertEmpty(self, table):
        self.assertEqual(self.rows_in(table), 0, table)
        self.assertEqual(self.files(table), {}, table)

    # ---- the test

    def test_what_lives_is_copied_and_what_is_over_is_gone(self):
        self.node, = self.cluster.nodes
        first = self.server("first", faults=self.world).start()
        self.keyspace = first.settings["cassandra.keyspace"]
        second = self.server("second", {"cassandra.keyspace": self.keyspace},
                             faults=self.world).start()
        for tenant, retention in (("short", "1h"), ("long", "forever")):
            self.assertStatus(first.set_tenant(tenant, retention), 200)
        begin = (self.now() // (10 * MINUTE)) * 10 * MINUTE
        self.write_some(first, begin, 1)
        self.wait_sealed((first, second), "", 1, 1)
        self.pass_until(begin + test_expiry.LIFE + 20 * MINUTE)
        self.assertGreater(self.rows_in("blocks_1h"), 0, "blocks have no TTL")

        young = self.now() // MINUTE * MINUTE
        self.write_some(second, young, 2)
        self.wait_sealed((first, second), "", 2, 2)
        self.assertStatus(second.request("POST", "/api/v1/purge"), 202)
        written = self.purge_beside_writers(first, second, young)
        self.wait_purged(first, 1)
        self.check_points((first, second), written)
        for name in CLASSES:
            self.assertEmpty(f"blocks_{name}")
        self.wait_sealed((first, second), "_2", 3, 4)  # source 1 of the short one is over

        first.stop()
        second.stop()

    def purge_beside_writers(self, first, second, begin):
        """Writes to both; the first one is killed when ranges are being copied."""
        counts = {3: 0, 4: 0}

        def write(server, source):
            begun = begin + counts[source] * SECOND
            if server.is_running() and server.address:
                self.write_some(server, begun, source)
                counts[source] += 60

        write(first, 3)
        write(second, 4)
        wait_until(lambda: any(purge["state"] in ("moving", "copying", "waiting")
                               for purge in self.purges(second).values()), "a purge is under way")
        first.kill()
        for _ in range(3):
            write(second, 4)
            self.flush_in_time(second, seal=True)
        first.start()
        for _ in range(3):
            write(first, 3)
            self.flush_in_time(first, seal=True)
        return {2: 60, **counts}

    def check_points(self, servers, written):
        """All of the long one; of the short one all but the source that is over."""
        young = sum(written.values())
        for server in servers:
            for tenant, expected in (("short", young), ("long", young + 60)):
                wait_until(lambda n=expected, name=tenant, each=server: len(each.rows(name)) == n,
                           f"{expected} points of {tenant}")


if __name__ == "__main__":
    main()
