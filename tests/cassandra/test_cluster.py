# SPDX-License-Identifier: Apache-2.0
"""Three nodes that stop, crash, hang and come back under load, and Varve with them: what was
acknowledged is there, once, with its last value, and reads that were answered were right."""
import http.client
import random
import re
import shutil
import threading
import time

from cassandra_process import SYNCED, ClusterTest, export, exported_values, main, rows_of
from expectation import HOUR, SECOND, Book, Check, Writer, fill, outcome_of
from varve_process import Threads, in_threads, memory_factor, seed_of_this_run, wait_until

BUSY = {
    "head.flush_bytes": "1MiB",
    "head.flush_age": "1s",
    "journal.segment_bytes": "1MiB",
    "partition.bucket": "1h",
    "partition.span": "15m",
    "seal.lateness": "1s",
    "seal.quiet": "0s",
    "seal.spread": "1s",
    "seal.interval": "100ms",
    "cassandra.request_timeout": "3s",
    "cassandra.rows_tenants": "t1",
    "cassandra.speculative_delay": "0s",
}

MIB = 1 << 20

STEP = SECOND // 4  # between the points of a reader

# Between two requests of one client: the processor is for Cassandra too.
PAUSE_S = 0.02


class Reader:
    """Writes points of a source of its own, and compares what it reads with them at once."""

    TENANT = "read"

    def __init__(self, book, number, chance):
        self.book = book
        self.source = f"reader={number}"
        self.random = chance
        self.value = number * 1_000_000_000
        self.start = time.time_ns() - 3 * HOUR
        self.points = {}      # time → value acknowledged last
        self.uncertain = set()
        self.answered = 0
        self.unanswered = 0
        self.wrong = []

    def run(self, server, stop):
        """Until `stop` is set or the server is gone."""
        client = server.client()
        try:
            while not stop.is_set():
                self.write(client)
                self.read(client)
                stop.wait(PAUSE_S)
        except (OSError, http.client.HTTPException):
            pass
        finally:
            client.close()

    def write(self, client):
        """Ten new points, and two that are there already."""
        times = [self.start + (len(self.points) + n) * STEP for n in range(10)]
        times += self.random.sample(sorted(self.points), min(2, len(self.points)))
        self.value += 1
        points = [(self.source, "r.v", at, float(self.value)) for at in times]
        lines = [f"r,{self.source} v={self.value} {at}" for at in times]
        self.uncertain.update(times)  # until it is answered
        try:
            answer = client.write(lines, self.TENANT)
        except (OSError, http.client.HTTPException):
            self.book.tell(self.TENANT, points, "open")
            raise
        outcome = outcome_of(answer)
        self.book.tell(self.TENANT, points, outcome)
        if outcome != "open":
            self.uncertain.difference_update(times)
        if outcome == "acknowledged":
            self.points.update((at, self.value) for at in times)

    def read(self, client):
        """The last minutes, or others, which are in the store by now."""
        if not self.points:
            return
        last = max(self.points)
        since = self.random.choice((last - 100 * STEP, self.random.randrange(self.start, last)))
        until = since + 100 * STEP
        answer = client.get("/api/v1/query", tenant=self.TENANT, metric="r.v", source=self.source,
                            from_=since, to=until, format="csv", time_format="ns")
        if answer.status != 200 or "# error" in answer.text:
            if answer.status not in (200, 503, 504):
                raise AssertionError(f"a query was answered {answer}")
            self.unanswered += 1
            return
        self.answered += 1
        found = {int(at): float(value) for at, value in
                 re.findall(r"^[^#\n]*,(-?\d+),([^,\n]+)$", answer.text, re.MULTILINE)}
        expected = {at: value for at, value in self.points.items() if since <= at < until}
        for at in expected.keys() | found.keys():
            if at not in self.uncertain and expected.get(at) != found.get(at):
                self.wrong.append(f"{self.source} at {at} was read as {found.get(at)}, but "
                                  f"{expected.get(at)} was acknowledged last")


