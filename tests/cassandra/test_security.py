# SPDX-License-Identifier: Apache-2.0
"""Passwords, certificates and permissions: what is right works; what is wrong is refused by `varve
serve` and `varve schema` with a message that says what to do."""
import subprocess

from cassandra_process import ClusterTest, main
from varve_process import (PATIENCE_S, PROGRAM, SANITIZER_REPORT, VarveTest, as_arguments,
                           wait_until)

FAILED, USAGE = 1, 2


class Security(ClusterTest):
    CLUSTER = {"nodes": 1, "authentication": True, "tls": "mutual"}
    KILLS_HOSTS = True
    REPLICATION = "dc1:1"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.shared = {**cls.store(), "cassandra.user": "cassandra",
                      "cassandra.password": "cassandra", "cassandra.tls": "true",
                      "cassandra.tls_ca": cls.certificate("ca.pem"), **cls.client("client")}
        cls.make_tables(cls.shared)

    @classmethod
    def certificate(cls, name):
        return cls.cluster.certificates / name

    @classmethod
    def client(cls, name):
        return {"cassandra.tls_certificate": cls.certificate(f"{name}.pem"),
                "cassandra.tls_key": cls.certificate(f"{name}.key")}

    def with_password(self, user, password):
        """In a file, as it should be."""
        path = self.folder / f"password-of-{user}"
        path.write_text(f"{password}\n")
        return {"cassandra.user": user, "cassandra.password": None,
                "cassandra.password_file": path}

    def changed(self, changes):
        """The right settings, with some others; None: without it."""
        return {name: value for name, value in {**self.shared, **changes}.items()
                if value is not None}

    def own(self):
        """A keyspace for one data folder."""
        settings = {**self.shared, "cassandra.keyspace": self.store()["cassandra.keyspace"]}
        self.make_tables(settings)
        return {"cassandra.keyspace": settings["cassandra.keyspace"]}

    def run_with(self, settings, *command):
        done = subprocess.run([PROGRAM, *command, *as_arguments(settings)], capture_output=True,
                              text=True, timeout=PATIENCE_S, check=False)
        self.assertNotRegex(done.stderr, SANITIZER_REPORT)
        return done

    def assertRefused(self, changes, *needles, code=FAILED):
        """By both commands; `code` is that of the one that can't tell bad files from no others."""
        settings = self.changed(changes)
        serving = ("serve", "--data", self.folder / "refused", "--listen", "127.0.0.1:0")
        for expected, command in ((code, ("schema", "--check")), (code, ("schema", "--apply")),
                                  (FAILED, serving)):
            with self.subTest(changes=changes, command=command[:2]):
                done = self.run_with(settings, *command)
                self.assertEqual(done.returncode, expected, done.stderr)
                error = done.stderr[done.stderr.index("varve: error: "):]
                for needle in needles:
                    self.assertIn(needle, error)
                self.assertNotIn(" info ready", done.stderr)

    def assertServes(self, changes):
        """Writes, seals, and reads it all again after a start."""
        server = VarveTest.server(self, settings=self.changed(changes)).start()
        self.assertStatus(server.write("a v=1 1\nb v=2 2"), 204)
        self.assertStatus(server.flush(seal=True), 204)
        server.kill().start()
        self.assertEqual(sorted(server.rows(metric="*")), [("-", "a.v", 1, "1"),
                                                           ("-", "b.v", 2, "2")])
        server.stop()

    def test_what_is_right_works_and_no_password_is_told(self):
        self.assertServes({**self.own(), **self.with_password("cassandra", "cassandra")})
        told = self.run_with(self.changed({"cassandra.password": "t0p"}), "config")
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertNotIn("t0p", told.stdout + told.stderr)

    def test_wrong_passwords(self):
        hint = "set cassandra.user, and cassandra.password_file to a file with its password"
        self.assertRefused(self.with_password("cassandra", "wrong"), "cassandra", "incorrect", hint)
        self.assertRefused(self.with_password("nobody", "cassandra"), "nobody", "incorrect", hint)
        self.assertRefused({"cassandra.user": None, "cassandra.password": None},
                           "needs user and password", hint)

    def test_wrong_certificates_of_clients(self):
        hint = "cassandra.tls_certificate and cassandra.tls_key must be of a client"
        self.assertRefused({"cassandra.tls_certificate": None, "cassandra.tls_key": None},
                           "wants a client certificate", hint)
        self.assertRefused(self.client("other-client"), "with this client certificate", hint)
        files = "cassandra.tls_certificate and cassandra.tls_key"
        self.assertRefused(self.client("expired-client"), "expired-client.pem", "has expired on",
                           files, code=USAGE)
        self.assertRefused({"cassandra.tls_key": self.certificate("other-client.key")},
                           "is not the key of the certificate", files, code=USAGE)
        self.assertRefused({"cassandra.tls_key": "/nowhere.key"}, "/nowhere.key",
                           "No such file", files, code=USAGE)

    def test_wrong_certificates_of_servers(self):
        self.assertRefused({"cassandra.tls_ca": self.certificate("other-ca.pem")},
                           "signed by an authority that is not in", "other-ca.pem",
                           "cassandra.tls_ca must name a file")
        self.addCleanup(self.show, "server")
        self.show("expired-server")
        self.assertRefused({}, "has expired", "renew that host's certificate")
        self.show("misnamed-server")
        self.assertRefused({}, "is not for that address", "cassandra.contact_points")
        self.assertEqual(self.run_with(self.changed({"cassandra.tls_skip_name_check": "true"}),
                                       "schema", "--check").returncode, 0)

    def show(self, certificate):
        """Starts the node again with another certificate."""
        node, = self.cluster.nodes
        node.kill()
        node.configuration["client_encryption_options"]["keystore"] = str(
            self.certificate(f"{certificate}-both.pem"))
        node.start()

    def test_without_tls_it_waits_and_tells_why(self):
        """A host that closes connections may be one that starts."""
        own = self.own()
        none = {name: None for name in self.shared if name.startswith("cassandra.tls")}
        server = VarveTest.server(self, settings=self.changed({**own, **none})).start()
        self.assertStatus(server.write("a v=1 1"), 204)
        server.wait_for_log(r"store_recover_failed .*does it want TLS")
        self.assertIn("the store cannot be written", server.get("/ready").json()["reason"])
        server.kill()
        server.settings = self.changed(own)
        server.start()
        wait_until(lambda: server.flush(seal=True).status == 204, "it is delivered")
        self.assertEqual(len(server.rows()), 1)
        server.stop()

    def test_permissions(self):
        """The least that `varve serve` needs is what the hint names."""
        own = self.own()
        keyspace = own["cassandra.keyspace"]
        self.cluster.execute("CREATE ROLE weak WITH PASSWORD = 'weak' AND LOGIN = true")
        weak = {**own, **self.with_password("weak", "weak")}
        self.assertRefused(weak, "weak has no SELECT permission",
                           "grant cassandra.user SELECT and MODIFY on the keyspace")
        self.cluster.execute(f"GRANT SELECT ON KEYSPACE {keyspace} TO weak",
                             f"GRANT MODIFY ON KEYSPACE {keyspace} TO weak")
        settings = self.changed(weak)
        wait_until(lambda: self.run_with(settings, "schema", "--check").returncode == 0,
                   "the permissions count")
        self.assertServes(weak)
        self.cluster.execute(f"DROP TABLE {keyspace}.buckets")
        done = self.run_with(settings, "schema", "--apply")
        self.assertEqual(done.returncode, FAILED, done.stderr)
        self.assertRegex(done.stderr, r"weak has no CREATE permission .*; CREATE and ALTER too for")
        self.assertEqual(self.run_with(self.changed(own), "schema", "--apply").returncode, 0)


if __name__ == "__main__":
    main()
