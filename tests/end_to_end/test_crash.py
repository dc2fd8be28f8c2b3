# SPDX-License-Identifier: Apache-2.0
"""Killed again and again: what was acknowledged is there, once, with its last value."""
import http.client
import math
import random
import re
import threading
import time
import unittest

from expectation import SECOND, Book, Check, Writer
from varve_process import SEALS, SECONDS, Threads, VarveTest, seed_of_this_run, wait_until

HEAD_BYTES_MAX = 16 << 20

# Flushes, seals and the end of a segment come all the time.
BUSY = {
    "head.flush_bytes": "1MiB",
    "head.flush_age": "1s",
    "head.bytes_max": HEAD_BYTES_MAX,
    "journal.segment_bytes": "1MiB",
    "store.write_buffer_bytes": "1MiB",
    "partition.bucket": "10m",
    "partition.span": "5m",
    "seal.lateness": "1s",
    "seal.quiet": "0s",
    "seal.spread": "1s",
    "seal.interval": "100ms",
    "seal.block_bytes_max": "4KiB",
}


class Campaign:
    """Writers load, the server is killed at random moments, or in the middle of a random call of
    the disk; after each start all is compared."""

    WRITERS = 4
    # Calls to be killed in, and how many of them may pass first.
    MOMENTS = [("sync", "/journal/", 20), ("write", "/journal/", 20), ("rename", "/journal/", 3),
               ("truncate", "/journal/", 3), ("sync", "/store/", 10), ("write", "/store/", 20),
               ("create", "/store/", 10), ("rename", "/store/", 1)]

    # No batch is acknowledged without them.
    MOMENTS_OF_EACH_BATCH = MOMENTS[:2]

    def __init__(self, server, seed, seconds):
        self.server = server
        self.random = random.Random(seed)
        self.deadline = time.monotonic() + seconds
        self.book = Book()
        self.check = Check(self.book)
        self.writers = [Writer(self.book, number, random.Random(seed + number), f"t{number % 3}")
                        for number in range(self.WRITERS)]
        self.work = {}  # of the server that runs
        self.figures = {"kills": 0, "kills within a call": 0, "kills while starting": 0, "ends": 0,
                        "replayed bytes": 0, "flushes": 0, "seals": 0, "reseals": 0}

    def run(self):
        while time.monotonic() < self.deadline or not self.figures["replayed bytes"]:
            self.start()
            self.compare("after a start")
            self.load()
        self.start()
        self.compare("at the end")
        self.finish()
        return self

    # ---- starting

    def start(self):
        while self.random.random() < 0.3:
            self.kill_while_starting()
        self.server.start()
        recovered = re.search(r" recovered .*\bbytes=(\d+)\b.* duration_ms=[\d.]+",
                              self.server.log())
        if not recovered:
            self.check.add("bounded", f"the log tells no recovery:\n{self.server.log()}")
        else:
            replayed = int(recovered.group(1))
            self.figures["replayed bytes"] = max(replayed, self.figures["replayed bytes"])
            if replayed > HEAD_BYTES_MAX:
                self.check.add("bounded", f"{replayed} bytes were replayed")

    def kill_while_starting(self):
        self.server.launch()
        time.sleep(self.random.random() * 0.1)
        self.server.kill()
        self.figures["kills while starting"] += 1

    def compare(self, when):
        when = f"{when} ({self.figures['kills']} kills)"
        self.check.accepted(self.server, when)
        self.check.rows(self.server, when)

    # ---- loading, and the end of it

    def load(self):
        stop = threading.Event()
        self.work = {}
        tasks = [lambda writer=writer: writer.run(self.server, stop) for writer in self.writers]
        with Threads(tasks + [lambda: self.flush_now_and_then(stop)], stop) as threads:
            self.end_somehow(threads)
        for figure, value in self.work.items():
            self.figures[figure] += value

    def end_somehow(self, threads):
        if not self.figures["kills within a call"]:
            # However few ends there are, in a slow build: one that is sure to come.
            self.kill_within_a_call(threads, self.random.choice(self.MOMENTS_OF_EACH_BATCH))
            return
        target = self.book.batches_acknowledged + self.random.randrange(1, 200)
        if self.random.random() < 0.6:
            self.kill_within_a_call(threads, self.random.choice(self.MOMENTS), target + 300)
        else:
            threads.wait_until(lambda: self.book.batches_acknowledged >= target,
                               "batches are acknowledged")
            time.sleep(self.random.random() * 0.02)
            self.end()

    def flush_now_and_then(self, stop):
        client = self.server.client()
        chance = random.Random(self.random.random())
        try:
            while not stop.wait(chance.random() * 0.1):
                client.flush(seal=chance.random() < 0.5)
                self.work = work_of(client)
        except (OSError, http.client.HTTPException):
            pass
        client.close()

    def kill_within_a_call(self, threads, moment, target=math.inf):
        """At latest when so many batches are acknowledged."""
        operation, path, skip_max = moment
        skip = self.random.randrange(skip_max)
        with self.server.faults.rule(operation, path, waits=True, skip=skip, count=1) as call:
            threads.wait_until(lambda: call.waiting or self.book.batches_acknowledged >= target,
                               f"a call of {operation} below {path}")
            self.figures["kills within a call"] += call.waiting
            self.server.kill()
            self.figures["kills"] += 1

    def end(self):
        if self.random.random() < 0.2:
            self.server.stop()
            self.figures["ends"] += 1
        else:
            self.server.kill()
            self.figures["kills"] += 1

    def finish(self):
        """Everything sealed, and once more after another start. A last batch makes sure that there
        is something to seal."""
        client = self.server.client()
        wait_until(lambda: self.writers[0].send(client), "a last batch is taken")
        client.close()
        answer = self.server.flush(seal=True)
        if answer.status != 204:
            raise AssertionError(f"flush and seal: {answer}")
        self.check.rows(self.server, "all sealed")
        for figure, value in work_of(self.server).items():
            self.figures[figure] += value
        self.server.stop()
        self.server.start()
        self.compare("sealed and started again")
        self.server.stop()


