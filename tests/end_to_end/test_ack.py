# SPDX-License-Identifier: Apache-2.0
"""`ack: store`: what such a write promises when the journal is lost with the node's disk, and what
it answers while the store is slow."""
import http.client
import shutil
import socket
import threading
import time
import unittest

from varve_process import (PATIENCE_S, Threads, VarveTest, embedded_only, wait_until,
                           with_parameters)

SECOND = 1_000_000_000
START = 1_767_225_600 * SECOND

# Nothing reaches the store by itself.
LAZY = {"head.flush_age": "1h", "head.flush_bytes": "512MiB", "head.bytes_max": "2GiB"}


def write(target, lines, ack=None):
    """To a server or on a connection."""
    parameters = {"ack": ack} if ack else {}
    return target.request("POST", with_parameters("/write", parameters), "\n".join(lines))


def lose_journal(server):
    """As the loss of the disk does, with a store that is elsewhere."""
    shutil.rmtree(server.data / "journal")


class Durable(VarveTest):
    SETTINGS = LAZY

    def test_acknowledged_by_the_store_survives_the_loss_of_the_journal(self):
        server = self.server().start()
        answer = write(server, [f"m,h=a v=1,n=-5i {START}"], "store")
        self.assertStatus(answer, 204)
        server.kill()
        lose_journal(server)
        server.start()
        self.assertEqual(server.rows(metric="*"),
                         [("h=a", "m.n", START, "-5"), ("h=a", "m.v", START, "1")])
        self.assertEqual(server.metrics().sum("varve_points_accepted_ever_total"), 2)
        server.stop()

    def test_acknowledged_by_the_journal_does_not(self):
        """So that the test above can fail."""
        server = self.server().start()
        self.assertStatus(write(server, [f"m,h=a v=1 {START}"]), 204)
        self.assertStatus(write(server, [f"m,h=a v=1 {START + 1}"], "journal"), 204)
        self.assertEqual(len(server.rows()), 2)
        server.kill()
        lose_journal(server)
        server.start()
        self.assertEqual(server.get("/api/v1/query", format="csv").text.count("\n"), 1)
        server.stop()

    def test_many_writers_share_flushes_and_lose_nothing(self):
        server = self.server(settings={"ack": "store"}).start()
        stop = threading.Event()
        lock = threading.Lock()
        acknowledged = set()
        waits = []

        def send(number):
            client = server.client()
            turn = 0
            try:
                while not stop.is_set():
                    at = START + turn * SECOND
                    begun = time.monotonic()
                    answer = write(client, [f"m,w={number} v={turn} {at}"])
                    self.assertStatus(answer, 204)
                    with lock:
                        waits.append(time.monotonic() - begun)
                        acknowledged.add((f"w={number}", "m.v", at, str(turn)))
                    turn += 1
            except (OSError, http.client.HTTPException):
                pass  # killed
            finally:
                client.close()

        with Threads([lambda n=n: send(n) for n in range(16)], stop) as threads:
            threads.wait_until(lambda: len(acknowledged) >= 400, "writes are acknowledged")
            flushes = server.metrics().sum("varve_flushes_total")
            with lock:
                writes = len(acknowledged)
            server.kill()
        lose_journal(server)
        server.start()
        rows = set(server.rows())
        self.assertEqual(acknowledged - rows, set())
        self.assertLess(flushes, writes / 2)  # shared
        waits.sort()
        print(f"{writes} writes in {flushes:.0f} flushes; waited {waits[len(waits) // 2]:.4f} s, "
              f"at most {waits[-1]:.4f} s", flush=True)
        server.stop()

    def test_a_long_body_is_stored_to_its_end(self):
        server = self.server(settings={"ingest.batch_bytes_max": "64KiB"}).start()
        lines = [f"m,h=a v={n} {START + n * SECOND}" for n in range(30000)]
        self.assertStatus(write(server, lines, "store"), 204)
        self.assertLess(server.metrics().sum("varve_flushes_total"), 3)
        server.kill()
        lose_journal(server)
        server.start()
        self.assertEqual(len(server.rows()), 30000)
        server.stop()


