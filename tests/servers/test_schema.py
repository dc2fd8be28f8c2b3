# SPDX-License-Identifier: Apache-2.0
"""`varve schema` and the start of a server on a real Cassandra: what is missing, changed by hand,
older or newer, and who may not log in.

Environment: VARVE, the path of the program.
"""
import json
import os
import subprocess
import tempfile
import time
import unittest

from test_cassandra import PATIENCE_S, CassandraTest, Cluster

PROGRAM = os.environ.get("VARVE", "varve")
OK, FAILED, USAGE, UNREACHABLE = 0, 1, 2, 4

PARTITION = """region text, tenant text, source uuid, bucket timestamp, bucket_s int, split smallint,
               measurement text, span timestamp,"""
KEY = "((region, tenant, source, bucket, bucket_s, split), measurement, span, seal, part)"
BLOCKS = f"{PARTITION} seal bigint, part bigint, parts int, metrics blob, data blob, tail blob"
ORDER = "CLUSTERING ORDER BY (measurement ASC, span ASC, seal DESC, part ASC)"


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def differences(self):
        return json.loads(self.out)["differences"]

    def __repr__(self):
        return f"<exit {self.code}\n{self.out[-3000:]}\n{self.err[-3000:]}>"


class Program:
    """For test cases that run it."""

    def run_program(self, *arguments, **settings):
        """Settings of the section cassandra by their names."""
        pairs = [f"--set=cassandra.{name}={value}" for name, value in settings.items()]
        done = subprocess.run([PROGRAM, *map(str, arguments), *pairs], capture_output=True,
                              text=True, timeout=PATIENCE_S, check=False)
        self.assertNotRegex(done.stderr, "AddressSanitizer|LeakSanitizer|runtime error|invariant")
        return Result(done.returncode, done.stdout, done.stderr)

    def expect(self, result, code, *needles):
        self.assertEqual(result.code, code, result)
        for needle in needles:
            self.assertIn(needle, result.out + result.err, result)
        return result


class TestWithoutCassandra(Program, unittest.TestCase):
    def test_mistakes_are_told_before_anything_is_done(self):
        self.expect(self.run_program("schema", "--apply", "--check"), USAGE, "two commands")
        for name, value, needle in (
                ("classes", "7d,1d", "'1d' is not longer than the one before"),
                ("replication", "dc1", "such as dc1:3,dc2:3"),
                ("keyspace", "a b", "cassandra.keyspace: 'a b' is no name"),
                ("tls_ca", "x", "cassandra.tls is off")):
            for arguments in ((), ("--check",), ("--apply",)):
                with self.subTest(name=name, arguments=arguments):
                    result = self.expect(self.run_program("schema", *arguments, **{name: value}),
                                         USAGE, "varve: error: ", needle)
                    self.assertEqual(result.out, "")

    def test_nobody_there(self):
        for arguments in (("--check",), ("--apply",), ("--apply", "--json")):
            result = self.run_program("schema", *arguments, contact_points="127.0.0.1:1")
            self.expect(result, UNREACHABLE, "no contact point can be reached", "hint: ")
            self.assertEqual(result.out, "")

    def test_files_that_are_missing(self):
        self.expect(self.run_program("schema", "--check", user="u", password_file="/none/here"),
                    FAILED, "cassandra.password_file: cannot open /none/here")
        self.expect(self.run_program("schema", "--check", tls="true", tls_ca="/none/here"), USAGE,
                    "/none/here", "hint: the files of TLS are cassandra.tls_ca")

    def test_printing_needs_no_cassandra(self):
        text = self.expect(self.run_program("schema", contact_points="127.0.0.1:1"), OK).out
        self.assertIn("CREATE TABLE IF NOT EXISTS varve.blocks_365d (\n", text)
        self.assertNotIn("unsafe_aggressive_sstable_expiration", text)


