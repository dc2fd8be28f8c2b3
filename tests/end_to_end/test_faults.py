# SPDX-License-Identifier: Apache-2.0
"""Disks that fail, wait and fill up under the journal or the store."""
import errno
import random
import threading
import time
import unittest

from expectation import SECOND, Book, Check, Writer, fill
from varve_process import (SECONDS, Threads, VarveTest, embedded_only, memory_factor,
                           seed_of_this_run, wait_until)

MIB = 1 << 20

SETTINGS = {
    "head.flush_bytes": "1MiB",
    "head.flush_age": "1s",
    "head.bytes_max": "16MiB",
    "journal.segment_bytes": "1MiB",
    "partition.bucket": "10m",
    "partition.span": "5m",
    "seal.lateness": "1s",
    "seal.quiet": "0s",
    "seal.spread": "1s",
    "seal.interval": "200ms",
}


def load(server, book, seed, first=0):
    """Writers in threads, as long as the `with` lasts; `book` knows what they were told."""
    stop = threading.Event()
    writers = [Writer(book, first + n, random.Random(seed + n), f"t{n % 2}") for n in range(4)]
    return Threads([lambda each=each: each.run(server, stop) for each in writers], stop)


def wait_for_batches(threads, book, n):
    """Until n more are acknowledged."""
    target = book.batches_acknowledged + n
    threads.wait_until(lambda: book.batches_acknowledged >= target,
                       f"{n} more batches are acknowledged")


class FaultsTest(VarveTest):
    SETTINGS = SETTINGS

    def setUp(self):
        super().setUp()
        self.disk = self.faults()
        self.varve = self.server(faults=self.disk)

    def assertConserved(self, server):
        """Guarantee 7 within a process's life, once no write is under way."""
        metrics = server.metrics()
        for tenant in {labels["tenant"] for name, labels, _ in metrics.samples
                       if name == "varve_points_received_total"}:
            received = metrics.sum("varve_points_received_total", tenant=tenant)
            parts = [metrics.get(f"varve_points_{part}_total", tenant=tenant)
                     for part in ("accepted", "refused", "unknown")]
            self.assertEqual(received, sum(parts), f"{tenant}: accepted, refused, unknown: {parts}")

    def assertTakesWrites(self, server):
        self.assertEqual(server.get("/ready").status, 200)
        self.assertStatus(server.write(f"after v=1 {time.time_ns()}", "other"), 204)


