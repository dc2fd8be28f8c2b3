# SPDX-License-Identifier: Apache-2.0
"""What has expired goes as whole SSTables: none is written again for it.

The days that this takes pass at once: Cassandra and Varve read the same clock, which runs ahead as
the test wants (faults.c)."""
import contextlib
import os
import pathlib
import re
import shutil
import tempfile
import time

from cassandra_process import ClusterTest, main
from expectation import DAY, HOUR, MINUTE, SECOND
from varve_process import FAULTS_LIBRARY, Faults, wait_until

ROUND = 20 * MINUTE  # of time that passes; windows are shorter
BUCKET = 5 * MINUTE
LIFE = HOUR + HOUR   # the retention, and cassandra.slack
GRACE = DAY          # gc_grace_seconds

TENANTS = {"blocks": "1h", "rows": "1h", "long": "forever"}
SOURCES = 5


class Expiry(ClusterTest):
    CLUSTER = {"nodes": 1}
    REPLICATION = "dc1:1"
    STORE = {"cassandra.classes": "1h", "cassandra.rows_tenants": "rows"}
    SETTINGS = {"cassandra.slack": "1h", "partition.bucket": "5m", "partition.span": "5m",
                "seal.lateness": "1s", "seal.quiet": "0s", "seal.spread": "1s",
                "seal.interval": "200ms"}
    EXPIRING = ("shared_runs", "blocks_1h", "rows_1h")

    @classmethod
    def setUpClass(cls):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="varve-test-"))
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.world = Faults(folder / "faults")
        cls.clock = cls.world.rule("clock", "", value=0)
        cls.ahead = 0
        with cls.with_its_clock():
            super().setUpClass()

    @classmethod
    @contextlib.contextmanager
    def with_its_clock(cls):
        """Java programs that start meanwhile have the test's clock."""
        about = {"LD_PRELOAD": FAULTS_LIBRARY, "VARVE_FAULTS_FILE": str(cls.world.path)}
        os.environ.update(about)
        try:
            yield
        finally:
            for name in about:
                del os.environ[name]

    # ---- time

    def now(self):
        return time.time_ns() + self.ahead

    def pass_until(self, at):
        cls = type(self)
        cls.ahead = max(self.ahead, at - time.time_ns())
        self.clock.change(self.ahead)

    # ---- data

    def write(self, server, at):
        """A minute of points of all tenants."""
        for tenant in TENANTS:
            self.assertStatus(server.write(
                [f"m,source={source} v={number} {at - number * SECOND}"
                 for source in range(SOURCES) for number in range(60)], tenant), 204)

    def settle(self, server):
        """All is sealed, and in SSTables."""
        self.assertStatus(server.flush(seal=True), 204)
        self.node.nodetool("flush", self.keyspace)

    def files(self, table):
        """The SSTables of a table, each with what changes when it is written: {name: state}."""
        found = {}
        for path in self.node.sstables(self.keyspace, table):
            with contextlib.suppress(FileNotFoundError):  # it goes just now
                about = path.stat()
                found[path.name] = (about.st_ino, about.st_size, about.st_mtime_ns)
        return found

    def window_of(self, table):
        """Nanoseconds of a TWCS window of the table."""
        (row,), = self.cluster.execute(
            "SELECT compaction FROM system_schema.tables WHERE "
            f"keyspace_name = '{self.keyspace}' AND table_name = '{table}'")
        unit, size = (re.search(rf"'compaction_window_{key}': '(\w+)'", str(row)).group(1)
                      for key in ("unit", "size"))
        return {"MINUTES": MINUTE, "HOURS": HOUR}[unit] * int(size)

    def assertInOneWindow(self, table):
        """Each SSTable has what was written in one window only."""
        window = self.window_of(table)
        self.assertLessEqual(window, ROUND)
        for path in self.node.sstables(self.keyspace, table):
            metadata = self.node.sstable_metadata(path)
            least, most = (int(re.search(rf"(?mi)^{word} timestamp: (\d+)", metadata).group(1))
                           for word in ("minimum", "maximum"))
            self.assertLess(most - least, window / 1000, metadata)

    def compactions(self):
        """Those of the tables that expire: [(table, bytes read, bytes written)]."""
        rows, = self.cluster.execute("SELECT * FROM system.compaction_history")
        return [(row["columnfamily_name"], row["bytes_in"], row["bytes_out"]) for row in rows
                if row["keyspace_name"] == self.keyspace
                and row["columnfamily_name"] in self.EXPIRING]

    # ---- the test

    def test_expired_windows_go_as_whole_sstables(self):
        self.node, = self.cluster.nodes
        server = self.server(faults=self.world).start()
        self.keyspace = server.settings["cassandra.keyspace"]
        for tenant, retention in TENANTS.items():
            self.assertStatus(server.set_tenant(tenant, retention), 200)
        begins, after = [], []
        for number in range(4):
            self.pass_until((self.now() // ROUND + 1) * ROUND + BUCKET)
            begins.append(self.now())
            self.write(server, begins[-1])
            if number == 2:  # late ones: the span is sealed again, in a later window
                self.write(server, begins[1] + MINUTE)
            self.settle(server)
            after.append({table: self.files(table) for table in self.EXPIRING})
        for table in self.EXPIRING:
            with self.subTest(table=table):
                counts = [len(files[table]) for files in after]
                self.assertEqual(counts, sorted(set(counts)), "each round has files of its own")
                self.assertInOneWindow(table)

        # The first two rounds have expired; unsealed data lives shorter.
        self.pass_until(begins[1] + BUCKET + LIFE + GRACE + MINUTE)
        self.write(server, self.now())
        self.settle(server)
        self.wait_gone("shared_runs", after[3]["shared_runs"], {})
        for table in ("blocks_1h", "rows_1h"):
            self.wait_gone(table, after[1][table], self.newer(after[3][table], after[1][table]))
        self.check_answers(server, 6, 1)

        self.pass_until(begins[3] + BUCKET + LIFE + GRACE + MINUTE)
        self.write(server, self.now())
        self.settle(server)
        for table in self.EXPIRING:
            self.wait_gone(table, after[3][table], {})
        self.check_answers(server, 7, 2)

        compactions = self.compactions()
        self.assertTrue(compactions)
        self.assertEqual({(read, written) for _, read, written in compactions}, {(0, 0)})
        self.cluster.keep_schema()  # the tool reads what is on disk
        with self.with_its_clock():
            for table in self.EXPIRING:
                self.assertEqual(self.node.expired_blockers(self.keyspace, table).strip(), "")
        server.stop()

    @staticmethod
    def newer(files, before):
        return {name: state for name, state in files.items() if name not in before}

    def wait_gone(self, table, gone, kept):
        """Until none of the first are left; the others are what they were."""
        wait_until(lambda: not self.files(table).keys() & gone.keys(),
                   f"{sorted(gone)} of {table} go")
        now = self.files(table)
        self.assertEqual({name: now.get(name) for name in kept}, kept)

    def check_answers(self, server, written, young):
        """How many minutes are answered of what is kept for ever, and of the others."""
        for tenant, retention in TENANTS.items():
            minutes = written if retention == "forever" else young
            self.assertEqual(len(server.rows(tenant)), minutes * 60 * SOURCES, tenant)


if __name__ == "__main__":
    main()
