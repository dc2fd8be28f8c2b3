# SPDX-License-Identifier: Apache-2.0
"""Late points that are kept apart where two nodes of Varve share a cluster: what one takes is in
the answers of both, in tables of its own, and folded by whoever lives; spans that were sealed in
time are not written again."""
import json
import time

from cassandra_process import ClusterTest, main
from varve_process import wait_until

SECOND = 10**9
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
HOSTS = 6  # they belong to several shards
SETTINGS = {
    "seal.lateness": "1s",
    "seal.quiet": "0s",
    "seal.spread": "1s",
    "seal.interval": "200ms",
    "head.flush_age": "1h",
    "fleet.beat": "300ms",
    "fleet.poll": "200ms",
    "fleet.gone_after": "5s",
    "late.fold_at": "0s",
}


class LatePoints(ClusterTest):
    CLUSTER = {"nodes": 1}
    REPLICATION = "dc1:1"

    def begin(self, fold_every, rows=""):
        """Of each host an hour of a day ago is stored; late points are kept apart from then on."""
        settings = {**self.store(), **SETTINGS, "late.fold_every": fold_every,
                    "cassandra.rows_tenants": rows}
        first, second = [self.server(name, settings).start() for name in ("first", "second")]
        self.put(first, tiers={"minute": "forever", "hour": "forever", "day": "forever"})
        self.start = (time.time_ns() - 26 * HOUR) // HOUR * HOUR
        self.write(first, [(i, self.start + i * MINUTE) for i in range(60)])
        self.assertTrue(self.flush(first))
        self.put(first, late="separate", late_limit="1h")
        self.assertTrue(self.flush(first))  # which tells it
        wait_until(lambda: "separate" in second.get("/api/v1/tenants").text, "the other one knows")
        wait_until(lambda: self.flush(first, second) and
                   (rows or len(self.stored(first, "blocks")) == HOSTS), "all is sealed")
        self.wait_for(HOSTS * 60, first, second)
        return first, second

    def put(self, server, **wishes):
        self.assertStatus(server.request("PUT", "/api/v1/tenants",
                                         json.dumps({"tenant": "plant", **wishes})), 200)

    def write(self, server, points):
        lines = [f"m,host=h{host} v={value} {at}" for host in range(HOSTS) for value, at in points]
        self.assertStatus(server.write(lines, "plant"), 204)

    def flush(self, *servers, seal=True):
        return all([server.flush(seal=seal).status == 204 for server in servers])

    def points(self, server):
        answer = server.get("/api/v1/query", tenant="plant", metric="m.v", format="csv")
        lines = [line for line in answer.text.splitlines() if line and line[0] != "#"]
        return len(lines) - 1 if answer.status == 200 else None

    def facts(self, server):
        answer = server.get("/api/v1/query", tenant="plant", metric="m.v")
        self.assertStatus(answer, 200)
        return answer.json()["facts"]

    def wholes(self, server, tier=None):
        """How many points all hours have; by records of the tier alone, if one is named."""
        answer = server.get("/api/v1/query", tenant="plant", metric="m.v", agg="count", step="1h",
                            format="csv", **({"tier": tier} if tier else {}))
        if answer.status != 200:
            return None
        lines = [line for line in answer.text.splitlines() if line and line[0] != "#"]
        return sum(int(line.rsplit(",", 1)[1]) for line in lines[1:])

    def stored(self, server, kind):
        """What the tables of a kind have of raw points: {(tenant, source, span, seal)}, of rows
        {(tenant, source, time, value)}."""
        columns = (("tenant", "source", "event_time", "value") if kind == "rows" else
                   ("tenant", "source", "span", "seal"))
        rows, = self.cluster.execute(f"SELECT {', '.join(columns)} FROM "
                                     f"{server.settings['cassandra.keyspace']}.{kind}_forever")
        return {tuple(row[column] for column in columns) for row in rows
                if row["tenant"] in ("plant", "plant/late")}

    def wait_for(self, expected, *servers):
        for server in servers:
            wait_until(lambda each=server: self.points(each) == expected, f"{expected} points")
            wait_until(lambda each=server: self.wholes(each) == expected, "the same by hours")

    def test_they_are_in_tables_of_their_own_and_in_the_answers_of_both(self):
        first, second = self.begin("7d")
        in_time = self.stored(first, "blocks")
        self.assertEqual({name for name, _, _, _ in in_time}, {"plant"})
        late = self.start + 30 * SECOND
        self.write(second, [(1000, late), (1001, late + 3 * MINUTE)])
        self.assertTrue(self.flush(second, seal=False))
        expected = HOSTS * 62
        self.wait_for(expected, first, second)
        self.assertGreater(self.facts(first).get("late_outstanding", 0), 0)
        self.assertEqual(self.stored(first, "late"), set())

        def is_folded():
            self.flush(first, second)
            return self.facts(first).get("late_outstanding", 0) == 0
        wait_until(is_folded, "they are folded")
        self.wait_for(expected, first, second)
        self.assertEqual({name for name, _, _, _ in self.stored(first, "late")}, {"plant/late"})
        self.assertEqual(len(self.stored(first, "late")), HOSTS)
        self.assertEqual(self.stored(first, "blocks"), in_time,
                         "what was sealed in time was written again")
        answer = first.request("POST", "/api/v1/delete", json.dumps(
            {"tenant": "plant", "metric": "m.v", "from": str(late), "to": str(late + 1)}))
        self.assertStatus(answer, 200)
        self.wait_for(expected - HOSTS, first, second)

        def is_removed():
            self.flush(first, second)
            return sum(each.metrics().sum("varve_deletion_values_removed_total")
                       for each in (first, second)) == HOSTS
        wait_until(is_removed, "what is deleted is out of the blocks")
        self.wait_for(expected - HOSTS, first, second)
        for server in (first, second):
            server.stop()

    def test_where_values_are_rows_they_are_in_the_same_tables_and_no_rows(self):
        first, second = self.begin("7d", rows="plant")
        in_time = self.stored(first, "rows")
        self.assertEqual(len(in_time), HOSTS * 60)
        self.write(second, [(1000, self.start + 30 * SECOND), (1001, self.start)])
        self.assertTrue(self.flush(second, seal=False))
        second.kill()
        self.wait_for(HOSTS * 61, first)
        self.assertGreater(self.facts(first)["late_outstanding"], 0)

        def is_folded():
            self.flush(first)
            return self.facts(first).get("late_outstanding", 0) == 0
        wait_until(is_folded, "they are folded by the other node")
        self.wait_for(HOSTS * 61, first)
        self.assertEqual({name for name, _, _, _ in self.stored(first, "late")}, {"plant/late"})
        self.assertEqual(self.stored(first, "rows"), in_time)
        self.assertEqual(self.stored(first, "blocks"), set())
        second.start()
        answer = second.request("POST", "/api/v1/delete", json.dumps(
            {"tenant": "plant", "metric": "m.v", "from": str(self.start),
             "to": str(self.start + MINUTE)}))
        self.assertStatus(answer, 200)
        self.wait_for(HOSTS * 59, second)
        wait_until(lambda: self.flush(first, second) and
                   len(self.stored(first, "rows")) == HOSTS * 59, "the rows are removed")
        wait_until(lambda: self.flush(first, second) and
                   sum(each.metrics().sum("varve_deletion_values_removed_total")
                       for each in (first, second)) == HOSTS * 2,
                   "what is deleted is out of the blocks of late points")
        self.wait_for(HOSTS * 59, first, second)
        for server in (first, second):
            server.stop()

    def test_they_are_folded_when_the_node_that_took_them_is_killed(self):
        first, second = self.begin("2s")
        self.write(second, [(1000, self.start + 30 * SECOND)])
        self.assertTrue(self.flush(second, seal=False))
        second.kill()
        self.wait_for(HOSTS * 61, first)
        wait_until(lambda: self.facts(first).get("late_outstanding", 0) == 0, "they are folded")
        self.wait_for(HOSTS * 61, first)
        second.start()
        self.wait_for(HOSTS * 61, second)
        for server in (first, second):
            server.stop()


if __name__ == "__main__":
    main()