class TestSchema(Program, CassandraTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.one = Cluster(nodes=1, quick_schema=True)
        cls.addClassCleanup(cls.one.close)
        cls.one.start()

    def setUp(self):
        """A keyspace for each test, named after it."""
        self.keyspace = "of_" + self.id().rpartition(".test_")[2][:45]
        self.settings = {"contact_points": self.one.contact_points[0], "keyspace": self.keyspace,
                         "replication": "dc1:1", "classes": "7d"}

    def cql(self, *statements):
        return self.one.execute(*statements)

    def schema(self, *arguments, **settings):
        return self.run_program("schema", *arguments, **self.settings | settings)

    def apply(self, **settings):
        return self.expect(self.schema("--apply", **settings), OK)

    def serve(self, **settings):
        """A server that can't start; its only line."""
        with tempfile.TemporaryDirectory(prefix="varve-test-") as folder:
            return self.run_program("serve", "--data", folder, "--listen", "127.0.0.1:0",
                                    "--set=store=cassandra", "--set=log.level=error",
                                    **self.settings | settings)

    def tables(self):
        """Their names, in the order in which they are made."""
        statements = json.loads(self.expect(self.schema("--json"), OK).out)["statements"]
        names = [each["what"].removeprefix("table ") for each in statements[1:-1]]
        self.assertLessEqual({"runs", "blocks_7d", "blocks_forever", "buckets", "varve_schema"},
                             set(names))
        return names

    def set_version(self, version):
        self.cql(f"INSERT INTO {self.keyspace}.varve_schema (id, version) "
                 f"VALUES ('schema', {version})")

    def assert_same(self):
        self.expect(self.schema("--check"), OK, f"keyspace {self.keyspace}: as it should be")

    # ---- making it

    def test_missing(self):
        result = self.expect(self.schema("--check"), FAILED, "breaks it", "varve schema --apply",
                             f"keyspace {self.keyspace} differs in 1 place")
        self.assertRegex(result.out, r"(?m)^keyspace +keyspace +missing +there ")
        difference, = self.schema("--check", "--json").differences()
        self.assertEqual(difference, {
            "table": "", "what": "keyspace", "found": "missing", "wanted": "there", "breaks": True,
            "mend": "apply", "statement": ""})
        self.expect(self.serve(), FAILED,
                    f"keyspace {self.keyspace} has no schema of Varve: run `varve schema --apply`")
        self.expect(self.schema("--apply", replication="nowhere:1"), FAILED, "nowhere",
                    "does cassandra.replication name the data centres that there are?")
        self.cql(f"CREATE KEYSPACE {self.keyspace} WITH replication = "
                 "{'class': 'NetworkTopologyStrategy', 'dc1': 1}")
        differences = self.schema("--check", "--json").differences()
        self.assertEqual([(each["table"], each["what"], each["mend"]) for each in differences],
                         [(table, "table", "apply") for table in self.tables()] +
                         [("varve_schema", "version", "apply")])
        self.expect(self.serve(), FAILED, "has no schema of Varve")

    def test_apply(self):
        done = self.apply()
        self.assertEqual(done.out.splitlines(), [
            f"keyspace {self.keyspace}: created",
            *(f"table {table}: created" for table in self.tables()),
            "version 8: written",
            f"keyspace {self.keyspace}: ready, version 8"])
        again = self.apply()
        self.assertEqual(again.out, f"keyspace {self.keyspace}: nothing to do, version 8\n")
        self.assertEqual(json.loads(self.schema("--apply", "--json").out), {
            "keyspace": self.keyspace, "version": 8, "done": [], "differences": []})
        self.assert_same()

    def test_what_is_printed_is_what_is_made(self):
        text = self.expect(self.schema(), OK).out
        self.cql(*(statement for statement in text.split(";\n") if statement.strip()))
        self.assert_same()
        self.expect(self.schema("--check", consistency="ALL"), OK)
        self.expect(self.schema("--check", consistency="TWO"), FAILED, "failed reading the "
                    "schema's version", "unavailable")
        statements = json.loads(self.expect(self.schema("--json"), OK).out)["statements"]
        self.assertEqual("\n".join(each["cql"] for each in statements), text)
        self.assertEqual(statements[0]["what"], f"keyspace {self.keyspace}")

    def test_classes_come_and_go(self):
        self.apply()
        missing = self.schema("--check", "--json", classes="36h,7d").differences()
        self.assertIn(("blocks_36h", "apply"),
                      [(each["table"], each["mend"]) for each in missing])
        self.assertTrue(all(each["table"].endswith("_36h") for each in missing), missing)
        self.expect(self.serve(classes="36h,7d"), FAILED,
                    "_36h is missing: run `varve schema --apply`")
        done = self.apply(classes="36h,7d")
        self.assertEqual(done.out.splitlines()[:-1],
                         [f"table {each['table']}: created" for each in missing])
        self.assert_same()  # a table that is not configured any more is left alone

    def test_apply_goes_on_where_it_was_cut_off(self):
        self.apply()
        self.cql(f"DROP TABLE {self.keyspace}.buckets",
                 f"DELETE FROM {self.keyspace}.varve_schema WHERE id = 'schema'")
        done = self.apply()
        self.assertEqual(done.out.splitlines()[:-1],
                         ["table buckets: created", "version 8: written"])
        self.assert_same()

    # ---- changed by hand

    def assert_mended(self, changes, *expected):
        """Differences as (table, what, found, wanted, breaks); their statements mend them."""
        self.cql(*(change.replace("@", self.keyspace) for change in changes))
        result = self.expect(self.schema("--check", "--json"), FAILED)
        differences = result.differences()
        self.assertEqual([(each["table"], each["what"], each["found"], each["wanted"],
                           each["breaks"]) for each in differences], list(expected))
        self.assertEqual({each["mend"] for each in differences}, {"alter"})
        before = self.schema("--apply", "--json")  # tells the same, and changes nothing
        self.assertEqual(before.differences(), differences)
        shown = self.schema("--check").out
        statements = list(dict.fromkeys(each["statement"] for each in differences))
        for statement in statements:
            self.assertEqual(shown.count(f"{statement};\n"), 1, shown)
        self.cql(*statements)
        self.assert_same()

    def test_changed_options(self):
        self.apply()
        window = "compaction.compaction_window_"
        self.assert_mended(
            ["ALTER TABLE @.runs WITH gc_grace_seconds = 14400 AND default_time_to_live = 60",
             "ALTER TABLE @.runs WITH read_repair = 'BLOCKING' AND speculative_retry = 'NEVER'"],
            ("runs", "gc_grace_seconds", "14400", "86400", False),
            ("runs", "default_time_to_live", "60", "0", False),
            ("runs", "speculative_retry", "NEVER", "99p", False),
            ("runs", "read_repair", "BLOCKING", "NONE", False))
        self.assert_mended(
            ["ALTER TABLE @.blocks_7d WITH compaction = {'class': 'TimeWindowCompactionStrategy', "
             "'compaction_window_unit': 'DAYS', 'compaction_window_size': 1, "
             "'tombstone_threshold': '0.5', 'max_threshold': 32}"],
            ("blocks_7d", window + "unit", "DAYS", "HOURS", False),
            ("blocks_7d", window + "size", "1", "6", False),
            ("blocks_7d", "compaction.tombstone_threshold", "0.5", "not set", False))
        self.assert_mended(
            ["ALTER TABLE @.blocks_forever WITH compaction = "
             "{'class': 'LeveledCompactionStrategy', 'sstable_size_in_mb': 160}",
             "ALTER TABLE @.runs WITH compression = {'enabled': 'false'}"],
            ("runs", "compression.class", "not set", "LZ4Compressor", False),
            ("blocks_forever", "compaction.class", "LeveledCompactionStrategy",
             "UnifiedCompactionStrategy", False))

    def test_changed_columns(self):
        self.apply()
        self.assert_mended(
            ['ALTER TABLE @.runs ADD "My note" text', "ALTER TABLE @.blocks_7d DROP parts"],
            ("runs", "column My note", "text", "no such column", False),
            ("blocks_7d", "column parts", "missing", "int", True))

    def test_changed_keyspace(self):
        self.apply()
        self.assert_mended(
            ["ALTER KEYSPACE @ WITH replication = "
             "{'class': 'SimpleStrategy', 'replication_factor': 1}"],
            ("", "replication.class", "SimpleStrategy", "NetworkTopologyStrategy", False))
        self.assert_mended(["ALTER KEYSPACE @ WITH durable_writes = false"],
                           ("", "durable_writes", "false", "true", True))
        differences = self.schema("--check", "--json", replication="dc1:2,dc2:1").differences()
        self.assertEqual([(each["what"], each["found"], each["wanted"], each["statement"])
                          for each in differences], [
            ("replication." + what, found, wanted, f"ALTER KEYSPACE {self.keyspace} WITH "
             "replication = {'class': 'NetworkTopologyStrategy', 'dc1': '2', 'dc2': '1'}")
            for what, found, wanted in (("dc1", "1", "2"), ("dc2", "not set", "1"))])
        self.cql(f"ALTER KEYSPACE {self.keyspace} WITH replication = "
                 "{'class': 'NetworkTopologyStrategy', 'dc1': 2}")
        self.expect(self.schema("--check"), FAILED, "unavailable",
                    "too few copies are up: start those hosts")

    def assert_broken(self, table, definition, *expected):
        """A table that no statement mends: only a new one does."""
        self.cql(f"DROP TABLE {self.keyspace}.{table}",
                 f"CREATE TABLE {self.keyspace}.{table} {definition}")
        result = self.expect(self.schema("--apply", "--json"), FAILED)
        differences = [each for each in result.differences() if each["breaks"]]
        self.assertEqual([(each["what"], each["found"], each["wanted"], each["mend"])
                          for each in differences], [each + ("none",) for each in expected])
        self.assertEqual({each["table"] for each in differences}, {table})
        self.expect(self.schema("--check"), FAILED, "only a new table", "can't be used as it is")
        self.expect(self.serve(), FAILED, f"the schema of keyspace {self.keyspace} was changed",
                    f"{table}: {expected[0][0]} is {expected[0][1]}, and should be "
                    f"{expected[0][2]}", "`varve schema --check` shows all")
        self.cql(f"DROP TABLE {self.keyspace}.{table}")
        self.apply()
        self.assert_same()

    def test_tables_of_another_shape(self):
        self.apply()
        self.assert_broken(
            "blocks_forever", f"({BLOCKS}, PRIMARY KEY {KEY})",
            ("column seal", "bigint, clustering 3", "bigint, clustering 3 descending"))
        self.assert_broken(
            "blocks_forever",
            f"({BLOCKS.replace('data blob', 'data text')}, PRIMARY KEY {KEY}) WITH {ORDER}",
            ("column data", "text", "blob"))
        self.assert_broken(
            "buckets", "(tenant text, source uuid, period int, bucket timestamp, bucket_s int, "
            "PRIMARY KEY ((tenant, source), period, bucket, bucket_s))",
            ("column period", "int, clustering 1", "int, partition key 3"),
            ("column bucket", "timestamp, clustering 2", "timestamp, clustering 1"),
            ("column bucket_s", "int, clustering 3", "int, clustering 2"))
        self.assert_broken(
            "buckets", "(tenant text, source uuid, period int, bucket timestamp, bucket_s int, "
            "more int, PRIMARY KEY ((tenant, source, period), bucket, bucket_s, more))",
            ("column more", "int, clustering 3", "no such column"))

    def test_tables_of_others_get_no_version(self):
        self.cql(f"CREATE KEYSPACE {self.keyspace} WITH replication = "
                 "{'class': 'NetworkTopologyStrategy', 'dc1': 1}",
                 f"CREATE TABLE {self.keyspace}.runs (name text PRIMARY KEY, miles int)")
        result = self.expect(self.schema("--apply", "--json"), FAILED)
        whats = {(each["table"], each["what"]) for each in result.differences()}
        self.assertIn(("runs", "column name"), whats)
        self.assertIn(("varve_schema", "version"), whats)
        self.assertEqual(json.loads(result.out)["version"], 0)

    # ---- versions

    def test_no_version(self):
        self.apply()
        self.set_version(0)
        difference, = self.schema("--check", "--json").differences()
        self.assertEqual((difference["what"], difference["found"], difference["wanted"],
                          difference["mend"]), ("version", "none", "8", "apply"))
        self.expect(self.serve(), FAILED, "run `varve schema --apply`")
        self.assertIn("version 8: written\n", self.apply().out)
        self.assert_same()

    def check_older(self, version, steps, tables):
        """A keyspace of that version, without what came later."""
        self.apply()
        self.cql(*(f"DROP TABLE {self.keyspace}.{table}" for table in tables))
        if version < 3:
            self.cql(f"ALTER TABLE {self.keyspace}.plans DROP share_bits")
        if version < 5:
            self.cql(f"ALTER TABLE {self.keyspace}.nodes DROP partial")
        if version < 6:
            self.cql(f"ALTER TABLE {self.keyspace}.nodes DROP tables",
                     f"ALTER TABLE {self.keyspace}.seals DROP purges")
        self.cql(*(f"ALTER TABLE {self.keyspace}.{table} DROP tail" for table in self.tables()
                   if version < 7 and table.startswith(("blocks_", "late_")) and table not in tables))
        self.set_version(version)
        self.expect(self.serve(), FAILED, "run `varve schema --apply`")
        self.assertEqual(self.apply().out.splitlines(), [
            *(f"version {step}: reached" for step in steps),
            *(f"table {table}: created" for table in tables),
            f"keyspace {self.keyspace}: ready, version 8"])
        self.assert_same()

    def test_a_keyspace_without_tables_of_late_points_gets_them(self):
        self.apply()
        late = [table for table in self.tables() if table.startswith("late_")]
        self.assertIn("late_forever", late)
        self.check_older(1, (2, 3, 4, 5, 6, 7, 8), [*late, "shared_runs", "places", "moves", "purges"])

    def test_a_keyspace_without_shared_runs_gets_them(self):
        self.check_older(2, (3, 4, 5, 6, 7, 8), ["shared_runs", "places", "moves", "purges"])

    def test_a_keyspace_from_before_cohorts_gets_the_version(self):
        self.check_older(3, (4, 5, 6, 7, 8), ["places", "moves", "purges"])

    def test_a_keyspace_without_places_gets_them(self):
        self.check_older(4, (5, 6, 7, 8), ["places", "moves", "purges"])

    def test_a_keyspace_from_before_purging_gets_what_it_needs(self):
        self.check_older(5, (6, 7, 8), ["moves", "purges"])

    def test_a_keyspace_without_tails_gets_them(self):
        self.check_older(6, (7, 8), ["moves"])

    def test_a_keyspace_without_moves_gets_them(self):
        self.check_older(7, (8,), ["moves"])

    def test_newer_version(self):
        self.apply()
        self.set_version(9)
        self.cql(f"DROP TABLE {self.keyspace}.buckets")
        newer = (f"keyspace {self.keyspace} has the schema of a newer Varve (version 9, this one "
                 "knows 8): upgrade Varve")
        self.expect(self.schema("--check"), FAILED, newer)
        self.expect(self.schema("--apply"), FAILED, newer)
        self.expect(self.serve(), FAILED, newer)
        rows, = self.cql("SELECT table_name FROM system_schema.tables WHERE keyspace_name = "
                         f"'{self.keyspace}' AND table_name = 'buckets'")
        self.assertEqual(rows, [])


class TestAccess(Program, CassandraTest):
    """Who is turned away is told why, and what to do."""

    def test_passwords_and_certificates(self):
        cluster = self.cluster(nodes=1, authentication=True, tls="mutual")
        folder = cluster.certificates
        secret = folder / "password"
        secret.write_text("cassandra\n")
        usual = {"contact_points": cluster.contact_points[0], "replication": "dc1:1",
                 "classes": "", "user": "cassandra", "password_file": secret, "tls": "true",
                 "tls_ca": folder / "ca.pem", "tls_certificate": folder / "client.pem",
                 "tls_key": folder / "client.key"}
        self.expect(self.run_program("schema", "--apply", **usual), OK, "ready, version 8")

        wrong = folder / "wrong"
        wrong.write_text("s3cret")
        login = "hint: set cassandra.user, and cassandra.password_file"
        trust = "hint: cassandra.tls_certificate and cassandra.tls_key must be of a client"
        for changed, *needles in (
                ({"password_file": wrong}, "incorrect", login),
                ({"user": "", "password_file": ""}, "needs user and password", login),
                ({"tls_ca": folder / "other-ca.pem"}, "authority that is not in", "hint: "
                 "cassandra.tls_ca must name"),
                ({"tls_certificate": "", "tls_key": ""}, "client certificate", trust),
                ({"tls_certificate": folder / "other-client.pem",
                  "tls_key": folder / "other-client.key"}, trust)):
            with self.subTest(**changed):
                result = self.run_program("schema", "--check", **usual | changed)
                self.expect(result, FAILED, "varve: error: ", *needles)
                self.assertEqual(len(result.err.splitlines()), 2, result)
                self.assertNotIn("s3cret", result.err)
        self.expect(self.run_program("schema", "--check", **usual | {
            "tls_certificate": folder / "expired-client.pem",
            "tls_key": folder / "expired-client.key"}), USAGE, "has expired on",
            "hint: the files of TLS are")
        self.expect(self.run_program("schema", "--check", **usual | {
            "tls": "false", "tls_ca": "", "tls_certificate": "", "tls_key": ""}), UNREACHABLE,
            "cassandra.tls too?")
        self.check_permissions(cluster, usual, secret)

    def check_permissions(self, cluster, usual, secret):
        cluster.execute("CREATE ROLE limited WITH LOGIN = true AND PASSWORD = 'cassandra'")
        limited = usual | {"user": "limited", "password_file": secret}
        self.expect(self.run_program("schema", "--check", **limited), FAILED, "unauthorized",
                    "grant cassandra.user SELECT and MODIFY")
        cluster.execute("GRANT SELECT ON KEYSPACE varve TO limited")
        deadline = time.monotonic() + PATIENCE_S
        result = self.run_program("schema", "--check", **limited)
        while result.code != OK and time.monotonic() < deadline:  # permissions are cached
            result = self.run_program("schema", "--check", **limited)
        self.expect(result, OK)
        self.expect(self.run_program("schema", "--apply", **limited | {"classes": "7d"}), FAILED,
                    "unauthorized", "CREATE and ALTER too for `varve schema --apply`")

    def test_certificates_of_servers(self):
        cluster = self.cluster(nodes=1, tls="server", server_certificate="expired-server")
        usual = {"contact_points": cluster.contact_points[0], "tls": "true",
                 "tls_ca": cluster.certificates / "ca.pem"}
        self.expect(self.run_program("schema", "--check", **usual), FAILED, "has expired",
                    "hint: renew that host's certificate")
        node, = cluster.nodes
        node.stop()
        node.configuration["client_encryption_options"]["keystore"] = str(
            cluster.certificates / "misnamed-server-both.pem")
        node.start()
        self.expect(self.run_program("schema", "--check", **usual), FAILED,
                    "is not for that address", "hint: put the name that the certificate has")
        self.expect(self.run_program("schema", "--check", tls_skip_name_check="true", **usual),
                    FAILED, "keyspace varve differs in 1 place")


if __name__ == "__main__":
    unittest.main()