class Parameters(VarveTest):
    SETTINGS = LAZY

    def test_the_parameter_counts_more_than_the_setting(self):
        server = self.server(settings={"ack.kind": "store"}).start()
        client = server.client()

        def flushes():
            return client.metrics().sum("varve_flushes_total")

        self.assertStatus(write(client, [f"m v=1 {START}"], "journal"), 204)
        self.assertEqual(flushes(), 0)
        self.assertStatus(write(client, [f"m v=2 {START}"]), 204)
        self.assertEqual(flushes(), 1)
        body = '[{"measurement":"m","time":1,"fields":{"v":1}}]'
        for path in ("/api/v1/points?ack=journal", "/api/v2/write?bucket=b&ack=journal"):
            text = body if "points" in path else "m v=1 1"
            self.assertStatus(client.request("POST", path, text), 204)
        self.assertEqual(flushes(), 1)
        for path in ("/api/v1/points?ack=store", "/api/v2/write?bucket=b&ack=store"):
            text = body if "points" in path else "m v=1 2"
            self.assertStatus(client.request("POST", path, text), 204)
        self.assertEqual(flushes(), 3)
        for wrong in ("disk", "STORE", "", "store,journal"):
            answer = client.request("POST", with_parameters("/write", {"ack": wrong}), "m v=1 1")
            self.assertStatus(answer, 400, "invalid")
            self.assertIn("journal, store", answer.text)
        answer = write(client, [f"m v=3 {START}", "not a line"], "store")
        self.assertStatus(answer, 400)
        self.assertEqual(answer.json()["accepted"], 1)
        self.assertEqual(flushes(), 4)  # a bad line is one bad line: the rest is in the store
        client.close()
        server.stop()


@embedded_only("these hold up the embedded store's files")
class SlowStore(VarveTest):
    SETTINGS = {**LAZY, "ack.timeout": "2s"}

    def test_a_slow_store_makes_the_outcome_unknown_and_holds_up_nobody_else(self):
        faults = self.faults()
        server = self.server(faults=faults).start()
        answers = []

        def send():
            answers.append(write(server, [f"m,h=slow v=1 {START}"], "store"))

        with faults.rule("sync", "/data/store", waits=True) as rule, Threads([send]) as threads:
            threads.wait_until(lambda: rule.waiting, "the store waits")
            client = server.client()
            turn = 0
            while not answers:
                turn += 1
                self.assertStatus(write(client, [f"m,h=quick v={turn} {START + turn}"]), 204)
            self.assertStatus(answers[0], 500, "outcome_unknown")
            self.assertIn("in the journal", answers[0].text)
            self.assertEqual(len(client.rows(source="h=quick")), turn)
            metrics = client.metrics()
            client.close()
            self.assertEqual(metrics.sum("varve_ack_timeouts_total"), 1)
            self.assertEqual(metrics.sum("varve_points_unknown_total"), 0)
            self.assertEqual(metrics.sum("varve_points_accepted_total"), turn + 1)
        self.assertEqual(len(server.rows(source="h=slow")), 1)
        wait_until(lambda: write(server, [f"m,h=slow v=2 {START + SECOND}"], "store").status == 204,
                   "the store is quick again")
        server.kill()
        lose_journal(server)
        server.start()
        self.assertEqual(len(server.rows()), turn + 2)  # delivered
        server.stop()

    def wait_idle(self, server):
        """As long as a connection may idle: until the server closes one."""
        with socket.create_connection(server.address, timeout=PATIENCE_S) as idle:
            self.assertEqual(idle.recv(1), b"")

    def test_an_answer_may_take_longer_than_a_connection_may_idle(self):
        faults = self.faults()
        server = self.server(settings={"ack.timeout": "10m", "http.idle_max": "1s"},
                             faults=faults).start()
        answers = []
        rule = faults.rule("sync", "/data/store", waits=True)
        with Threads([lambda: answers.append(write(server, [f"m v=1 {START}"], "store"))]):
            wait_until(lambda: rule.waiting, "the store waits")
            for _ in range(3):
                self.wait_idle(server)
            self.assertEqual(answers, [])
            rule.off()
        self.assertStatus(answers[0], 204)
        server.stop()

    def test_stopping_answers_who_waits(self):
        faults = self.faults()
        server = self.server(settings={"ack.timeout": "10m"}, faults=faults).start()
        answers = []
        rule = faults.rule("sync", "/data/store", waits=True)
        with Threads([lambda: answers.append(write(server, [f"m v=1 {START}"], "store"))]):
            wait_until(lambda: rule.waiting, "the store waits")
            server.terminate()
            wait_until(lambda: answers, "the write is answered")
            rule.off()
        self.assertStatus(answers[0], 500, "outcome_unknown")
        self.assertEqual(server.wait_exit(), 0)
        server.start()
        self.assertEqual(len(server.rows()), 1)
        server.stop()


if __name__ == "__main__":
    unittest.main()