class Campaign:
    """Breaks something under load, looks at what goes on meanwhile, mends it, compares all."""

    WRITERS = 3
    READERS = 2

    def __init__(self, server, cluster, seed):
        self.server = server
        self.cluster = cluster
        self.random = random.Random(seed)
        self.book = Book()
        self.check = Check(self.book)
        self.writers = [Writer(self.book, n, random.Random(seed + n), f"t{n % 2}", wild=False)
                        for n in range(self.WRITERS)]
        self.readers = [Reader(self.book, 100 + n, random.Random(seed + 100 + n))
                        for n in range(self.READERS)]
        self.metrics = []  # before each of the server's ends
        self.notes = {}

    def run(self):
        self.server.start()
        ways = ["stop", "kill", "pause"]
        self.random.shuffle(ways)
        for way in ways:  # reads wait for a node that hangs until it is given up
            self.phase([self.random.choice(self.cluster.nodes)], way, kills_varve=way == "kill")
        self.metrics.append(self.server.metrics())
        self.server.stop()
        del self.server.settings["cassandra.speculative_delay"]  # as it is by itself
        self.server.start()
        for way in ("kill", "pause"):
            self.phase(self.random.sample(self.cluster.nodes, 2), way, kills_varve=way == "pause")
        self.phase([self.random.choice(self.cluster.nodes)], "pause", kills_varve=True)
        self.finish()
        return self

    # ---- a phase

    def phase(self, nodes, way, kills_varve):
        name = f"{way} {', '.join(map(str, nodes))}"
        began = time.monotonic()
        answered = self.answered()
        with self.load() as threads:
            self.wait_for(threads, batches=20)
            for node in nodes:
                getattr(node, way)()
            self.look(threads, len(nodes))
            if kills_varve:
                self.metrics.append(self.server.metrics())
                self.server.kill()
        if kills_varve:
            self.server.start()
            self.check.accepted(self.server, f"started after {name}")
            if len(nodes) == 1:
                self.check.rows(self.server, f"started after {name}")
            with self.load() as threads:
                self.look(threads, len(nodes))
        for node in nodes:
            if way == "pause":
                node.resume()
            else:
                node.launch()
        for node in nodes:
            self.cluster.wait_until_up(node)
        with self.load() as threads:
            self.look(threads, 0)
        wait_until(lambda: self.server.flush(seal=True).status == 204, f"all is sealed: {name}")
        # Without two nodes nobody could look at what the start had brought back.
        self.check.rows(self.server, f"after {name}", restarted=kills_varve and len(nodes) > 1)
        print(f"{name}: {time.monotonic() - began:.0f} s, {self.book.batches_acknowledged} "
              f"batches, {self.answered() - answered} reads answered, {self.unanswered()} not, "
              f"{self.book.batches_refused} writes refused", flush=True)

    def load(self):
        stop = threading.Event()
        tasks = [lambda each=each: each.run(self.server, stop, PAUSE_S) for each in self.writers]
        tasks += [lambda each=each: each.run(self.server, stop) for each in self.readers]
        return Threads(tasks, stop)

    def answered(self):
        return sum(reader.answered for reader in self.readers)

    def unanswered(self):
        return sum(reader.unanswered for reader in self.readers)

    def wait_for(self, threads, batches=0, reads=0, flushes=0):
        """Until there are so many more."""
        acknowledged = self.book.batches_acknowledged + batches
        answered = self.answered() + reads
        flushed = self.server.metrics().get("varve_flushes_total") + flushes
        threads.wait_until(
            lambda: (self.book.batches_acknowledged >= acknowledged and
                     self.answered() >= answered and
                     self.server.metrics().get("varve_flushes_total") >= flushed),
            f"{batches} batches, {reads} reads, {flushes} flushes more")

    def look(self, threads, lost):
        """What goes on without `lost` of three nodes."""
        if lost < 2:
            self.wait_for(threads, batches=50, reads=20, flushes=3)
        else:
            threads.wait_until(lambda: tells_outage(self.server), "it tells the outage")
            self.wait_for(threads, batches=50)

    def finish(self):
        self.metrics.append(self.server.metrics())
        self.server.kill().start()
        self.check.accepted(self.server, "at the end")
        self.check.rows(self.server, "at the end")
        self.notes["export"] = export(self.server, "t0")
        self.notes["rows"] = rows_of(self.cluster, self.server, "t1")
        self.server.stop()


def tells_outage(server):
    """It is ready, and says that the store is away."""
    health = server.get("/health").json()
    ready = server.get("/ready")
    metrics = server.metrics()
    if not "the store cannot be written" in health["message"] == ready.json().get("reason"):
        return False
    if (health["ready"], ready.status) != (True, 200):
        raise AssertionError(f"{health}, {ready}")
    return metrics.sum("varve_store_writable") == 0