class FailingJournal(FaultsTest):
    FAULTS = [
        ("sync", {"error": errno.EIO}),
        ("sync", {"error": errno.EIO, "count": 1}),
        ("sync", {"error": errno.EIO, "count": 2}),
        ("sync", {"error": errno.ENOSPC, "count": 5}),
        ("write", {"error": errno.EIO, "torn": True}),
        ("write", {"error": errno.ENOSPC, "torn": True, "count": 3}),
        ("write truncate", {"error": errno.EIO, "torn": True, "count": 2}),
        ("allocate", {"error": errno.ENOSPC}),
        ("create", {"error": errno.EMFILE}),
        ("rename", {"error": errno.EIO, "count": 2}),
    ]

    def test_acknowledged_is_durable_while_the_journal_fails(self):
        """Nothing acknowledged is lost, nothing refused ever comes, nothing unknown is seen before
        a restart."""
        seed = seed_of_this_run()
        chance = random.Random(seed)
        server = self.varve.start()
        book = Book()
        check = Check(book)
        deadline = time.monotonic() + SECONDS / 3
        rounds, acted = 0, 0
        while time.monotonic() < deadline or rounds < len(self.FAULTS):
            with load(server, book, seed + rounds, first=rounds * 10) as threads:
                for _ in range(3):
                    operations, fault = self.FAULTS[rounds % len(self.FAULTS)]
                    wait_for_batches(threads, book, chance.randrange(1, 20))
                    with self.disk.rule(operations, "/journal/", **fault) as rule:
                        target = book.batches_acknowledged + 20
                        threads.wait_until(lambda: rule.acted >= min(rule_count(fault), 4) or
                                           book.batches_acknowledged >= target,
                                           "the fault acts")
                        acted += rule.acted
                    rounds += 1
                wait_for_batches(threads, book, 5)  # it heals by itself
            self.assertConserved(server)
            check.rows(server, f"before a restart, round {rounds}", restarted=False)
            server.kill().start()
            check.accepted(server, f"round {rounds}")
            check.rows(server, f"after a restart, round {rounds}")
        check.raise_problems(self, "durable", "once", "newest", "conserved")
        self.assertGreater(book.batches_refused, 0)
        self.assertGreater(book.batches_open, 0)
        print(f"{rounds} faults, {acted} calls failed: {book.batches_acknowledged} batches "
              f"acknowledged, {book.batches_refused} refused, {book.batches_open} unknown")
        server.stop()

    def start_lazy(self):
        """Nothing but writes meets the fault."""
        self.varve.settings["head.flush_age"] = "1h"
        return self.varve.start()

    def test_refused_is_never_there(self):
        server = self.start_lazy()
        self.assertStatus(server.write("a v=1 1000000000"), 204)
        with self.disk.rule("sync", "/journal/", error=errno.EIO, count=1) as rule:
            answer = server.write("a v=2 2000000000")
            self.assertEqual(rule.acted, 1)
        self.assertStatus(answer, 503, "io_error")
        self.assertIn("Retry-After", answer.headers)
        self.assertEqual(answer.json()["accepted"], 0)
        self.assertEqual([at for _, _, at, _ in server.rows(metric="*")], [SECOND])
        server.kill().start()
        self.assertEqual([at for _, _, at, _ in server.rows(metric="*")], [SECOND])
        self.assertStatus(server.write("a v=2 2000000000"), 204)
        self.assertEqual([at for _, _, at, _ in server.rows(metric="*")], [SECOND, 2 * SECOND])
        server.stop()

    def test_an_unknown_outcome_is_answered_as_unknown(self):
        """The sync fails, and so does the cut of what was written."""
        server = self.start_lazy()
        self.assertStatus(server.write("a v=1 1000000000"), 204)
        for restarted in (False, True):
            with self.disk.rule("sync", ".seg", error=errno.EIO, count=2) as rule:
                answer = server.write("a v=2 2000000000")
                self.assertEqual(rule.acted, 2)
            self.assertStatus(answer, 500, "outcome_unknown")
            self.assertEqual([at for _, _, at, _ in server.rows(metric="*")], [SECOND])
            metrics = server.metrics()
            self.assertEqual(metrics.sum("varve_points_unknown_total"), 1)
            self.assertConserved(server)
            accepted = metrics.sum("varve_points_accepted_ever_total")
            if restarted:
                server.kill().start()
                rows = server.rows(metric="*")
                self.assertIn([at for _, _, at, _ in rows], ([SECOND], [SECOND, 2 * SECOND]))
                self.assertEqual(server.metrics().sum("varve_points_accepted_ever_total"),
                                 accepted + len(rows) - 1)
            else:
                self.assertStatus(server.write("b v=1 1000000000", "other"), 204)
                server.kill().start()  # another commit came after it, so it never comes
                self.assertEqual([at for _, _, at, _ in server.rows(metric="*")], [SECOND])
        self.assertStatus(server.write("a v=2 2000000000"), 204)
        self.assertEqual([(at, value) for _, _, at, value in server.rows(metric="*")],
                         [(SECOND, "1"), (2 * SECOND, "2")])
        server.stop()


def rule_count(fault):
    return fault.get("count", 1 << 30)


class SlowSyncs(FaultsTest):
    REQUESTS = 150

    def test_many_requests_share_one_sync_and_nobody_else_waits(self):
        server = self.varve.start()
        self.assertStatus(server.write("before v=1 1000000000"), 204)
        before = server.metrics()
        answers = []
        lines = [f"slow v={n} {(n + 1) * SECOND}" for n in range(self.REQUESTS)]
        bodies = before.sum("varve_http_received_bytes_total") + sum(map(len, lines))
        slow = self.disk.rule("sync", "/journal/", waits=True)
        tasks = [lambda line=line: answers.append(server.write(line)) for line in lines]
        with Threads(tasks) as threads, slow:
            threads.wait_until(lambda: slow.waiting == 1, "a sync waits")
            server.wait_metric(lambda now: now.sum("varve_http_received_bytes_total") >= bodies,
                               "all bodies have come")
            for _ in range(20):
                self.assertEqual(server.get("/health").status, 200)
                self.assertEqual(server.get("/ready").status, 200)
                self.assertEqual(server.get("/metrics").status, 200)
                self.assertEqual([at for _, _, at, _ in server.rows(metric="*")], [SECOND])
                self.assertEqual(server.get("/api/v1/tenants").status, 200)
            self.assertEqual((slow.waiting, answers), (1, []), "the sync was over too early")
        self.assertEqual([answer.status for answer in answers], [204] * self.REQUESTS)
        syncs = server.metrics().sum("varve_journal_syncs_total") - \
            before.sum("varve_journal_syncs_total")
        self.assertLessEqual(syncs, self.REQUESTS / 10)
        self.assertEqual(len(server.rows(metric="slow.v")), self.REQUESTS)
        server.stop()