def work_of(client):
    """What the server has done since its start."""
    metrics = client.metrics()
    return {figure: int(metrics.get(f"varve_{figure}_total"))
            for figure in ("flushes", "seals", "reseals")}


class KilledAgainAndAgain(VarveTest):
    """One long run; each test holds one guarantee against it."""

    @classmethod
    def setUpClass(cls):
        case = VarveTest()
        case.setUp()
        cls.addClassCleanup(case.doCleanups)
        server = case.server(settings=BUSY, faults=case.faults())
        cls.campaign = Campaign(server, seed_of_this_run(), SECONDS).run()
        book = cls.campaign.book
        print(f"{book.batches_acknowledged} batches acknowledged, {book.batches_open} open; "
              + ", ".join(f"{value} {name}" for name, value in cls.campaign.figures.items()),
              flush=True)

    def holds(self, *guarantees):
        self.campaign.check.raise_problems(self, *guarantees)

    def test_acknowledged_is_durable(self):
        self.holds("durable")

    def test_idempotent_each_point_once_with_its_last_value(self):
        self.holds("once", "newest")

    def test_conservation_accepted_survives_with_its_batches(self):
        self.holds("conserved")

    def test_recovery_is_logged_and_bounded(self):
        self.holds("bounded")

    def test_the_run_was_worth_it(self):
        """Kills hit a server that flushed, sealed and sealed again."""
        figures = self.campaign.figures
        for name in ("kills", "kills within a call", "flushes", "seals", "replayed bytes"):
            if name != "seals" or SEALS:
                self.assertGreater(figures[name], 0, figures)


class ReadYourWrites(VarveTest):
    SETTINGS = BUSY
    WRITERS = 3

    def test_read_your_writes_during_flushes_and_seals(self):
        server = self.server().start()
        stop = threading.Event()
        flushes = seals = 0

        def flush_and_seal():
            nonlocal flushes, seals
            client = server.client()
            while not stop.is_set():
                self.assertStatus(client.flush(seal=True), 204)
                flushes += 1
                seals = client.metrics().get("varve_seals_total")
            client.close()

        def write_and_read(number):
            client = server.client()
            start = time.time_ns() - 3600 * SECOND
            turn = 0
            while turn < SECONDS * 3 or flushes < 20 or (SEALS and seals < 20):
                times = [start + (turn * 10 + i) * SECOND for i in range(10)]
                lines = [f"r,writer={number} v={turn},w={at}i {at}" for at in times]
                self.assertStatus(client.write(lines), 204)
                rows = client.rows(metric="r.*", source=f"writer={number}", from_=times[0],
                                   to=times[-1] + 1)
                expected = [(f"writer={number}", "r.v", at, str(turn)) for at in times]
                expected += [(f"writer={number}", "r.w", at, str(at)) for at in times]
                self.assertEqual(sorted(rows), expected)
                turn += 1
            client.close()

        writers = [lambda n=n: write_and_read(n) for n in range(self.WRITERS)]
        with Threads([flush_and_seal], stop), Threads(writers):
            pass
        server.stop()


if __name__ == "__main__":
    unittest.main()