class NodesComeAndGo(ClusterTest):
    """One long run; each test holds one guarantee against it."""

    KILLS_HOSTS = True

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = cls.case_of_all()
        cls.campaign = Campaign(case.server(settings=BUSY), cls.cluster, seed_of_this_run()).run()

    def holds(self, *guarantees):
        self.campaign.check.raise_problems(self, *guarantees)

    def test_acknowledged_is_durable(self):
        self.holds("durable")

    def test_idempotent_each_point_once_with_its_last_value(self):
        self.holds("once", "newest")

    def test_conservation_accepted_survives_with_its_batches(self):
        self.holds("conserved")

    def test_read_your_writes_whenever_a_read_is_answered(self):
        wrong = [each for reader in self.campaign.readers for each in reader.wrong]
        self.assertFalse(wrong, f"{len(wrong)} times, for example:\n" + "\n".join(wrong[:10]))


    def test_an_export_has_all_that_is_in_blocks(self):
        self.assertEqual(exported_values(self.campaign.notes["export"]),
                         self.campaign.book.values("t0"))

    def test_another_client_finds_all_that_is_in_rows(self):
        expected = sorted((metric, value) for (_, metric, _), value
                          in self.campaign.book.values("t1").items())
        self.assertEqual(self.campaign.notes["rows"], expected)

    def test_the_client_counts_what_it_met(self):
        last = self.campaign.metrics[-1]
        self.assertEqual([last.sum(f"varve_cassandra_{name}") for name in ("hosts", "hosts_up")],
                         [3, 3])

        def total(name):
            return sum(each.sum(f"varve_cassandra_{name}_total") for each in self.campaign.metrics)
        for name in ("connections_lost", "retries", "speculative", "speculative_won"):
            self.assertGreater(total(name), 0, name)
        self.assertEqual(total("warnings"), 0, "none of a batch that is too large")


