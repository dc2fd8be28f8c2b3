# SPDX-License-Identifier: Apache-2.0
"""Late points: what a tenant wants done with them is done, and it survives restarts."""
import json
import time
import unittest

from expectation import HOUR, MINUTE
from varve_process import VarveTest, wait_until


class Late(VarveTest):
    def set_late(self, server, tenant, **wishes):
        body = '{"tenant":"%s",%s}' % (
            tenant, ",".join(f'"{key}":"{value}"' for key, value in wishes.items()))
        return server.request("PUT", "/api/v1/tenants", body)

    def tenant(self, server, name):
        tenants = server.get("/api/v1/tenants").json()["tenants"]
        return next(tenant for tenant in tenants if tenant["tenant"] == name)

    def write_at(self, server, age, tenant="plant"):
        return server.write([f"m v=1 {time.time_ns() - age}"], tenant)

    def assertRefused(self, answer, limit):
        self.assertStatus(answer, 400)
        line = answer.json()["lines"][0]
        self.assertEqual(line["reason"], "late")
        self.assertIn(limit, line["detail"])

    def test_what_comes_too_late_is_refused_with_the_limit_and_counted(self):
        server = self.server().start()
        self.assertStatus(self.write_at(server, 3 * HOUR), 204)
        self.assertStatus(self.set_late(server, "plant", late="refuse", late_limit="2h"), 200)
        self.assertStatus(self.write_at(server, HOUR), 204)
        self.assertRefused(self.write_at(server, 3 * HOUR), "2h")
        self.assertStatus(self.write_at(server, 3 * HOUR, "other"), 204)
        self.assertEqual(self.tenant(server, "plant")["account"]["refused"], {"late": 1})
        self.assertEqual(
            server.metrics().sum("varve_points_refused_total", tenant="plant", reason="late"), 1)
        server.kill()
        server.start()
        plant = self.tenant(server, "plant")
        self.assertEqual((plant["late"], plant["late_limit"]), ("refuse", "2h"))
        self.assertRefused(self.write_at(server, 3 * HOUR), "2h")
        self.assertStatus(self.set_late(server, "plant", late="accept"), 200)
        self.assertStatus(self.write_at(server, 3 * HOUR), 204)
        self.assertEqual(len(server.rows("plant", metric="m.v")), 3)

    def test_new_tenants_do_what_the_settings_say(self):
        settings = {"late.policy": "refuse", "late.limit": "30m"}
        server = self.server(settings=settings).start()
        self.assertStatus(self.write_at(server, MINUTE), 204)
        self.assertRefused(self.write_at(server, HOUR), "30m")
        server.stop()
        server.start()
        self.assertRefused(self.write_at(server, HOUR), "30m")

    def test_a_limit_alone_leaves_the_policy_and_a_bad_one_changes_nothing(self):
        server = self.server().start()
        self.assertStatus(self.set_late(server, "plant", late_limit="2h"), 200)
        self.assertEqual(self.tenant(server, "plant")["late"], "accept")
        self.assertStatus(self.set_late(server, "plant", late="refuse"), 200)
        self.assertRefused(self.write_at(server, 3 * HOUR), "2h")
        self.assertStatus(self.set_late(server, "plant", late="sometimes"), 400)
        self.assertStatus(self.set_late(server, "plant", late_limit="-1h"), 400)
        plant = self.tenant(server, "plant")
        self.assertEqual((plant["late"], plant["late_limit"]), ("refuse", "2h"))

    def outstanding(self, server):
        facts = server.get("/api/v1/query", tenant="plant", metric="m.v").json()["facts"]
        return facts.get("late_outstanding", 0)

    def counts(self, server):
        """By hour, from tiers or from what is finer."""
        answer = server.get("/api/v1/query", tenant="plant", metric="m.v", agg="count,sum",
                            step="1h", time_format="ns")
        self.assertStatus(answer, 200)
        return answer.json()["series"]

    def begin_separate(self, fold_every):
        """An hour of a day ago is sealed, in tiers too; what comes now of it is kept apart."""
        settings = {"late.fold_every": fold_every, "late.fold_at": "0s", "seal.lateness": "1s",
                    "seal.quiet": "0s", "seal.spread": "1s", "seal.interval": "200ms"}
        server = self.server(settings=settings).start()
        self.assertStatus(server.request("PUT", "/api/v1/tenants",
                                         '{"tenant":"plant","tiers":{"minute":"forever",'
                                         '"hour":"forever","day":"forever"}}'), 200)
        self.start = (time.time_ns() - 26 * HOUR) // HOUR * HOUR
        self.assertStatus(server.write(
            [f"m v={i} {self.start + i * MINUTE}" for i in range(60)], "plant"), 204)
        self.assertStatus(server.flush(seal=True), 204)
        self.assertStatus(self.set_late(server, "plant", late="separate", late_limit="1h"), 200)
        return server

    def test_late_points_that_are_kept_apart_are_in_every_answer(self):
        server = self.begin_separate("7d")
        second = self.start + 30_000_000_000
        self.assertStatus(server.write([f"m v=1000 {second}", f"m v=7 {self.start}"], "plant"), 204)
        before = server.rows("plant", metric="m.v")
        self.assertEqual([row[3] for row in before[:3]], ["7", "1000", "1"])
        self.assertStatus(server.flush(), 204)
        self.assertEqual(server.metrics().sum("varve_flush_late_rows_total"), 2)
        self.assertGreater(self.outstanding(server), 0)
        self.assertEqual(server.rows("plant", metric="m.v"), before)
        counts = self.counts(server)
        server.kill()
        server.start()
        self.assertEqual(server.rows("plant", metric="m.v"), before)
        self.assertStatus(server.flush(seal=True), 204)
        self.assertEqual(self.outstanding(server), 0)
        self.assertEqual(server.rows("plant", metric="m.v"), before)
        self.assertEqual(self.counts(server), counts)
        self.assertEqual(server.metrics().sum("varve_reseals_total"), 0,
                         "what was sealed in time was sealed again")
        self.assertStatus(server.request("POST", "/api/v1/delete", json.dumps(
            {"tenant": "plant", "metric": "m.v", "from": str(second), "to": str(second + 1)})), 200)
        self.assertStatus(server.flush(seal=True), 204)
        self.assertEqual(server.rows("plant", metric="m.v"), before[:1] + before[2:])

    def test_late_points_are_folded_at_the_set_time(self):
        server = self.begin_separate("2s")
        self.assertStatus(server.write(f"m v=1000 {self.start + 30_000_000_000}", "plant"), 204)
        self.assertStatus(server.flush(), 204)
        counts = self.counts(server)
        wait_until(lambda: self.outstanding(server) == 0, "the fold")
        self.assertEqual(self.counts(server), counts)
        self.assertEqual(server.metrics().sum("varve_reseals_total"), 0)

    def test_new_tenants_keep_late_points_apart_as_the_settings_say(self):
        server = self.server(settings={"late.policy": "separate", "late.fold_every": "7d"}).start()
        self.assertStatus(self.write_at(server, 2 * HOUR), 204)
        self.assertStatus(self.write_at(server, MINUTE), 204)
        self.assertStatus(server.flush(), 204)
        self.assertEqual(server.metrics().sum("varve_flush_late_rows_total"), 1)
        server.kill()
        server.start()
        self.assertEqual(len(server.rows("plant", metric="m.v")), 2)

    def test_separate_is_refused_where_it_cannot_be(self):
        server = self.server(settings={"late.fold_every": "3d"}).start()
        self.assertStatus(server.request(
            "PUT", "/api/v1/tenants",
            '{"tenant":"plant","retention":"4d","tiers":{"minute":"30d"}}'), 200)
        answer = self.set_late(server, "plant", late="separate")
        self.assertStatus(answer, 400)
        self.assertIn("fold", answer.text)
        self.assertEqual(self.tenant(server, "plant")["late"], "accept")


if __name__ == "__main__":
    unittest.main()
