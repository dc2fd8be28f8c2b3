# SPDX-License-Identifier: Apache-2.0
"""Tenants whose values are rows of Cassandra: what another client sees, and that every query answers
as it does for a tenant with the same points in blocks."""
import json
import random
import re
import time

from cassandra_process import ClusterTest, main
from varve_process import seed_of_this_run

MILLISECOND = 1_000_000
SECOND = 1000 * MILLISECOND
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

COLUMNS = "event_time, nanos, metric, value, value_int"


class RowsTest(ClusterTest):
    CLUSTER = {"nodes": 1}
    REPLICATION = "dc1:1"

    def select(self, server, columns, class_name="forever", table="rows"):
        """Rows of a table as another client of Cassandra reads them."""
        tenant = {"rows": "r", "late": "r/late"}[table]
        rows, = self.cluster.execute(
            f"SELECT {columns} FROM {server.settings['cassandra.keyspace']}.{table}_{class_name} "
            f"WHERE tenant = '{tenant}' ALLOW FILTERING")
        return rows

    def flush(self, server, seal=False):
        self.assertStatus(server.flush(seal), 204)


class TestClients(RowsTest):
    """What the Python driver reads."""

    def test_names_and_values_are_plain(self):
        server = self.server(settings={"cassandra.rows_tenants": "r"}).start()
        start = 1_717_236_000 * SECOND  # 2024-06-01T10:00:00Z
        lines = [f"pump,line=1 temperature=21.5,count=7i {start}",
                 f"pump,line=1 temperature=-0.0,count=-9223372036854775808i {start + 1}",
                 f"pump.house,line=1 inner.temperature=1e300 {start + SECOND + 1_234_567}",
                 f"pump,line=2 temperature=5e-324 {-1}"]
        self.assertStatus(server.write(lines, "r"), 204)
        self.flush(server)
        rows = self.select(server, "source, bucket_s, " + COLUMNS)
        line_1 = {row["source"] for row in rows if row["metric"] == "pump.count"}
        self.assertEqual(len(line_1), 1)
        found = [(row["source"] in line_1, row["event_time"], row["nanos"], row["metric"],
                  repr(row["value"] if row["value"] is not None else row["value_int"]))
                 for row in rows]
        self.assertEqual(sorted(found), sorted([
            (True, "2024-06-01 10:00:00", 0, "pump.temperature", "21.5"),
            (True, "2024-06-01 10:00:00", 0, "pump.count", "7"),
            (True, "2024-06-01 10:00:00", 1, "pump.temperature", "-0.0"),
            (True, "2024-06-01 10:00:00", 1, "pump.count", "-9223372036854775808"),
            (True, "2024-06-01 10:00:01.001000", 234_567, "pump.house.inner.temperature", "1e+300"),
            (False, "1969-12-31 23:59:59.999000", 999_999, "pump.temperature", "5e-324"),
        ]))
        self.assertEqual([row["value"] is None for row in rows],
                         [row["value_int"] is not None for row in rows])
        # Newest first, as whoever looks at a machine wants them.
        times = [(row["event_time"], row["nanos"]) for row in rows if row["source"] in line_1]
        self.assertEqual(times, sorted(times, reverse=True))
        server.stop()

    def test_what_another_client_writes_is_read(self):
        server = self.server(settings={"cassandra.rows_tenants": "r"}).start()
        start = (time.time_ns() // DAY - 1) * DAY
        self.assertStatus(server.write([f"pump v=1,n=1i {start}", f"pump v=9 {start + HOUR}"],
                                       "r"), 204)
        self.flush(server)
        table = f"{server.settings['cassandra.keyspace']}.rows_forever"
        row = self.select(server, "source, bucket, bucket_s, split")[0]
        key = (f"'r', {row['source']}, '{row['bucket']}+0000', {row['bucket_s']}, {row['split']}, "
               f"{start // MILLISECOND + 60_000}, 5")
        columns = "tenant, source, bucket, bucket_s, split, event_time, nanos, metric"
        self.cluster.execute(
            f"INSERT INTO {table} ({columns}, value) VALUES ({key}, 'pump.v', 2.5)",
            f"INSERT INTO {table} ({columns}, value_int) VALUES ({key}, 'pump.n', 4)",
            f"INSERT INTO {table} ({columns}, value) VALUES ({key}, 'pump.unknown', 3)",
            f"INSERT INTO {table} ({columns}) VALUES ({key}, 'pump.without')")
        found = [(metric, at - start, value) for _, metric, at, value in
                 server.rows("r", metric="pump.*", from_=start, to=start + HOUR)]
        self.assertEqual(sorted(found), [("pump.n", 0, "1"), ("pump.n", MINUTE + 5, "4"),
                                         ("pump.v", 0, "1"), ("pump.v", MINUTE + 5, "2.5")])
        server.stop()

    def test_rows_end_with_the_retention(self):
        server = self.server(settings={"cassandra.rows_tenants": "*",
                                       "cassandra.slack": "1h"}).start()
        self.assertStatus(server.set_tenant("r", "10d"), 200)
        now = time.time_ns()
        self.assertStatus(server.write([f"pump v=1 {now}", f"pump v=2 {now - 2 * DAY}"], "r"), 204)
        self.flush(server)
        rows = self.select(server, "bucket, bucket_s, TTL(value) AS ttl, event_time", "30d")
        self.assertEqual(len(rows), 2)
        self.assertEqual(self.select(server, COLUMNS), [])
        for row in rows:
            ttl_max = 10 * 86400 + 3600 + row["bucket_s"]  # the bucket's end, retention, slack
            age = 2 * 86400 if min(rows, key=lambda one: one["event_time"]) is row else 0
            self.assertLessEqual(row["ttl"], ttl_max - age + 1)
            self.assertGreater(row["ttl"], ttl_max - age - row["bucket_s"] - 600)
        server.stop()


class TestQueries(RowsTest):
    """The same points in both layouts."""

    QUERIES = [
        {},
        {"order": "desc"},
        {"order": "desc", "limit": 7},
        {"limit": 11},
        {"step": "1m", "agg": "mean,min,max,count,first,last"},
        {"step": "1h", "agg": "sum,p50,p99"},
        {"step": "10m", "agg": "count", "group_by": "site"},
        {"source": "site=2"},
        {"metric": "*.a"},
        {"metric": "m.x.*"},
    ]

    def points(self, chance, start):
        """Lines of several sources and measurements, of which some replace older ones."""
        lines = []
        for _ in range(400):
            measurement = chance.choice(("m", "m.x", "n"))
            at = start + chance.randrange(3 * 3600) * SECOND + chance.choice((0, 0, 1, 999_999))
            fields = [f"a={chance.choice((0.1, -0.0, 1e300, chance.random()))}",
                      f"b={chance.randrange(-1 << 63, 1 << 63)}i", f"c.d={chance.random()}"]
            some = ",".join(chance.sample(fields, chance.randint(1, 3)))
            lines.append(f"{measurement},site={chance.randrange(4)} {some} {at}")
        return lines

    def compare(self, server, start):
        for query in self.QUERIES:
            for since, until in ((0, 3 * HOUR), (HOUR - 1, HOUR + 1), (90 * MINUTE, 100 * MINUTE),
                                 (-DAY, 2 * DAY)):
                parameters = {"metric": "*", **query, "from_": start + since, "to": start + until,
                              "format": "csv", "time_format": "ns"}
                answers = [server.get("/api/v1/query", tenant=tenant, **parameters)
                           for tenant in ("r", "b")]
                with self.subTest(**parameters):
                    for answer in answers:
                        self.assertStatus(answer, 200)
                        self.assertNotRegex(answer.text, r"(?m)^# error")
                    self.assertEqual(*(re.sub(r"(?m)^#.*\n", "", answer.text)
                                       for answer in answers))
        self.assertEqual(*(server.get("/api/v1/latest", tenant=tenant, metric="*", format="csv",
                                      time_format="ns").text for tenant in ("r", "b")))

    def test_answers_are_those_of_blocks(self):
        chance = random.Random(seed_of_this_run())
        server = self.server(settings={"cassandra.rows_tenants": "r", "partition.bucket": "2h",
                                       "partition.span": "30m", "seal.lateness": "1s",
                                       "seal.quiet": "0s"}).start()
        start = time.time_ns() // DAY * DAY - 40 * DAY
        for turn in range(4):
            lines = self.points(chance, start)
            for tenant in ("r", "b"):
                self.assertStatus(server.write(lines, tenant), 204)
            if turn < 3:  # the last ones are only in memory
                self.flush(server, seal=turn == 1)
            self.compare(server, start)
            if turn == 2:
                server.kill().start()
                self.compare(server, start)
        self.assertGreater(len(self.select(server, "metric")), 1000)
        server.stop()

    def test_late_points_are_apart_from_rows_and_answers_are_those_of_blocks(self):
        chance = random.Random(seed_of_this_run())
        server = self.server(settings={"cassandra.rows_tenants": "r", "partition.bucket": "2h",
                                       "partition.span": "30m", "seal.lateness": "1s",
                                       "seal.quiet": "0s", "late.fold_every": "7d"}).start()
        start = time.time_ns() // DAY * DAY - 40 * DAY
        lines = self.points(chance, start)
        for tenant in ("r", "b"):
            self.assertStatus(server.write(lines, tenant), 204)
        self.flush(server)
        in_time = sorted(map(str, self.select(server, COLUMNS)))
        self.assertStatus(server.request("PUT", "/api/v1/tenants", json.dumps(
            {"tenant": "r", "late": "separate", "late_limit": "1d"})), 200)
        for turn in range(3):  # some replace rows, some what came late before
            lines = self.points(chance, start)
            for tenant in ("r", "b"):
                self.assertStatus(server.write(lines, tenant), 204)
            self.flush(server, seal=turn == 1)
            self.compare(server, start)
            self.assertEqual(sorted(map(str, self.select(server, COLUMNS))), in_time)
            blocks = self.select(server, "span", table="late")
            self.assertEqual(len(blocks) > 0, turn > 0, "blocks of late points")
        for tenant in ("r", "b"):
            self.assertStatus(server.request("POST", "/api/v1/delete", json.dumps(
                {"tenant": tenant, "metric": "m.a", "from": str(start + 20 * MINUTE),
                 "to": str(start + 100 * MINUTE)})), 200)
        self.compare(server, start)
        server.kill().start()
        self.compare(server, start)
        now = time.time_ns()
        for tenant in ("r", "b"):
            self.assertStatus(server.write(f"m,site=1 a=0.5 {now}", tenant), 204)
        self.flush(server, seal=True)
        self.compare(server, start)
        self.compare(server, now)
        self.assertIn("m.a", [row["metric"] for row in self.select(server, COLUMNS)
                              if row["event_time"] >= time.strftime("%Y", time.gmtime(now // SECOND))])
        server.stop()

    def test_the_layout_may_change(self):
        chance = random.Random(seed_of_this_run())
        settings = {"partition.bucket": "2h", "partition.span": "30m", "seal.lateness": "1s", "seal.quiet": "0s"}
        server = self.server(settings=settings)
        start = time.time_ns() // DAY * DAY - 40 * DAY
        counts = []
        first = [f"m,source=first v=1 {start}"]
        for turn, tenants in enumerate(("", "r", "", " x , r", "x,*")):
            server.settings["cassandra.rows_tenants"] = tenants.replace("*", "r")
            server.start()
            for tenant in ("r", "b"):  # with the first flush the change is told, then it holds
                self.assertStatus(server.write(first, tenant), 204)
            self.flush(server, seal=False)
            lines = self.points(chance, start) + first
            for tenant in ("r", "b"):
                self.assertStatus(server.write(lines, tenant), 204)
            self.flush(server, seal=turn % 2 == 0)
            self.compare(server, start)
            counts.append(len(self.select(server, "metric")))
            server.kill() if turn % 2 else server.stop()
        self.assertTrue(counts[0] == 0 < counts[1] == counts[2] < counts[3] < counts[4], counts)
        server.start()
        self.compare(server, start)
        server.stop()


if __name__ == "__main__":
    main()
