# SPDX-License-Identifier: Apache-2.0
"""Two nodes of Varve on one cluster, which write the same sources and are killed in turn: what was
acknowledged is there, once, with its last value, whichever of the two is asked, and all of it is
sealed."""
import datetime
import random
import threading
import time

import test_cluster
from cassandra_process import SYNCED, ClusterTest, export, exported_values, main, rows_of
from expectation import SECOND, Book, Check, Writer
from varve_process import Threads, seed_of_this_run, wait_until, with_parameters

BUSY = {
    **test_cluster.BUSY,
    "cassandra.request_timeout": "5s",
    "fleet.beat": "500ms",
    "fleet.poll": "200ms",
    "fleet.gone_after": "5s",
    "cassandra.rows_tenants": "t1",
}

GONE_S = 120  # until a node that is silent counts as gone, with patience


class Campaign:
    """Writers that go from one node to the other and back; nodes that are killed meanwhile."""

    WRITERS = 4

    def __init__(self, servers, cluster, seed):
        self.servers = servers
        self.cluster = cluster
        self.random = random.Random(seed)
        self.book = Book()
        self.check = Check(self.book)
        self.writers = [Writer(self.book, n, random.Random(seed + n), f"t{n % 2}", wild=False)
                        for n in range(self.WRITERS)]
        self.notes = {}

    def run(self):
        for server in self.servers:
            server.start()
        first, second = self.servers
        self.phase("first one", [first])
        self.phase("second one", [second])
        node = self.random.choice(self.cluster.nodes)
        node.kill()
        self.phase(f"both, without {node}", self.servers, look=False)
        node.launch()
        self.cluster.wait_until_up(node)
        self.silence(second, first)
        self.change_plans("1h", "1h")
        self.change_plans("30m", "20m")
        self.finish()
        return self

    # ---- parts

    def load(self):
        stop = threading.Event()
        return Threads([lambda each=each: self.write(each, stop) for each in self.writers], stop)

    def write(self, writer, stop):
        """To one node until it is gone, then to the other."""
        while not stop.is_set():
            server = self.random.choice(self.servers)
            address = server.address
            if server.is_running() and address:
                burst = threading.Event()
                timer = threading.Timer(0.5, burst.set)
                timer.start()
                writer.run(server, _Either(stop, burst), test_cluster.PAUSE_S)
                timer.cancel()
            else:
                stop.wait(0.05)

    def wait_for(self, threads, batches):
        acknowledged = self.book.batches_acknowledged + batches
        threads.wait_until(lambda: self.book.batches_acknowledged >= acknowledged,
                           f"{batches} batches more")

    def phase(self, name, killed, look=True):
        began = time.monotonic()
        with self.load() as threads:
            self.wait_for(threads, 60)
            for server in killed:
                server.kill()
            if len(killed) < len(self.servers):
                self.wait_for(threads, 60)
            for server in killed:
                server.start()
            self.wait_for(threads, 60)
        if look:
            self.compare(f"after {name} was killed")
        print(f"{name}: {time.monotonic() - began:.0f} s, {self.book.batches_acknowledged} "
              f"batches", flush=True)

    def silence(self, silent, other):
        """One is away for so long that the other tells it, and seals what was its own."""
        with self.load() as threads:
            self.wait_for(threads, 60)
        silent.kill()
        with self.load() as threads:
            self.wait_for(threads, 60)
        wait_until(lambda: facts(other)["nodes_gone"] == 1, "the other one tells it", GONE_S)
        self.notes["gone"] = facts(other)
        wait_until(lambda: other.flush(seal=True).status == 204, "what it has is sealed")
        wait_until(lambda: other.flush(seal=True).status == 204 and not self.open_marks(),
                   "all that was flushed is sealed")
        silent.start()
        wait_until(lambda: facts(other)["nodes_gone"] == 0, "it is heard of again")
        self.compare("after a silence")

    def change_plans(self, *buckets):
        """Of one source, through both nodes at the same moment, while all is written."""
        barrier = threading.Barrier(len(self.servers))
        answers = [None] * len(self.servers)

        def change(place):
            path = with_parameters("/api/v1/plans", {
                "tenant": "t0", "source": "writer=0", "bucket": buckets[place],
                "splits": 2 + place})
            barrier.wait()
            answers[place] = self.servers[place].request("PUT", path).status

        with self.load() as threads:
            self.wait_for(threads, 20)
            changing = [threading.Thread(target=change, args=(place,))
                        for place in range(len(self.servers))]
            for thread in changing:
                thread.start()
            for thread in changing:
                thread.join()
            self.wait_for(threads, 20)
        wait_until(lambda: plans_of(self.servers[0]) == plans_of(self.servers[1]),
                   "both know the same plans")
        self.notes.setdefault("plans", []).append((answers, plans_of(self.servers[0])))

    def compare(self, when):
        """Both hold the same, and all."""
        for server in self.servers:
            wait_until(lambda each=server: each.flush(seal=True).status == 204, f"flushed {when}")
        now = time.time_ns()
        for server in self.servers:
            wait_until(lambda each=server: until_of(facts(each)) >= now, f"it has learnt {when}")
        for server in self.servers:
            self.check.rows(server, when)

    def open_marks(self):
        rows, = self.cluster.execute(
            f"SELECT WRITETIME(newest) AS put, retired FROM {self.keyspace()}.ledger")
        return [row for row in rows if row["put"] and row["put"] > (row["retired"] or 0)]

    def keyspace(self):
        return self.servers[0].settings["cassandra.keyspace"]

    def finish(self):
        self.compare("at the end")
        wait_until(lambda: all(each.flush(seal=True).status == 204 for each in self.servers) and
                   not self.open_marks(), "all is sealed")
        self.compare("when all is sealed")
        self.notes["exports"] = [export(each, "t0") for each in self.servers]
        self.notes["rows"] = rows_of(self.cluster, self.servers[0], "t1")
        for server in self.servers:
            server.stop()


