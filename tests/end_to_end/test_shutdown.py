# SPDX-License-Identifier: Apache-2.0
"""Ends and starts: SIGTERM under load, folders that are not for this server, recovery cut short."""
import errno
import random
import re
import threading
import time
import unittest

from expectation import Book, Check, Writer
from varve_process import (SECONDS, Threads, VarveTest, embedded_only, seed_of_this_run,
                           wait_until)

SETTINGS = {
    "head.flush_bytes": "1MiB",
    "head.flush_age": "1s",
    "journal.segment_bytes": "1MiB",
    "seal.lateness": "1s",
    "seal.quiet": "0s",
    "seal.spread": "1s",
    "seal.interval": "200ms",
}

# Everything stays in the journal.
LAZY = {"head.flush_bytes": "512MiB", "head.bytes_max": "2GiB", "head.flush_age": "1h"}


class Load:
    """Runs writers until so many more batches are acknowledged, and on while the `with` lasts."""

    def __init__(self, server, writers, batches):
        self.book = writers[0].book
        self.target = self.book.batches_acknowledged + batches
        stop = threading.Event()
        self.threads = Threads([lambda each=each: each.run(server, stop) for each in writers], stop)

    def __enter__(self):
        self.threads.__enter__()
        try:
            self.threads.wait_until(lambda: self.book.batches_acknowledged >= self.target,
                                    "batches are acknowledged")
        except BaseException as error:
            self.threads.__exit__(type(error))
            raise

    def __exit__(self, *error):
        self.threads.__exit__(*error)


def make_writers(book, seed, first=0):
    """Four, numbered from first."""
    return [Writer(book, first + n, random.Random(seed + n), f"t{n % 2}") for n in range(4)]


class ShutdownTest(VarveTest):
    SETTINGS = SETTINGS

    def run_to_refusal(self, server, pattern):
        """Starts it in vain; its message must match."""
        code = server.launch().wait_exit()
        self.assertEqual(code, 1, server.log())
        self.assertRegex(server.log(), pattern)
        self.assertNotIn(" ready", server.log())


class Stopping(ShutdownTest):
    def test_acknowledged_is_durable_after_sigterm_under_load(self):
        seed = seed_of_this_run()
        server = self.server()
        book = Book()
        check = Check(book)
        writers = make_writers(book, seed)
        deadline = time.monotonic() + SECONDS / 6
        rounds = 0
        while rounds < 3 or time.monotonic() < deadline:
            server.start()
            check.accepted(server, f"round {rounds}")
            check.rows(server, f"round {rounds}")
            with Load(server, writers, 50):
                code = server.terminate().wait_exit()
            self.assertEqual(code, 0, server.log())
            self.assertRegex(server.log(), r"info stopping signal=SIGTERM")
            self.assertRegex(server.log(), r"info stopped ")
            rounds += 1
        server.start()
        # The store has it all: the next start had nothing to replay.
        self.assertRegex(server.log(), r"recovered batches=0 points=0")
        check.accepted(server, "at the end")
        check.rows(server, "at the end")
        check.raise_problems(self, "durable", "once", "newest", "conserved")
        server.stop()

    @embedded_only("on Cassandra it is ready while the store fails: see cassandra/cluster")
    def test_it_stops_within_seconds_while_the_store_fails(self):
        disk = self.faults()
        server = self.server(faults=disk).start()
        book = Book()
        check = Check(book)
        failing = ("sync create write", "/store/")
        with Load(server, make_writers(book, 1), 20), disk.rule(*failing, error=errno.EIO):
            wait_until(lambda: server.get("/ready").status == 503, "the store's failure is noticed")
            self.assertEqual(server.terminate().wait_exit(), 0, server.log())
        self.assertRegex(server.log(), "stopped_without_flush")
        server.start()
        check.accepted(server, "after the failure")
        check.rows(server, "after the failure")
        check.raise_problems(self, "durable", "once", "newest", "conserved")
        server.stop()


