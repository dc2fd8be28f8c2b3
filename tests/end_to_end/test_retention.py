# SPDX-License-Identifier: Apache-2.0
"""Retention: what has expired is in no answer and takes no space, and nothing else goes."""
import random
import time
import unittest

from expectation import HOUR, MINUTE, SECOND
from varve_process import ON_CASSANDRA, VarveTest, embedded_only, wait_until

SETTINGS = {
    "store.eras": "8",
    "partition.bucket": "5m",
    "partition.span": "5m",
    "seal.lateness": "1s",
    "seal.quiet": "0s",
    "seal.spread": "1s",
    "seal.interval": "200ms",
    "retention.interval": "1s",
}

SOURCES = 20


class Retention(VarveTest):
    SETTINGS = SETTINGS

    def load(self, server, tenant, start, end, step=SECOND):
        """Values that do not compress; returns the times of each source."""
        chance = random.Random(tenant)
        times = list(range(start, end, step))
        client = server.client()
        for source in range(SOURCES):
            lines = [f"m,source={source} v={chance.random()} {at}" for at in times]
            self.assertStatus(client.write(lines, tenant), 204)
        client.close()
        return times

    def times(self, server, tenant):
        """The times of all its rows, ascending; every source has the same."""
        rows = server.rows(tenant, metric="m.v")
        by_source = {}
        for source, _, at, _ in rows:
            by_source.setdefault(source, []).append(at)
        self.assertTrue(all(times == sorted(set(times)) for times in by_source.values()))
        found = list(by_source.values())
        self.assertIn(len(found), (0, SOURCES))
        # A point may expire between two sources of one answer.
        shortest = min(found, key=len, default=[])
        self.assertTrue(all(times[len(times) - len(shortest):] == shortest for times in found))
        return shortest

    def flush_and_seal(self, server):
        """What sealing has replaced is freed as well, once some more files were written."""
        for turn in range(8):
            self.assertStatus(server.write(f"turn v={turn}", "other"), 204)
            self.assertStatus(server.flush(seal=True), 204)

    def disk_bytes(self, server):
        return server.metrics().sum("varve_store_disk_bytes")

    def wait_freed(self, server, bytes_max, eras=0):
        """Until that much of the disk is left, and so many eras went. Cassandra frees what it holds
        by itself: see cassandra/expiry."""
        if not ON_CASSANDRA:
            server.wait_metric(lambda now: now.sum("varve_store_disk_bytes") < bytes_max and
                               now.sum("varve_store_eras_expired_total") >= eras,
                               f"{eras} eras go, and all but {bytes_max} bytes")

    def assertExpired(self, server, tenant, times, retention):
        """Exactly the points that are younger are answered."""
        before = time.time_ns() - retention
        found = self.times(server, tenant)
        after = time.time_ns() - retention
        self.assertFalse([at for at in found if at < before], "expired points are answered")
        missing = set(at for at in times if at >= after) - set(found)
        self.assertFalse(missing, "points went before their time")

    def test_a_retention_that_is_set_on_existing_data_frees_it_and_spares_others(self):
        server = self.server().start()
        now = time.time_ns()
        short = self.load(server, "short", now - 3 * HOUR, now)
        long = self.load(server, "long", now - 3 * HOUR, now)
        self.flush_and_seal(server)
        full = self.disk_bytes(server)
        self.assertStatus(server.set_tenant("short", "30m"), 200)
        self.assertExpired(server, "short", short, 30 * MINUTE)  # at once
        self.wait_freed(server, 0.7 * full)
        self.assertExpired(server, "short", short, 30 * MINUTE)
        self.assertEqual(self.times(server, "long"), long)
        server.kill().start()
        self.assertExpired(server, "short", short, 30 * MINUTE)
        self.assertEqual(self.times(server, "long"), long)
        self.wait_freed(server, 0.75 * full)
        server.stop()

    def test_a_retention_that_is_set_in_mid_life_survives_kills(self):
        """Set, and killed at once: it holds after the start, also while data moves."""
        server = self.server().start()
        now = time.time_ns()
        times = self.load(server, "t", now - 2 * HOUR, now)
        self.assertStatus(server.flush(seal=True), 204)
        for retention, text in ((30 * MINUTE, "30m"), (20 * MINUTE, "20m")):
            self.assertStatus(server.set_tenant("t", text), 200)
            for _ in range(3):
                server.kill().start()
                self.assertExpired(server, "t", times, retention)
        server.stop()

    def test_a_longer_retention_loses_nothing(self):
        server = self.server().start()
        now = time.time_ns()
        times = self.load(server, "t", now - HOUR, now)
        self.assertStatus(server.flush(seal=True), 204)
        for retention in ("1d", "30d", "forever"):
            self.assertStatus(server.set_tenant("t", retention), 200)
            self.assertEqual(self.times(server, "t"), times)
            self.assertStatus(server.flush(seal=True), 204)
            self.assertEqual(self.times(server, "t"), times)
        server.kill().start()
        self.assertEqual(self.times(server, "t"), times)
        server.stop()

    def test_time_passes_and_whole_eras_go(self):
        """The clock of the server runs ahead."""
        faults = self.faults()
        server = self.server(faults=faults).start()
        self.assertStatus(server.set_tenant("short", "1h"), 200)
        now = time.time_ns()
        self.load(server, "short", now - 30 * MINUTE, now, SECOND // 2)
        long = self.load(server, "long", now - 10 * MINUTE, now)
        self.flush_and_seal(server)
        full = self.disk_bytes(server)
        self.assertEqual(server.metrics().sum("varve_store_eras_expired_total"), 0)
        ahead = 45 * MINUTE
        clock = faults.rule("clock", "", value=ahead)
        found = self.times(server, "short")
        self.assertTrue(found)
        self.assertGreaterEqual(found[0], now + ahead - HOUR)
        clock.off()
        faults.rule("clock", "", value=2 * HOUR)
        self.assertEqual(self.times(server, "short"), [])
        self.wait_freed(server, 0.5 * full, eras=3)
        self.assertEqual(self.times(server, "long"), long)
        old = server.write(f"m,source=0 v=1 {now}", "short")
        self.assertStatus(old, 400)
        self.assertEqual(old.json()["refused"], {"retention": 1})
        new = now + 2 * HOUR
        self.assertStatus(server.write([f"m,source={n} v=1 {new}" for n in range(SOURCES)],
                                       "short"), 204)
        self.assertEqual(self.times(server, "short"), [new])
        server.stop()

    @embedded_only("there the node that comes back flushes for the others")
    def test_what_a_crash_left_unflushed_for_weeks_is_in_tiers_soon(self):
        faults = self.faults()
        server = self.server(settings={"head.flush_age": "1h"}, faults=faults).start()
        self.assertStatus(server.set_tenant("t", "7d", tiers={"hour": "forever"}), 200)
        now = time.time_ns()
        lines = [f"m,source=a v={n} {now - n * SECOND}" for n in range(1000)]
        self.assertStatus(server.write(lines, "t"), 204)
        faults.rule("clock", "", value=20 * 24 * HOUR)
        server.kill().start()

        def counted():
            answer = server.get("/api/v1/query", tenant="t", metric="m.v", agg="count",
                                step="1092d").json()
            return sum(row[1] for series in answer["series"] for row in series["points"]) == 1000
        wait_until(counted, "tiers have what raw points are not kept of")
        server.stop()

    def classes_when_ready(self, server):
        """Where nodes share a store: all of them know the classes."""
        def ready():
            tenants = server.get("/api/v1/tenants").json()["tenants"]
            classes = next(each["classes"] for each in tenants if each["tenant"] == "plant")
            return None if any("ready" in each for each in classes.values()) else classes
        return wait_until(ready, "all nodes know the classes")

    def test_measurements_are_kept_for_times_of_their_own(self):
        """`debug*` for an hour without tiers, the rest as long as the tenant says, over kills."""
        faults = self.faults()
        server = self.server(faults=faults).start()
        debug = {"measurements": ["debug*"], "retention": "1h", "tiers": "off"}
        self.assertStatus(server.set_tenant("plant", "30d", tiers={"hour": "forever"}), 200)
        answer = server.set_tenant("plant", classes={"debug": debug})
        self.assertStatus(answer, 200)
        if not ON_CASSANDRA:  # there the class is awaited
            self.assertNotIn("notes", answer.json())
        self.classes_when_ready(server)
        now = time.time_ns()
        lines = [f"{name},source=a v={n} {now - n * MINUTE}"
                 for name in ("debug1", "energy") for n in range(30)]
        self.assertStatus(server.write(lines, "plant"), 204)
        old = server.write([f"debug1,source=a v=1 {now - 2 * HOUR}",
                            f"energy,source=a v=1 {now - 2 * HOUR}"], "plant")
        self.assertStatus(old, 400)
        self.assertEqual(old.json()["refused"], {"retention": 1})
        self.assertStatus(server.flush(seal=True), 204)
        server.kill().start()
        self.assertEqual(self.classes_when_ready(server), {"debug": debug | {"tiers": {}}})
        self.assertEqual(len(server.rows("plant", metric="debug1.v")), 30)
        self.assertEqual(len(server.rows("plant", metric="energy.v")), 31)
        self.assertStatus(server.get("/api/v1/query", tenant="plant", metric="debug1.v", agg="sum",
                                     step="1h", tier="hour"), 400, "invalid")
        clock = faults.rule("clock", "", value=2 * HOUR)
        self.assertEqual(server.rows("plant", metric="debug1.v"), [])
        self.assertEqual(len(server.rows("plant", metric="energy.v")), 31)
        if not ON_CASSANDRA:  # there it expires by itself
            server.wait_metric(lambda now: now.sum("varve_store_eras_expired_total") >= 1,
                               "what the class had goes")
        self.assertEqual(len(server.rows("plant", metric="energy.v")), 31)
        clock.off()
        answer = server.set_tenant("plant", classes={"rest": {"measurements": ["ener*"]}})
        self.assertRegex(answer.json()["notes"][0], r"change on 20\d\d-\d\d-\d\d .* as before: energy"
                         + (r" \(if all nodes know" if ON_CASSANDRA else "$"))
        server.stop()

    def moves(self, server):
        tenants = server.get("/api/v1/tenants").json()["tenants"]
        return next(each.get("moves", []) for each in tenants if each["tenant"] == "plant")

    def test_a_measurement_that_has_points_gets_another_class(self):
        """From a day on its points are kept as that says, earlier ones as before; over a kill."""
        faults = self.faults()
        server = self.server(faults=faults).start()
        self.assertStatus(server.set_tenant("plant", "30d", tiers={"hour": "forever"}), 200)
        hour = time.time_ns() // HOUR * HOUR
        self.assertStatus(server.write([f"debug,source=a v=1 {hour}"], "plant"), 204)
        answer = server.set_tenant("plant", classes={
            "short": {"measurements": ["debug"], "retention": "1h", "tiers": "off"}})
        self.assertStatus(answer, 200)
        self.assertIn(": debug", answer.json()["notes"][0])
        server.kill().start()
        move, = self.moves(server)
        self.assertEqual((move["measurement"], move["class"]), ("debug", "short"))
        wait_until(lambda: self.moves(server)[0]["state"] in ("known", "settled"),
                   "all that share the store know of it")
        hours = 51  # by then the day has begun
        clock = faults.rule("clock", "", value=hours * HOUR)
        wait_until(lambda: self.moves(server)[0]["state"] == "settled", "they agree on it")
        self.assertStatus(server.write([f"debug,source=a v=2 {hour + hours * HOUR}"], "plant"), 204)
        self.assertStatus(server.flush(seal=True), 204)
        self.assertEqual(len(server.rows("plant", metric="debug.v")), 2)
        self.assertEqual(len(server.rows("plant", metric="debug.v", agg="sum", step="1h")), 2)
        clock.off()
        clock = faults.rule("clock", "", value=(hours + 3) * HOUR)
        self.assertEqual(len(server.rows("plant", metric="debug.v")), 1)
        self.assertEqual(len(server.rows("plant", metric="debug.v", agg="sum", step="1h")), 1)
        late = server.write([f"debug,source=a v=3 {hour + hours * HOUR}"], "plant")
        self.assertEqual(late.json()["refused"], {"retention": 1})
        self.assertStatus(server.write([f"debug,source=a v=4 {hour - HOUR}"], "plant"), 204)
        clock.off()
        server.stop()


if __name__ == "__main__":
    unittest.main()
