# SPDX-License-Identifier: Apache-2.0
"""Classes of measurements where two nodes of Varve share a cluster: both agree on where each measurement
lies, whoever sets the class and whoever writes first; what was acknowledged is in the answers of both."""
import json
import time

from cassandra_process import ClusterTest, main
from varve_process import Threads, wait_until

SECOND = 10**9
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
MEASUREMENTS = [f"debug{n}" for n in range(6)] + [f"energy{n}" for n in range(6)]
POINTS = 10  # of each measurement by each node
SETTINGS = {
    "seal.lateness": "1s",
    "seal.quiet": "0s",
    "seal.spread": "1s",
    "seal.interval": "200ms",
    "fleet.beat": "300ms",
    "fleet.poll": "200ms",
    "fleet.gone_after": "5s",
}


class Classes(ClusterTest):
    CLUSTER = {"nodes": 1}
    REPLICATION = "dc1:1"

    def put(self, server, **wishes):
        self.assertStatus(server.request("PUT", "/api/v1/tenants",
                                         json.dumps({"tenant": "plant", **wishes})), 200)

    def classes(self, server):
        tenants = server.get("/api/v1/tenants").json()["tenants"]
        return next((each.get("classes", {}) for each in tenants if each["tenant"] == "plant"), {})

    def is_ready(self, server):
        classes = self.classes(server)
        return bool(classes) and not any("ready" in each for each in classes.values())

    def write_and_flush(self, server, host):
        now = time.time_ns() // MINUTE * MINUTE
        lines = [f"{name},host={host} v={n} {now - n * MINUTE}"
                 for name in MEASUREMENTS for n in range(POINTS)]
        self.assertStatus(server.write(lines, "plant"), 204)
        wait_until(lambda: server.flush().status == 204, "all of it is stored")

    def points(self, server, name):
        answer = server.get("/api/v1/query", tenant="plant", metric=f"{name}.v", format="csv")
        lines = [line for line in answer.text.splitlines() if line and line[0] != "#"]
        return len(lines) - 1 if answer.status == 200 else None

    def wait_for_all(self, server):
        for name in MEASUREMENTS:
            wait_until(lambda each=name: self.points(server, each) == 2 * POINTS,
                       f"all points of {name}")

    def test_both_put_each_measurement_into_the_same_class(self):
        settings = {**self.store(), **SETTINGS}
        first, second = [self.server(name, settings).start() for name in ("first", "second")]
        self.put(first, retention="30d")
        debug = {"measurements": ["debug*"], "retention": "1d", "tiers": "off"}
        self.put(second, classes={"debug": debug})
        for server in (first, second):
            wait_until(lambda each=server: self.is_ready(each), "all nodes know the class")
        with Threads([lambda: self.write_and_flush(first, "a"),
                      lambda: self.write_and_flush(second, "b")]):
            pass
        for server in (first, second):
            self.wait_for_all(server)
        keyspace = first.settings["cassandra.keyspace"]
        places, runs, shared = self.cluster.execute(
            f"SELECT tenant, measurement, class FROM {keyspace}.places",
            f"SELECT tenant, measurement FROM {keyspace}.runs",
            f"SELECT tenant, measurement FROM {keyspace}.shared_runs")
        self.assertEqual({(row["tenant"], row["measurement"]): row["class"] for row in places},
                         {("plant", name): "debug" if name.startswith("debug") else ""
                          for name in MEASUREMENTS})
        where = {(row["tenant"], row["measurement"]) for row in [*runs, *shared]
                 if row["tenant"][:5] == "plant"}
        self.assertEqual(where, {("plant/@debug" if name.startswith("debug") else "plant", name)
                                 for name in MEASUREMENTS})
        first.kill().start()
        self.wait_for_all(first)
        for server in (first, second):
            server.stop()

    def moves(self, server):
        tenants = server.get("/api/v1/tenants").json()["tenants"]
        return {each["measurement"]: each["state"] for tenant in tenants
                if tenant["tenant"] == "plant" for each in tenant.get("moves", [])}

    def test_both_move_what_has_points_on_the_same_day(self):
        """The one that proposed it is killed before they agree on it."""
        faults = self.faults()
        settings = {**self.store(), **SETTINGS}
        first, second = [self.server(name, settings, faults).start() for name in ("first", "second")]
        self.put(first, retention="30d")
        self.write_and_flush(first, "a")
        self.write_and_flush(second, "b")
        debug = {"measurements": ["debug*"], "retention": "10d", "tiers": "off"}
        self.put(first, classes={"debug": debug})
        moved = [name for name in MEASUREMENTS if name.startswith("debug")]
        for server in (first, second):
            wait_until(lambda each=server: self.moves(each) == dict.fromkeys(moved, "known"),
                       "both know of it, and of the class")
        first.kill()
        faults.rule("clock", "", value=51 * HOUR)  # by then the day has begun
        settled = dict.fromkeys(moved, "settled")
        wait_until(lambda: self.moves(second) == settled, "it is agreed on")
        first.start()
        wait_until(lambda: self.moves(first) == settled, "both have agreed on it")
        ahead = 51 * HOUR
        for server, host in ((first, "a"), (second, "b")):
            now = (time.time_ns() + ahead) // MINUTE * MINUTE
            self.assertStatus(server.write([f"{name},host={host} v=7 {now}" for name in MEASUREMENTS],
                                           "plant"), 204)
            wait_until(lambda each=server: each.flush().status == 204, "all of it is stored")
        for server in (first, second):
            for name in MEASUREMENTS:
                wait_until(lambda each=server, of=name: self.points(each, of) == 2 * POINTS + 2,
                           f"all points of {name}")
        keyspace = first.settings["cassandra.keyspace"]
        agreed, runs, shared = self.cluster.execute(
            f"SELECT tenant, measurement, class FROM {keyspace}.moves",
            f"SELECT tenant, measurement FROM {keyspace}.runs",
            f"SELECT tenant, measurement FROM {keyspace}.shared_runs")
        self.assertEqual({row["measurement"]: row["class"] for row in agreed},
                         dict.fromkeys(moved, "debug"))
        where = {row["measurement"] for row in [*runs, *shared] if row["tenant"] == "plant/@debug"}
        self.assertEqual(where, set(moved))
        for server in (first, second):
            server.stop()


if __name__ == "__main__":
    main()