class _Either:
    """An event that is set when one of two is."""

    def __init__(self, *events):
        self.events = events

    def is_set(self):
        return any(event.is_set() for event in self.events)

    def wait(self, seconds):
        return self.events[0].wait(seconds)


def facts(server):
    """What an answer says of itself."""
    answer = server.get("/api/v1/query", tenant="t0", metric="*", limit=1, from_="2100-01-01",
                        to="2100-01-02")
    return answer.json().get("facts", {}) if answer.status == 200 else {}


def plans_of(server):
    """[(from, bucket, splits)] of the source whose plan is changed."""
    answer = server.get("/api/v1/plans", tenant="t0", source="writer=0")
    return [(plan["from"], plan["bucket"], plan["splits"]) for plan in answer.json()["plans"]]


def until_of(found):
    """ns since 1970, to the µs."""
    text = found.get("complete_until")
    if not text:
        return 0
    whole, _, part = text.rstrip("Z").partition(".")
    at = datetime.datetime.fromisoformat(whole + "+00:00").timestamp()
    return int(at) * SECOND + int((part + "000000000")[:9])


class TwoVarves(ClusterTest):
    """One long run; each test holds one guarantee against it."""

    CLUSTER = {"nodes": 3, "options": SYNCED}
    KILLS_HOSTS = True

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = cls.case_of_all()
        settings = {**cls.store(), **BUSY}
        servers = [case.server(name, settings) for name in ("first", "second")]
        cls.campaign = Campaign(servers, cls.cluster, seed_of_this_run()).run()

    def holds(self, *guarantees):
        self.campaign.check.raise_problems(self, *guarantees)

    def test_acknowledged_is_durable_whichever_node_took_it(self):
        self.holds("durable")

    def test_idempotent_each_point_once_with_its_last_value(self):
        self.holds("once", "newest")

    def test_answers_name_a_node_that_is_gone(self):
        gone = self.campaign.notes["gone"]
        self.assertEqual((gone["nodes_gone"], len(gone["gone"])), (1, 1), gone)
        self.assertGreater(until_of(gone), 0)

    def test_both_export_the_same_which_is_all(self):
        first, second = self.campaign.notes["exports"]
        self.assertEqual(first, second)
        self.assertEqual(exported_values(first), self.campaign.book.values("t0"))

    def test_plans_that_both_change_at_once_are_the_same(self):
        (first, one), (second, all_of_them) = self.campaign.notes["plans"]
        self.assertEqual(first + second, [200] * 4)
        self.assertEqual([plan[1] for plan in one[-1:]], ["1h"], one)
        self.assertEqual(all_of_them[:len(one)], one)
        self.assertTrue({plan[1] for plan in all_of_them[len(one):]} & {"30m", "20m"}, all_of_them)

    def test_another_client_finds_the_rows(self):
        expected = sorted((metric, value) for (_, metric, _), value
                          in self.campaign.book.values("t1").items())
        self.assertEqual(self.campaign.notes["rows"], expected)


if __name__ == "__main__":
    main()
