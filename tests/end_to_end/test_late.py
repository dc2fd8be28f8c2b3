# SPDX-License-Identifier: Apache-2.0
"""Late points: what a tenant wants done with them is done, and it survives restarts."""
import time
import unittest

from expectation import HOUR, MINUTE
from varve_process import VarveTest


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


if __name__ == "__main__":
    unittest.main()