class Away(ClusterTest):
    """The whole cluster is away: its only node has crashed, or hangs."""

    CLUSTER = {"nodes": 1, "options": SYNCED}
    KILLS_HOSTS = True
    REPLICATION = "dc1:1"
    SETTINGS = {"cassandra.request_timeout": "2s"}
    HEAD_BYTES_MAX = 8 * MIB

    def setUp(self):
        super().setUp()
        self.node, = self.cluster.nodes
        self.addCleanup(self.bring_back)

    def bring_back(self):
        if self.node.paused:
            self.node.resume()
        elif self.node.process is None:
            self.node.start()

    def wait_delivered(self, server):
        wait_until(lambda: server.flush(seal=True).status == 204, "all is delivered")
        self.assertEqual(server.metrics().sum("varve_journal_bytes"), 0)
        self.assertEqual(server.metrics().sum("varve_store_writable"), 1)
        self.assertNotIn("reason", server.get("/ready").json())

    def assertHolds(self, server, times):
        rows = server.rows(metric="a.v")
        self.assertEqual([(at, float(value)) for _, _, at, value in rows],
                         [(at, float(at)) for at in times])

    def test_it_starts_accepts_and_delivers_when_cassandra_is_back(self):
        for way in ("kill", "pause"):
            with self.subTest(way=way):
                self.bring_back()
                new, used = self.server(f"{way}_new"), self.server(f"{way}_used").start()
                self.assertStatus(used.write(f"a v={SECOND} {SECOND}"), 204)
                self.flush_in_time(used, seal=True)
                used.stop()
                both = [(new, []), (used, [SECOND])]
                getattr(self.node, way)()
                in_threads([lambda each=each: self.start_while_away(*each) for each in both])
                self.bring_back()
                in_threads([lambda each=each: self.check_delivered(*each) for each in both])

    def start_while_away(self, server, times):
        """Several times, and writes each time."""
        stored = len(times)
        for _ in range(3):
            server.start()
            wait_until(lambda: tells_outage(server), "it tells the outage")
            times.append((len(times) + 1) * SECOND)
            self.assertStatus(server.write(f"a v={times[-1]} {times[-1]}"), 204)
            if stored:
                self.assertStatus(server.get("/api/v1/query", metric="a.v"), 503)
                self.assertTellsWhatIsMissing(server, times[stored:])
            else:  # there is nothing that only Cassandra has
                self.assertHolds(server, times)
            server.kill()
        server.start()

    def check_delivered(self, server, times):
        self.wait_delivered(server)
        self.assertHolds(server, times)
        server.kill().start()
        self.assertHolds(server, times)
        server.stop()

    def assertTellsWhatIsMissing(self, server, times):
        """Where that is allowed an answer has what is in memory, and names the rest."""
        answer = server.get("/api/v1/query", metric="a.v", partial="allowed", time_format="ns")
        self.assertStatus(answer, 200)
        facts = answer.json()["facts"]
        self.assertFalse(facts["complete"])
        self.assertEqual(facts["rows"], len(times))
        self.assertGreater(facts["partitions_missing"], 0)
        self.assertTrue(any(each["from"] <= SECOND < each["to"] for each in facts["missing"]),
                        facts["missing"])

    def test_it_stops_while_cassandra_hangs_and_delivers_later(self):
        server = self.server().start()
        self.assertStatus(server.write(f"a v={SECOND} {SECOND}"), 204)
        self.flush_in_time(server)
        self.node.pause()
        self.assertStatus(server.write(f"a v={2 * SECOND} {2 * SECOND}"), 204)
        self.assertGreaterEqual(server.flush().status, 500)
        self.assertEqual(server.terminate().wait_exit(), 0, server.log())
        self.assertRegex(server.log(), "stopped_without_flush")
        self.node.resume()
        server.start()
        self.wait_delivered(server)
        self.assertHolds(server, [SECOND, 2 * SECOND])
        server.stop()

    def test_a_folder_that_is_lost_takes_only_what_was_not_flushed(self):
        server = self.server().start()
        self.assertStatus(server.write(f"a v={SECOND} {SECOND}"), 204)
        self.flush_in_time(server, seal=True)
        self.assertStatus(server.write(f"a v={2 * SECOND} {2 * SECOND}"), 204)
        self.flush_in_time(server)
        self.assertStatus(server.write(f"a v={3 * SECOND} {3 * SECOND}"), 204)
        server.kill()
        shutil.rmtree(server.data)
        server.start()
        self.assertHolds(server, [SECOND, 2 * SECOND])
        self.assertStatus(server.write(f"a v={4 * SECOND} {4 * SECOND}"), 204)
        self.flush_in_time(server, seal=True)
        server.kill().start()
        self.assertHolds(server, [SECOND, 2 * SECOND, 4 * SECOND])
        server.stop()

    def test_memory_stays_bounded_and_clients_are_told(self):
        server = self.server(settings={"head.bytes_max": self.HEAD_BYTES_MAX,
                                       "head.flush_bytes": "1MiB",
                                       "ingest.batch_bytes_max": "2MiB"}).start()
        self.assertStatus(server.write(f"a v={SECOND} {SECOND}"), 204)
        base = server.resident_bytes()
        book = Book()
        self.node.pause()
        refused = fill(server, book)
        self.assertStatus(refused, 503, "overload")
        self.assertIn("Retry-After", refused.headers)
        peak = 0
        for _ in range(50):  # whoever insists does not get further
            fill(server, book)
            peak = max(peak, server.resident_bytes())
        self.assertTells(server, "head.bytes_max")
        self.assertLess(server.metrics().sum("varve_head_bytes"), self.HEAD_BYTES_MAX * 1.1)
        # The head, as much again for what is parsed and journaled, and what one flush needs.
        bound = base + (2 * self.HEAD_BYTES_MAX + 24 * MIB) * memory_factor()
        self.assertLess(peak, bound, f"{peak / MIB:.0f} MiB, {base / MIB:.0f} at the start")
        self.finish(server, book)

    def test_the_journal_stays_bounded_and_clients_are_told(self):
        bytes_max = 16 * MIB
        server = self.server(settings={"journal.bytes_max": bytes_max,
                                       "journal.segment_bytes": "1MiB"}).start()
        self.assertStatus(server.write(f"a v={SECOND} {SECOND}"), 204)
        book = Book()
        self.node.pause()
        refused = fill(server, book)
        self.assertStatus(refused, 503, "disk_full")
        self.assertIn("Retry-After", refused.headers)
        self.assertLessEqual(server.metrics().sum("varve_journal_file_bytes"), bytes_max)
        self.assertTells(server, "journal.bytes_max")
        self.finish(server, book)

    def assertTells(self, server, reason):
        """Queries work still, and writes will again."""
        self.assertIn(reason, server.get("/health").json()["message"])
        ready = server.get("/ready")
        self.assertStatus(ready, 200)
        self.assertIn("writes are refused", ready.json()["reason"])

    def finish(self, server, book):
        """What was accepted is delivered, and nothing else."""
        self.node.resume()
        wait_until(lambda: fill(server, book, most=1) is None, "writes are accepted again")
        self.wait_delivered(server)
        self.assertHolds(server, [SECOND])
        check = Check(book)
        for when in ("delivered", "started again"):
            check.rows(server, when, restarted=False, tenants=["load"])
            server.kill().start()
        check.raise_problems(self, "durable", "once", "newest")
        server.stop()


if __name__ == "__main__":
    main()
