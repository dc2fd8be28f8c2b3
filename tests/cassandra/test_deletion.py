# SPDX-License-Identifier: Apache-2.0
"""Deleting where two nodes of Varve share a cluster, in both layouts: what one deletes the other
hides as soon as it has heard of it; it stays away whatever is flushed or sealed later, by whom; its
bytes go, also when the node that deleted is killed; no client of Cassandra sees it in rows."""
import json

from cassandra_process import ClusterTest, main
from varve_process import wait_until

SECOND = 10**9
START = 1_767_225_600 * SECOND  # 2026-01-01
SETTINGS = {
    "partition.bucket": "1h",
    "partition.span": "1h",
    "seal.lateness": "1s",
    "seal.quiet": "0s",
    "seal.spread": "1s",
    "seal.interval": "200ms",
    "head.flush_age": "1h",
    "fleet.beat": "300ms",
    "fleet.poll": "200ms",
    "fleet.gone_after": "5s",
    "deletion.takeover": "2s",
    "cassandra.rows_tenants": "rows",
}
TENANTS = ("blocks", "rows")
MINUTES = 120
HOSTS = 3


class Deletion(ClusterTest):
    CLUSTER = {"nodes": 1}
    REPLICATION = "dc1:1"

    def pair(self):
        settings = {**self.store(), **SETTINGS}
        return [self.server(name, settings).start() for name in ("first", "second")]

    def write(self, server, value, hosts=HOSTS):
        for tenant in TENANTS:
            lines = [f"m,host=h{host} v={value},w={value} {START + i * 60 * SECOND}"
                     for host in range(hosts) for i in range(MINUTES)]
            self.assertStatus(server.write(lines, tenant), 204)

    def delete(self, server, **parameters):
        for tenant in TENANTS:
            answer = server.request("POST", "/api/v1/delete",
                                    json.dumps({"tenant": tenant, "time": "all", **parameters}),
                                    {"Content-Type": "application/json"})
            self.assertStatus(answer, 200)

    def flush(self, *servers, seal=False):
        for server in servers:
            wait_until(lambda each=server: each.flush(seal=seal).status == 204, "it is flushed")

    def count(self, server, tenant, metric="m.*"):
        answer = server.get("/api/v1/query", tenant=tenant, metric=metric, format="csv",
                            time_format="ns", from_="2025-12-31", to="2026-01-03")
        if answer.status == 404:
            return 0
        lines = [line for line in answer.text.splitlines() if line and line[0] != "#"]
        return len(lines) - 1 if answer.status == 200 else None

    def wait_for(self, server, expected, **parameters):
        for tenant in TENANTS:
            wait_until(lambda each=tenant: self.count(server, each, **parameters) == expected,
                       f"{expected} points of {tenant}")

    def select(self, server, table, columns):
        rows, = self.cluster.execute(
            f"SELECT {columns} FROM {server.settings['cassandra.keyspace']}.{table}")
        return rows

    def cells(self, server, metric=None):
        """Values that another client of Cassandra sees."""
        return sum(1 for row in self.select(server, "rows_forever", "metric")
                   if metric is None or row["metric"] == metric)

    def block_parts(self, server):
        return sum(row["parts"] or 0 for row in self.select(server, "blocks_forever", "parts"))

    def removed(self, *servers):
        return sum(each.metrics().sum("varve_deletion_values_removed_total") for each in servers)

    def test_what_one_deletes_the_other_hides_and_its_bytes_go(self):
        first, second = self.pair()
        self.write(first, 1)
        self.flush(first, seal=True)
        everything = HOSTS * MINUTES * 2
        self.wait_for(second, everything)
        self.delete(first, metric="m.v", tag="host=h0")
        self.wait_for(first, everything - MINUTES)
        self.wait_for(second, everything - MINUTES)
        self.delete(second, tag="host=h1")
        self.wait_for(first, everything - 3 * MINUTES)
        wait_until(lambda: self.cells(first) == everything - 3 * MINUTES,
                   "rows that are deleted are gone for any client")

        def is_removed():
            self.flush(first, second, seal=True)
            return self.removed(first, second) == 3 * MINUTES
        wait_until(is_removed, "what is deleted is out of the blocks")
        self.write(second, 2, hosts=1)  # afterwards: it stays
        self.flush(second, seal=True)
        for server in (first, second):
            self.wait_for(server, everything - 2 * MINUTES)
        self.assertEqual(self.cells(first), everything - 2 * MINUTES)
        for server in (first, second):
            server.stop()

    def test_others_see_to_it_when_the_node_that_deleted_is_killed(self):
        first, second = self.pair()
        self.write(first, 1)
        self.flush(first, seal=True)
        self.wait_for(second, HOSTS * MINUTES * 2)
        self.assertGreater(self.block_parts(first), 0)
        self.delete(first, all=True)
        wait_until(lambda: not any(self.count(second, tenant) for tenant in TENANTS),
                   "the second one has heard of it")
        first.kill()

        def is_gone():
            self.flush(second, seal=True)
            return self.block_parts(second) == 0
        wait_until(lambda: self.cells(second) == 0, "the rows are gone")
        wait_until(is_gone, "the blocks are gone, too")
        first.start()
        self.wait_for(first, 0)
        self.flush(first, second, seal=True)
        self.wait_for(second, 0)
        for server in (first, second):
            server.stop()

    def test_a_journal_of_old_points_brings_nothing_back(self):
        first, second = self.pair()
        self.write(second, 1)
        self.flush(second, seal=True)
        everything = HOSTS * MINUTES * 2
        self.wait_for(first, everything)
        self.write(first, 2)  # in its journal only
        first.kill()
        self.delete(second, metric="m.v")
        self.wait_for(second, everything // 2)
        wait_until(lambda: self.cells(second, "m.v") == 0, "the rows are gone")
        first.start()
        self.flush(first, second, seal=True)
        for server in (first, second):
            self.wait_for(server, everything // 2)
            self.wait_for(server, 0, metric="m.v")
        wait_until(lambda: self.cells(second, "m.v") == 0, "they stay away")
        self.assertEqual(self.cells(second), everything // 2)
        self.flush(first, second, seal=True)
        second.kill()
        self.wait_for(first, 0, metric="m.v")
        second.start()
        self.wait_for(second, 0, metric="m.v")
        for server in (first, second):
            server.stop()


if __name__ == "__main__":
    main()
