# SPDX-License-Identifier: Apache-2.0
"""A small file system of its own: its reserve is reached, or it is really full."""
import errno
import os
import random
import subprocess
import unittest

from expectation import SECOND, Book, Check, Writer
from varve_process import VarveTest, seed_of_this_run, wait_until

MIB = 1 << 20

SETTINGS = {
    "head.flush_bytes": "1MiB",
    "head.flush_age": "1s",
    "head.bytes_max": "16MiB",
    "journal.segment_bytes": "1MiB",
    "seal.lateness": "1s",
    "seal.quiet": "0s",
    "seal.spread": "1s",
    "seal.interval": "200ms",
}


class SmallDisk:
    """A tmpfs; needs the right to mount."""

    def __init__(self, test, mib):
        self.path = test.folder / "disk"
        self.path.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", self.path],
                              capture_output=True, text=True)
        if done.returncode != 0:
            test.skipTest(f"SKIPPED: no small file system can be mounted here, run as root: "
                          f"{done.stderr.strip()}")
        test.addCleanup(subprocess.run, ["umount", "--lazy", self.path], check=True)
        self.ballast = self.path / "ballast"

    def free_bytes(self):
        about = os.statvfs(self.path)
        return about.f_bavail * about.f_frsize

    def leave(self, free_bytes):
        """Takes space until so much is left."""
        def take():
            try:
                with open(self.ballast, "ab") as file:
                    more = self.free_bytes() - free_bytes
                    if more > 0:
                        os.posix_fallocate(file.fileno(), file.tell(), more)
                return True
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                return False  # the server was quicker
        wait_until(take, "the disk is filled")

    def relieve(self):
        self.ballast.unlink()


class DiskFull(VarveTest):
    SETTINGS = SETTINGS

    def disk_and_server(self, mib, **settings):
        self.disk = SmallDisk(self, mib)
        self.faults_of_disk = self.faults()
        server = self.server("server", settings, self.faults_of_disk)
        server.data = self.disk.path / "data"
        return server

    def test_the_reserve_is_503_long_before_the_disk_is_full(self):
        reserve = 64 * MIB
        server = self.disk_and_server(128, **{"store.disk_reserve_bytes": reserve}).start()
        book = Book()
        client = server.client()
        self.addCleanup(client.close)
        writer = Writer(book, 1, random.Random(1), "t")
        self.assertTrue(writer.send(client))
        self.disk.leave(reserve - MIB)
        wait_until(lambda: server.get("/ready").status == 503, "the reserve is noticed")
        self.assertIn("reserve", server.get("/ready").json()["reason"])
        answer = server.write("a v=1")
        self.assertStatus(answer, 503, "disk_full")
        self.assertIn("store.disk_reserve_bytes", answer.json()["message"])
        self.assertGreater(int(answer.headers["Retry-After"]), 0)
        self.assertGreater(self.disk.free_bytes(), reserve / 2)
        self.assertEqual(server.get("/health").status, 200)
        self.assertStatus(server.flush(seal=True), 204)  # what was accepted still goes its way
        check = Check(book)
        check.rows(server, "at the reserve", restarted=False)
        self.disk.relieve()
        wait_until(lambda: server.get("/ready").status == 200, "the space is noticed")
        self.assertTrue(writer.send(client))
        check.rows(server, "with space again", restarted=False)
        check.raise_problems(self, "durable", "once", "newest")
        server.stop()

    def test_a_full_disk_loses_nothing_and_heals_without_a_restart(self):
        """Without its reserve the server meets the end of the disk, in the journal and the store,
        in the middle of writes."""
        seed = seed_of_this_run()
        server = self.disk_and_server(64, **{"seal.interval": "1h"}).start()
        self.faults_of_disk.rule("space", "", value=1 << 40)  # no reserve is seen
        book = Book()
        check = Check(book)
        writers = [Writer(book, n, random.Random(seed + n), f"t{n % 2}", lines_max=2000,
                          new_share=0.2, wild=False) for n in range(2)]
        for turn, left in enumerate((3 * MIB, MIB, 300_000, 0)):
            self.load(server, writers, acknowledged=5)
            self.load(server, writers, refused=20, left=left)
            self.disk.leave(0)
            self.assertStatus(server.flush(), 500, "io_error")
            self.assertEqual(server.get("/health").status, 200)
            self.assertEqual(server.get("/metrics").status, 200)
            check.rows(server, f"full, {left} bytes were left", restarted=False)
            killed = turn % 2 == 1
            if killed:
                server.settings.update(SETTINGS)  # from now on it seals all the time
                server.kill()
                self.start_on_full_disk(server)
            self.disk.relieve()
            if not server.is_running():
                server.kill().start()
            server.wait_healed()
            self.load(server, writers, acknowledged=3)
            self.assertStatus(server.flush(seal=True), 204)
            if killed:
                check.accepted(server, f"{left} bytes were left")
            check.rows(server, f"healed, {left} bytes were left", restarted=killed)
        server.kill().start()
        check.accepted(server, "after a restart")
        check.rows(server, "after a restart")
        check.raise_problems(self, "durable", "once", "newest", "conserved")
        self.assertGreater(book.batches_refused, 0)
        logs = "".join(path.read_text() for path in server.folder.glob("log.*"))
        self.assertRegex(logs, "commit_failed status=disk_full")
        self.assertRegex(logs, "flush_failed status=disk_full")
        print(f"{book.batches_acknowledged} batches acknowledged, {book.batches_refused} refused, "
              f"{book.batches_open} unknown")
        server.stop()

    def load(self, server, writers, acknowledged=0, refused=0, left=None):
        """Sends in turn until so many were, in a row. `left`: so many bytes are left at first, then
        less and less, whatever the server gives back."""
        client = server.client()
        results = []

        def enough():
            if left is not None:
                self.disk.leave(max(0, left - len(results) * 50_000))
            for writer in writers:
                results.append(writer.send(client))
            last = results[-max(acknowledged, refused):]
            return len(last) >= max(acknowledged, refused) and all(
                result == bool(acknowledged) for result in last)
        try:
            wait_until(enough, f"{acknowledged} writes are acknowledged or {refused} refused")
        finally:
            client.close()

    def start_on_full_disk(self, server):
        """It starts, or says clearly what is missing."""
        server.launch()
        wait_until(lambda: not server.is_running() or " info ready " in server.log(),
                   "it starts or ends")
        if server.is_running():
            server.wait_listening()
            return
        self.assertEqual(server.wait_exit(), 1)
        self.assertRegex(server.log(), r"varve: error: .*(free space|No space left)")


if __name__ == "__main__":
    unittest.main()
