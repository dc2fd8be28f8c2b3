# SPDX-License-Identifier: Apache-2.0
"""Frozen days on a real Cassandra: of days whose points have expired the tiers are made of what any
of two nodes is given, by a request or by `varve backfill --replace-frozen`, also when it is killed."""
import csv
import io
import random
import subprocess
import time

from cassandra_process import QUICK_TIERS, ClusterTest, main
from varve_process import PROGRAM, in_time, wait_until

SECOND = 10**9
DAY = 86400 * SECOND
LENGTHS = {"1m": 60 * SECOND, "1h": 3600 * SECOND, "1d": DAY}
PATIENCE_S = 120


class TestReplace(ClusterTest):
    CLUSTER = {"nodes": 1}
    REPLICATION = "dc1:1"
    STORE = {"cassandra.classes": "30d,365d"}
    SETTINGS = {**QUICK_TIERS, "retention.raw": "7d", "tiers.default": "true"}

    def setUp(self):
        super().setUp()
        self.start = (time.time_ns() // DAY - 20) * DAY
        self.chance = random.Random(5)

    def begin(self):
        """Two nodes, a tenant that has points of today, and so tiers."""
        servers = tuple(server.start() for server in self.pair())
        for number, server in enumerate(servers): # names get other numbers on each
            self.assertStatus(server.write(
                [f"n{number},source=z{number} u{number}=1i,v=2i {time.time_ns()}"]), 204)
            self.flush_in_time(server)
        wait_until(lambda: all(self.frozen_until(server) >= self.start + 5 * DAY
                               for server in servers), "days are frozen", PATIENCE_S)
        return servers

    def frozen_until(self, server):
        return in_time(lambda: server.get("/api/v1/replace")).json().get("frozen_until_ns") or 0

    def points(self, days, sources="abc", step=97 * SECOND):
        """{(source, metric, time): value}"""
        return {(source, metric, at + self.chance.randrange(step)): self.chance.randrange(1000)
                for day in days for source in sources for metric in ("v", "w")
                for at in range(self.start + day * DAY, self.start + (day + 1) * DAY - step, step)}

    @staticmethod
    def lines(points):
        return [f"m,source={source} {metric}={value}i {at}"
                for (source, metric, at), value in points.items()]

    def replace(self, server, points):
        return server.request("POST", "/api/v1/replace?tenant=default",
                              "\n".join(self.lines(points)) + "\n")

    def steps(self, server, word):
        answer = in_time(lambda: server.get(
            "/api/v1/query", metric="m.*", step=word, agg="count,sum,min,max,first,last",
            format="csv", from_=str(self.start), to=str(self.start + 10 * DAY), time_format="ns"))
        self.assertStatus(answer, 200)
        rows = csv.reader(line for line in io.StringIO(answer.text) if not line.startswith("#"))
        next(rows, None)
        return {(source.removeprefix("source="), metric.removeprefix("m."), int(at)):
                [float(value) for value in values] for source, metric, at, *values in rows}

    @staticmethod
    def expected(points, length):
        steps = {}
        for (source, metric, at), value in sorted(points.items(), key=lambda one: one[0][2]):
            steps.setdefault((source, metric, at // length * length), []).append(value)
        return {key: [len(step), sum(step), min(step), max(step), step[0], step[-1]]
                for key, step in steps.items()}

    def await_tiers(self, servers, points):
        def are_there():
            return all(self.steps(server, word) == self.expected(points, length)
                       for server in servers for word, length in LENGTHS.items())
        wait_until(are_there, "all tiers of all nodes have the days", PATIENCE_S)

    def test_any_node_replaces_what_all_answer(self):
        servers = self.begin()
        points = {}
        for number, day in enumerate((0, 1, 2)):
            new = self.points([day])
            self.assertStatus(self.replace(servers[number % 2], new), 204)
            points |= new
        self.await_tiers(servers, points)
        # One source and metric of a day, by the other node; then it is killed at once.
        points = {key: value for key, value in points.items()
                  if not (key[:2] == ("b", "w") and self.day_of(key) == 1)}
        new = {key: value for key, value in self.points([1], "b", 3 * 3600 * SECOND).items()
               if key[1] == "w"}
        self.assertStatus(self.replace(servers[0], new), 204)
        servers[0].kill()
        points |= new
        wait_until(lambda: all(self.steps(servers[1], word) == self.expected(points, length)
                               for word, length in LENGTHS.items()),
                   "the other one has taken over", PATIENCE_S)
        servers[0].start()
        self.await_tiers(servers, points)

    def day_of(self, key):
        return (key[2] - self.start) // DAY

    def test_a_backfill_replaces_and_waits_for_it(self):
        servers = self.begin()
        points = self.points([0, 1, 2, 3])
        self.assertStatus(self.replace(servers[1], self.points([1], "a")), 204)
        path = self.folder / "days.lp"
        lines = self.lines(points)
        self.chance.shuffle(lines)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        done = subprocess.run(
            [PROGRAM, "backfill", "--server", "http://%s:%d" % servers[0].address, "--staging",
             str(self.folder / "staging"), "--replace-frozen", str(path)],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            timeout=2 * PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.await_tiers(servers, points)


if __name__ == "__main__":
    main()
