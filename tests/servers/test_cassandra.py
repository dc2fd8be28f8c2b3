# SPDX-License-Identifier: Apache-2.0
"""tools/cassandra: clusters come up, break on order, and leave nothing behind."""
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "cassandra"
sys.path.insert(0, str(TOOL))

# pylint: disable=wrong-import-position # they are found only now
import cql
import fetch
from addresses import Place
from cluster import Cluster
from processes import wait_until

PATIENCE_S = 120


def exists(pid):
    """Whether there is a process that has not ended; one that nobody waited for has."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rsplit(")", 1)[1].split()[0] not in "ZX"


class CassandraTest(unittest.TestCase):
    """Skips, and says why, where there is no Cassandra to be had."""

    @classmethod
    def setUpClass(cls):
        try:
            fetch.java()
            fetch.jars()
            fetch.python_driver()
        except fetch.Unreachable as error:
            print(f"SKIPPED, NO CASSANDRA HERE: {error}", file=sys.stderr, flush=True)
            raise unittest.SkipTest(str(error)) from None

    def cluster(self, **options):
        """One that runs until the test is over."""
        cluster = Cluster(**options)
        self.addCleanup(cluster.close)
        cluster.start()
        return cluster

    def close(self, cluster):
        """Ends it; must leave nothing behind."""
        pids = [node.pid for node in cluster.nodes if node.pid]
        folder = cluster.folder
        self.assertTrue(pids and all(map(exists, pids)) and folder.is_dir())
        cluster.close()
        self.assertFalse(any(map(exists, pids)))
        self.assertFalse(folder.exists())


class TestFaults(CassandraTest):
    def test_three_nodes_and_their_faults(self):
        cluster = self.cluster(nodes=3)
        first, second, third = cluster.nodes
        everyone = {node.address: "UN" for node in cluster.nodes}
        for node in cluster.nodes:
            self.assertEqual(node.states(), everyone)
        cluster.execute(
            "CREATE KEYSPACE k WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': 3}",
            "CREATE TABLE k.t (id int PRIMARY KEY, word text)",
            "INSERT INTO k.t (id, word) VALUES (1, 'before')", datacenter="dc1")

        third.kill()
        cluster.wait_until_down(third)
        self.assertEqual(second.states(), everyone | {third.address: "DN"})
        cluster.execute("INSERT INTO k.t (id, word) VALUES (2, 'between')", datacenter="dc1")
        third.start()
        cluster.wait_until_up(third)
        self.assertEqual(first.states(), everyone)
        self.assertEqual(third.states(), everyone)

        pid = second.pid
        second.pause()
        self.assertFalse(second.is_running())
        cluster.wait_until_down(second)
        self.assertEqual(third.states(), everyone | {second.address: "DN"})
        second.resume()
        cluster.wait_until_up(second)
        self.assertEqual(second.pid, pid)
        self.assertEqual(third.states(), everyone)

        second.nodetool("flush", "k", "t")
        data = second.sstables("k", "t")
        self.assertTrue(data)
        self.assertRegex(second.sstable_metadata(data[0]), r"(?m)^totalRows: [12]$")
        self.assertEqual(second.expired_blockers("k", "t").strip(), "")

        first.stop()  # says goodbye: nobody waits for a missing heartbeat
        cluster.wait_until_down(first)
        second.kill()
        third.kill()
        first.start()  # any node can start without the others
        second.launch()
        third.start()
        cluster.wait_until_up(second)
        cluster.wait_until_up(third)
        self.assertEqual(first.states(), everyone)
        rows, = cluster.execute("SELECT id, word FROM k.t", nodes=[first], datacenter="dc1")
        self.assertEqual(sorted(row["word"] for row in rows), ["before", "between"])
        self.close(cluster)


class TestDatacenters(CassandraTest):
    def test_two_datacenters(self):
        cluster = self.cluster(datacenters={"dc1": 3, "dc2": 1})
        self.assertEqual([len(cluster.in_datacenter(name)) for name in ("dc1", "dc2")], [3, 1])
        far, = cluster.in_datacenter("dc2")
        self.assertEqual(far.states(), {node.address: "UN" for node in cluster.nodes})
        _, _, _, rows = cluster.execute(
            "CREATE KEYSPACE k WITH replication = "
            "{'class': 'NetworkTopologyStrategy', 'dc1': 3, 'dc2': 1}",
            "CREATE TABLE k.t (id int PRIMARY KEY)",
            "INSERT INTO k.t (id) VALUES (1)",
            "SELECT peer, data_center FROM system.peers", nodes=[far], datacenter="dc2")
        self.assertEqual({row["peer"]: row["data_center"] for row in rows},
                         {node.address: "dc1" for node in cluster.in_datacenter("dc1")})
        self.close(cluster)


class TestSecurity(CassandraTest):
    def test_passwords_and_certificates(self):
        cluster = self.cluster(nodes=1, authentication=True, tls="mutual")
        question = "SELECT release_version FROM system.local"
        rows, = cluster.execute(question)
        self.assertEqual(rows, [{"release_version": fetch.VERSION}])
        for how in ({"password": "wrong"}, {"user": None}, {"client": None},
                    {"client": "expired-client"}, {"client": "other-client"}):
            with self.subTest(**how), self.assertRaises(cql.Refused) as caught:
                cluster.execute(question, **how)
            self.assertIn("NoHostAvailable", str(caught.exception))
        self.close(cluster)

    def test_server_certificates(self):
        cluster = self.cluster(nodes=1, tls="server", server_certificate="expired-server")
        with self.assertRaisesRegex(cql.Refused, "certificate has expired"):
            cluster.execute("SELECT key FROM system.local")
        node, = cluster.nodes
        for name in ("misnamed-server", "server"):
            node.kill()
            node.configuration["client_encryption_options"]["keystore"] = str(
                cluster.certificates / f"{name}-both.pem")
            node.start()
            rows, = cluster.execute("SELECT key FROM system.local", client=None)
            self.assertEqual(rows, [{"key": "local"}])
            found = subprocess.run(
                ["openssl", "s_client", "-connect", node.contact_point, "-CAfile",
                 cluster.certificates / "ca.pem", "-verify_ip", node.address],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S).stdout
            self.assertEqual("Verify return code: 0" in found, name == "server", found)
        self.close(cluster)


class TestEnd(CassandraTest):
    """What is left when the Python process that started it ends."""

    def start(self, *arguments):
        """The program in a temporary folder of its own; waits until the cluster is up."""
        folder = tempfile.TemporaryDirectory(prefix="varve-test-")
        self.addCleanup(folder.cleanup)
        process = subprocess.Popen(
            [sys.executable, "-B", TOOL, *arguments], stdout=subprocess.PIPE, text=True,
            env={**os.environ, "TMPDIR": folder.name})
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, pathlib.Path(folder.name)

    def assert_nothing_left(self, folder, pids):
        wait_until(lambda: not any(map(exists, pids)), f"processes {pids} end", PATIENCE_S)
        wait_until(lambda: not any(folder.iterdir()), f"{folder} is empty", PATIENCE_S)

    def test_python_is_ended(self):
        for number in (signal.SIGKILL, signal.SIGINT):
            with self.subTest(signal=number):
                command = "echo $VARVE_CASSANDRA $VARVE_CASSANDRA_PIDS $$; exec sleep 600"
                process, folder = self.start("run", "--nodes", "1", "--", "sh", "-c", command)
                said = process.stdout.readline()
                match = re.fullmatch(r"([\d.]+):9042 (\d+) (\d+)\n", said)
                self.assertTrue(match, said)
                socket.create_connection((match.group(1), 9042)).close()
                pids = [int(match.group(index)) for index in (2, 3)]
                self.assertTrue(all(map(exists, pids)))
                process.send_signal(number)
                code = process.wait(PATIENCE_S)
                self.assertEqual(code, -9 if number == signal.SIGKILL else 128 + number)
                self.assert_nothing_left(folder, pids)

    def test_exit_codes(self):
        process, folder = self.start("run", "--nodes", "1", "--", "sh", "-c", "exit 3")
        self.assertEqual(process.wait(PATIENCE_S), 3)
        self.assert_nothing_left(folder, [])

    def test_the_thread_that_started_it_may_end(self):
        cluster = Cluster(nodes=1)
        self.addCleanup(cluster.close)
        thread = threading.Thread(target=cluster.start)
        thread.start()
        thread.join()
        rows, = cluster.execute("SELECT key FROM system.local")
        self.assertEqual(rows, [{"key": "local"}])
        beside = Place(1)  # what a second cluster would take
        self.addCleanup(beside.free)
        self.assertNotEqual(beside.addresses[0], cluster.nodes[0].address)
        self.close(cluster)


class TestWithoutCassandra(unittest.TestCase):
    """These need neither Java nor a network."""

    def test_exit_code_when_it_cannot_be_had(self):
        with tempfile.TemporaryDirectory(prefix="varve-test-") as folder:
            done = subprocess.run(
                [sys.executable, "-B", TOOL, "run", "--", sys.executable], capture_output=True,
                text=True, timeout=PATIENCE_S,
                env={**os.environ, "VARVE_CACHE": folder, "PATH": folder})
            self.assertEqual(os.listdir(folder), [f"cassandra-{fetch.VERSION}.lock"]
                             if "Maven" in done.stderr else [])
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertIn("NO CASSANDRA HERE: ", done.stderr)

    def test_one_fetches_and_the_others_wait(self):
        with tempfile.TemporaryDirectory(prefix="varve-test-") as folder:
            program = ("import fetch, sys\n"
                       "def make(part, final):\n"
                       "    (part / 'file').write_text('whole')\n"
                       "    print('made')\n"
                       "print((fetch._once('name', make) / 'file').read_text())\n")
            processes = [
                subprocess.Popen([sys.executable, "-B", "-c", program], stdout=subprocess.PIPE,
                                 text=True, env={**os.environ, "VARVE_CACHE": folder}, cwd=TOOL)
                for _ in range(4)]
            said = [process.communicate(timeout=PATIENCE_S)[0] for process in processes]
            self.assertEqual(sorted(said), ["made\nwhole\n"] + ["whole\n"] * 3)
            self.assertEqual(sorted(os.listdir(folder)), ["name", "name.lock"])


if __name__ == "__main__":
    unittest.main()