class FailingStore(FaultsTest):
    FAULTS = [
        ("sync", {"error": errno.EIO}),
        ("write", {"error": errno.EIO, "torn": True}),
        ("write", {"error": errno.ENOSPC, "torn": True}),
        ("create", {"error": errno.ENOSPC}),
        ("sync create rename write truncate allocate", {"error": errno.EIO}),
    ]

    @embedded_only("on Cassandra it is ready while the store fails: see cassandra/cluster")
    def test_a_failing_store_is_503_and_heals_without_a_restart(self):
        server = self.varve.start()
        book = Book()
        check = Check(book)
        client = server.client()
        self.addCleanup(client.close)
        pending = Writer(book, 1000, random.Random(1), "t0")
        for number, (operations, fault) in enumerate(self.FAULTS):
            with load(server, book, number, first=number * 10) as threads:
                wait_for_batches(threads, book, 20)
                with self.disk.rule(operations, "/store/", **fault) as rule:
                    pending.send(client)  # so that there is something to flush
                    flushed = server.flush()
                    self.assertGreaterEqual(flushed.status, 500, flushed)
                    wait_until(lambda: server.get("/ready").status == 503, "it is not ready")
                    self.assertGreater(rule.acted, 0)
                    self.assertIn("store", server.get("/ready").json()["reason"])
                    self.assertEqual(server.get("/health").status, 200)
                    answer = server.write("a v=1 1000000000")
                    self.assertStatus(answer, 503)
                    self.assertIn("Retry-After", answer.headers)
                server.wait_healed()
                wait_for_batches(threads, book, 5)
            self.assertStatus(server.flush(seal=True), 204)
            self.assertConserved(server)
            check.rows(server, f"healed from {operations}", restarted=False)
        self.assertGreater(server.metrics().sum("varve_store_recoveries_total"), 0)
        server.kill().start()
        check.accepted(server, "after a restart")
        check.rows(server, "after a restart")
        check.raise_problems(self, "durable", "once", "newest", "conserved")
        server.stop()

    @embedded_only("on Cassandra it is ready while the store fails")
    def test_a_failing_seal_heals_without_a_write(self):
        """Nothing waits to be flushed, so nothing but the server itself asks for the store."""
        server = self.server("sealing", faults=self.disk,
                             settings={"seal.interval": "1h"}).start()
        self.assertStatus(server.write(f"a v=1 {SECOND}"), 204)
        self.assertStatus(server.flush(), 204)
        with self.disk.rule("create", "/store/", error=errno.EIO) as rule:
            self.assertGreaterEqual(server.flush(seal=True).status, 500)
            self.assertGreater(rule.acted, 0)
            self.assertEqual(server.get("/ready").status, 503)
        server.wait_healed()
        self.assertStatus(server.flush(seal=True), 204)
        self.assertEqual(len(server.rows(metric="*")), 1)
        server.stop()

    def test_queries_are_answered_while_the_store_cannot_be_written(self):
        """Also while the database cannot even be opened again."""
        server = self.varve.start()
        times = []
        for turn, path in enumerate(("/store/", "/store/db/")):
            times += [(2 * turn + 1) * SECOND, (2 * turn + 2) * SECOND]
            self.assertStatus(server.write(f"a v=1 {times[-2]}"), 204)
            self.assertStatus(server.flush(seal=True), 204)
            self.assertStatus(server.write(f"a v=2 {times[-1]}"), 204)
            tried = server.log().count("store_recover_failed")
            with self.disk.rule("create write sync", path, error=errno.ENOSPC):
                self.assertGreaterEqual(server.flush().status, 500)
                for _ in range(20):
                    self.assertEqual([at for _, _, at, _ in server.rows(metric="*")], times)
                wait_until(lambda: server.log().count("store_recover_failed") >= tried + 3,
                           "it is tried again")
                self.assertEqual([at for _, _, at, _ in server.rows(metric="*")], times, path)
            server.wait_healed()
            self.assertStatus(server.flush(), 204)
            self.assertEqual([at for _, _, at, _ in server.rows(metric="*")], times)
        server.stop()

    def test_queries_wait_while_the_store_is_opened_again(self):
        server = self.varve.start()
        self.assertStatus(server.write("a v=1 1000000000"), 204)
        self.assertStatus(server.flush(), 204)
        self.assertStatus(server.write("a v=2 2000000000"), 204)
        with self.disk.rule("create", ".sst", error=errno.ENOSPC), \
                self.disk.rule("create", "/store/db/MANIFEST", waits=True) as opening:
            self.assertGreaterEqual(server.flush().status, 500)
            wait_until(lambda: opening.waiting, "it is opened again")
            client = server.client()
            client.connection.request("GET", "/api/v1/query?metric=*")
            self.assertEqual(server.get("/health").status, 200)  # meanwhile the query has come
            opening.off()
            self.assertEqual(client.connection.getresponse().status, 200)
            client.close()
        server.stop()


