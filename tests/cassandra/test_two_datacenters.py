# SPDX-License-Identifier: Apache-2.0
"""Varve in one data centre of two: what happens to the other one is nothing to it, and no request
goes there."""
import random
import re
import threading

from cassandra_process import SYNCED, ClusterTest, main
from expectation import Book, Check, Writer
from varve_process import Threads, seed_of_this_run

PAUSE_S = 0.02  # between two batches of a writer: the processor is for Cassandra too


class TwoDatacenters(ClusterTest):
    CLUSTER = {"datacenters": {"dc1": 3, "dc2": 1}, "options": SYNCED}
    REPLICATION = "dc1:3,dc2:1"
    STORE = {"cassandra.classes": "30d", "cassandra.local_datacenter": "dc1"}
    SETTINGS = {"head.flush_bytes": "1MiB", "head.flush_age": "1s", "partition.bucket": "10m",
                "partition.span": "5m", "seal.lateness": "1s", "seal.quiet": "0s",
                "seal.spread": "1s", "seal.interval": "200ms"}

    def setUp(self):
        super().setUp()
        self.near = self.cluster.in_datacenter("dc1")
        self.far, = self.cluster.in_datacenter("dc2")
        self.addCleanup(self.bring_back)

    def bring_back(self):
        if self.far.paused:
            self.far.resume()

    def load(self, server, book, seed):
        stop = threading.Event()
        writers = [Writer(book, n, random.Random(seed + n), f"t{n % 2}", wild=False)
                   for n in range(2)]
        return Threads([lambda each=each: each.run(server, stop, PAUSE_S) for each in writers],
                       stop)

    def works(self, server, threads, book):
        """Until more is accepted, flushed, sealed and read."""
        batches = book.batches_acknowledged + 50
        before = server.metrics()

        def more(name, n):
            return server.metrics().sum(name) >= before.sum(name) + n
        threads.wait_until(lambda: book.batches_acknowledged >= batches, "writes go on")
        threads.wait_until(lambda: more("varve_flushes_total", 3), "flushes go on")
        threads.wait_until(lambda: more("varve_seals_total", 3), "seals go on")
        for _ in range(5):
            self.assertTrue(server.rows("t0", metric="*"))
        return before

    def assertStaysNear(self, server):
        """Cassandra's own word for it, and Varve's."""
        self.assertIn("Total connected clients: 0", self.far.nodetool("clientstats"))
        for node in self.near:
            self.assertRegex(node.nodetool("clientstats", "--all"), r"(?m)^/.* vvcql ")
        self.assertRegex(server.log(), rf'host_added message="{self.far.contact_point} in dc2')
        self.assertEqual(set(re.findall(r"host_up .* in (\w+)", server.log())), {"dc1"})

    def test_the_other_one_hangs_and_all_goes_on(self):
        seed = seed_of_this_run()
        server = self.server().start()
        book = Book()
        check = Check(book)
        with self.load(server, book, seed) as threads:
            self.works(server, threads, book)
            self.far.pause()
            before = self.works(server, threads, book)
            self.cluster.wait_until_down(self.far)
            self.works(server, threads, book)
            now = server.metrics()
            for name in ("flush_failures", "seal_failures", "store_recoveries"):
                self.assertEqual(now.sum(f"varve_{name}_total"), before.sum(f"varve_{name}_total"))
        self.assertStatus(server.flush(seal=True), 204)
        check.rows(server, "while the other one hangs", restarted=False)
        server.kill().start()
        check.accepted(server, "started while the other one hangs")
        check.rows(server, "started while the other one hangs")
        self.far.resume()
        self.cluster.wait_until_up(self.far)
        with self.load(server, book, seed + 10) as threads:
            self.works(server, threads, book)
        self.assertStatus(server.flush(seal=True), 204)
        check.rows(server, "at the end", restarted=False)
        check.raise_problems(self, "durable", "once", "newest", "conserved")
        self.assertStaysNear(server)
        server.stop()


if __name__ == "__main__":
    main()
