# SPDX-License-Identifier: Apache-2.0
"""Purging by copying while one of three hosts of Cassandra is away: all is copied, and what is
written meanwhile goes on; what needs every host, truncating, waits for it. Then nothing is gone."""
import random
import time

from cassandra_process import ClusterTest, main
from expectation import MINUTE, SECOND
from varve_process import seed_of_this_run, wait_until

CLASS = "forever"  # the only one: one is purged at a time
POINTS = 60  # of a source at a time


class PurgeWithoutAHost(ClusterTest):
    CLUSTER = {"nodes": 3}
    KILLS_HOSTS = True
    REPLICATION = "dc1:3"
    STORE = {"cassandra.classes": "", "cassandra.purge_every": "30d",
             "cassandra.request_timeout": "2s", "query.time_max": "3s", "fleet.poll": "200ms",
             "fleet.beat": "200ms", "fleet.gone_after": "5s"}
    SETTINGS = {"partition.bucket": "5m", "partition.span": "5m", "seal.lateness": "1s",
                "seal.quiet": "0s", "seal.spread": "1s", "seal.interval": "200ms",
                "retention.interval": "1s"}

    def setUp(self):
        super().setUp()
        self.sources = 0
        self.begin = (time.time_ns() // MINUTE - 20) * MINUTE

    def write_sources(self, server, n):
        """Points of sources that nobody has written before."""
        for source in range(self.sources, self.sources + n):
            lines = [f"m,source={source} v={i} {self.begin + i * SECOND}" for i in range(POINTS)]
            self.assertStatus(server.write(lines), 204)
        self.sources += n

    def seal(self, servers):
        for server in servers:
            wait_until(lambda each=server: each.flush(seal=True).status == 204, "all is sealed")

    def purge(self, server):
        """As soon as it can be told: a host that was killed is waited for until it is known to be down."""
        def ask():
            answer = server.get("/api/v1/purge")
            return answer if answer.status == 200 else None
        answer = wait_until(ask, "how far the purge is")
        found, = [purge for purge in answer.json()["purges"] if purge["class"] == CLASS]
        return found

    def sources_in(self, table):
        rows, = self.cluster.execute(f"SELECT source FROM {self.keyspace}.{table}")
        return len({row["source"] for row in rows})

    def check_points(self, servers):
        for server in servers:
            wait_until(lambda each=server: len(each.rows()) == self.sources * POINTS,
                       f"{self.sources * POINTS} points")

    def test_all_lives_though_a_host_is_away_in_a_purge(self):
        chance = random.Random(seed_of_this_run())
        first = self.server("first").start()
        self.keyspace = first.settings["cassandra.keyspace"]
        second = self.server("second", {"cassandra.keyspace": self.keyspace}).start()
        servers = (first, second)
        self.write_sources(first, 20)
        self.write_sources(second, 20)
        wait_until(lambda: self.seal(servers) or self.sources_in(f"blocks_{CLASS}") == 40,
                   "40 sources are in blocks")

        victim = chance.choice(self.cluster.nodes)
        victim.kill()
        self.assertStatus(second.request("POST", "/api/v1/purge"), 202)
        wait_until(lambda: self.purge(second)["state"] != "idle", "it begins")
        self.write_sources(first, 10)
        wait_until(lambda: self.purge(second)["state"] == "dropping", "it would truncate", 240)
        self.write_sources(second, 10)
        self.seal(servers)
        self.check_points(servers)
        self.assertGreaterEqual(self.sources_in(f"blocks_{CLASS}"), 40)
        self.assertGreaterEqual(self.sources_in(f"blocks_{CLASS}_2"), 40)

        victim.launch()
        self.cluster.wait_until_up(victim)
        wait_until(lambda: self.purge(first)["state"] == "idle", "the purge ends", 240)
        self.assertEqual(self.purge(first)["number"], 1)
        self.assertEqual(self.sources_in(f"blocks_{CLASS}"), 0)
        self.write_sources(second, 5)
        self.seal(servers)
        self.check_points(servers)
        for server in servers:
            server.stop()


if __name__ == "__main__":
    main()