class BlockedStore(FaultsTest):
    HEAD_BYTES_MAX = 8 * MIB

    def test_memory_stays_bounded_while_the_store_hangs(self):
        server = self.server("small", {"head.bytes_max": self.HEAD_BYTES_MAX,
                                        "ingest.batch_bytes_max": "2MiB"}, self.disk).start()
        self.assertStatus(server.write("first v=1 1000000000"), 204)
        base = server.resident_bytes()
        book = Book()
        peak = 0
        with self.disk.rule("sync", "/store/", waits=True) as rule:
            refused = fill(server, book)
            self.assertEqual(rule.waiting, 1)
            self.assertStatus(refused, 503, "overload")
            self.assertIn("Retry-After", refused.headers)
            for _ in range(50):  # whoever insists does not get further
                fill(server, book)
                peak = max(peak, server.resident_bytes())
            # A batch may take a little more in the head than it did before.
            self.assertLess(server.metrics().sum("varve_head_bytes"), self.HEAD_BYTES_MAX * 1.1)
            self.assertEqual(server.get("/health").status, 200)
            self.assertEqual(len(server.rows(metric="first.v")), 1)
        # The head, as much again for what is parsed and journaled, and what one flush needs.
        bound = base + (2 * self.HEAD_BYTES_MAX + 24 * MIB) * memory_factor()
        self.assertLess(peak, bound, f"{peak / MIB:.0f} MiB, {base / MIB:.0f} at the start")
        wait_until(lambda: fill(server, book, most=1) is None, "writes are accepted again")
        self.assertStatus(server.flush(seal=True), 204)
        check = Check(book)
        check.rows(server, "after the store went on", restarted=False, tenants=["load"])
        check.raise_problems(self, "durable", "once", "newest")
        self.assertConserved(server)
        print(f"{book.points_acknowledged} points; {base / MIB:.0f} MiB before, "
              f"{peak / MIB:.0f} MiB at the peak, bound {bound / MIB:.0f} MiB")
        server.stop()

    def test_memory_stays_bounded_while_the_journal_hangs(self):
        """Requests wait for a sync that does not end; what waits is bounded, the rest is 503."""
        server = self.server("small", {"head.bytes_max": self.HEAD_BYTES_MAX,
                                       "ingest.batch_bytes_max": "2MiB"}, self.disk).start()
        self.assertStatus(server.write("first v=1 1000000000"), 204)
        base = server.resident_bytes()
        answers = []

        def write(number):
            lines = [f"load,n={number} f={row} {row * SECOND}" for row in range(10000)]
            answers.append(server.write(lines, "load"))
        slow = self.disk.rule("sync", "/journal/", waits=True)
        with Threads([lambda n=n: write(n) for n in range(80)]) as threads, slow:
            threads.wait_until(lambda: slow.waiting == 1, "a sync waits")
            threads.wait_until(lambda: len(answers) >= 20, "some are refused")
            peak = server.resident_bytes()
            self.assertEqual({answer.status for answer in answers}, {503})
            self.assertTrue(all("Retry-After" in answer.headers for answer in answers))
        bound = base + (3 * self.HEAD_BYTES_MAX + 24 * MIB) * memory_factor()
        self.assertLess(peak, bound, f"{peak / MIB:.0f} MiB, {base / MIB:.0f} at the start")
        accepted = sum(answer.status == 204 for answer in answers)
        self.assertGreater(accepted, 0)
        self.assertEqual({answer.status for answer in answers}, {204, 503})
        self.assertConserved(server)
        print(f"{accepted} of {len(answers)} accepted; {base / MIB:.0f} MiB before, "
              f"{peak / MIB:.0f} MiB at the peak, bound {bound / MIB:.0f} MiB")
        server.stop()


if __name__ == "__main__":
    unittest.main()