class Folders(ShutdownTest):
    def test_a_second_server_on_the_same_folder_is_refused(self):
        first = self.server("first").start()
        second = self.server("second")
        second.data = first.data
        self.run_to_refusal(second, r"varve: error: another Varve server is using the data folder")
        self.assertStatus(first.write("a v=1 1"), 204)
        first.kill()
        second.start()  # the lock went with the process
        self.assertEqual(len(second.rows(metric="*")), 1)
        second.stop()

    def test_a_folder_of_a_newer_version_is_refused_and_left_alone(self):
        server = self.server().start()
        self.assertStatus(server.write("a v=1 1"), 204)
        server.stop()
        format_file = server.data / "VARVE"
        present = format_file.read_text()
        newer = re.sub(r"format: \d+", "format: 99", present)
        self.assertNotEqual(newer, present)
        format_file.write_text(newer)
        before = self.listing(server.data)
        self.run_to_refusal(server, r"varve: error: .*newer version of Varve .*upgrade")
        self.assertEqual(self.listing(server.data), before)
        format_file.write_text(present)
        server.start()
        self.assertEqual(len(server.rows(metric="*")), 1)
        server.stop()

    def test_a_folder_of_somebody_else_is_refused_and_left_alone(self):
        server = self.server()
        server.data.mkdir()
        (server.data / "photos").mkdir()
        (server.data / "photos" / "cat.jpg").write_bytes(b"meow")
        before = self.listing(server.data)
        self.run_to_refusal(server, r"varve: error: .*not empty and not a data folder of Varve")
        self.assertEqual(self.listing(server.data), before)
        (server.data / "VARVE").write_text("a ship\n")
        before = self.listing(server.data)
        self.run_to_refusal(server, r"varve: error: .*VARVE that Varve did not write")
        self.assertEqual(self.listing(server.data), before)

    def test_a_damaged_journal_is_refused_until_it_may_be_skipped(self):
        server = self.server(settings=LAZY).start()
        for number in range(20):
            self.assertStatus(server.write(f"a v={number} {number}"), 204)
        server.kill()
        segment = sorted((server.data / "journal").glob("*.seg"))[-1]
        content = bytearray(segment.read_bytes())
        content[600] ^= 1  # among the first records
        segment.write_bytes(content)
        self.run_to_refusal(server, r"varve: error: .*damaged.*skip_damaged")
        server.settings["journal.skip_damaged"] = "true"
        server.start()
        self.assertRegex(server.log(), r"warn recovered .* damaged=1 ")
        self.assertLess(len(server.rows(metric="*")), 20)
        self.assertStatus(server.write("a v=1 100"), 204)
        server.stop()

    @staticmethod
    def listing(folder):
        """Every name with its size and content."""
        return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
                for path in sorted(folder.rglob("*"))}


class Recovering(ShutdownTest):
    def test_recovery_can_be_cut_short_and_begun_again(self):
        """Killed, or told to stop, in the middle of the replay; meanwhile it says what it does."""
        seed = seed_of_this_run()
        disk = self.faults()
        server = self.server(settings=LAZY, faults=disk).start()
        book = Book()
        check = Check(book)
        with Load(server, make_writers(book, seed), 200):
            server.kill()
        for turn in range(4):
            with disk.rule("sync", "/journal/", waits=True) as last_step:
                server.launch().wait_listening()
                wait_until(lambda: last_step.waiting, "it is about to finish its recovery")
                ready = server.get("/ready")
                self.assertEqual(ready.status, 503)
                self.assertIn("replaying", ready.json()["reason"])
                self.assertGreater(ready.json()["replayed_bytes"], 0)
                self.assertEqual(server.get("/health").status, 200)
                self.assertEqual(server.get("/metrics").status, 200)
                self.assertStatus(server.write("a v=1 1"), 503)
                self.assertStatus(server.get("/api/v1/query", tenant="t0", metric="*"), 503)
                if turn % 2:
                    server.kill()
                else:
                    self.assertEqual(server.terminate().wait_exit(), 0, server.log())
        for _ in range(5):
            server.launch().wait_listening().kill()
        for turn in (1, 2):  # what was replayed stays, also when more is written behind it
            server.start()
            self.assertRegex(server.log(), r"recovered batches=\d")  # or flushed by one of the five
            check.accepted(server, "after all")
            check.rows(server, "after all")
            with Load(server, make_writers(book, seed, turn * 10), 10):
                server.kill()
        server.start()
        check.accepted(server, "at the end")
        check.rows(server, "at the end")
        check.raise_problems(self, "durable", "once", "newest", "conserved")
        self.assertStatus(server.flush(seal=True), 204)
        check.rows(server, "sealed")
        check.raise_problems(self, "durable", "once", "newest")
        server.stop()


class Signals(ShutdownTest):
    def test_a_second_sigterm_ends_at_once(self):
        """Whoever does not want to wait need not."""
        disk = self.faults()
        server = self.server(faults=disk).start()
        self.assertStatus(server.write("a v=1 1"), 204)
        with disk.rule("sync", "/store/", waits=True) as flush:
            server.terminate()
            server.wait_for_log(r"info stopping ")  # else both signals may be taken as one
            wait_until(lambda: flush.waiting, "it flushes")
            server.terminate()
            self.assertEqual(server.wait_exit(), -15)
        server.start()
        self.assertEqual(len(server.rows(metric="*")), 1)
        server.stop()


if __name__ == "__main__":
    unittest.main()
