# SPDX-License-Identifier: Apache-2.0
"""One of three nodes of Cassandra is away, and a third of all partitions with it, since there is one
replica of each. Everything else goes on; what belongs to that node is parked by Varve, also over a
kill -9, and is delivered when the node is back: all of it, once."""
import random
import threading
import time

import test_cluster
from cassandra_process import SYNCED, ClusterTest, main
from expectation import SECOND, Book, Check, Writer, outcome_of
from test_two_varves import export, until_of
from varve_process import Threads, in_threads, seed_of_this_run, wait_until

BUSY = {
    **test_cluster.BUSY,
    "cassandra.request_timeout": "5s",
    "fleet.beat": "500ms",
    "fleet.poll": "200ms",
    "fleet.gone_after": "5s",
    "cassandra.rows_tenants": "t1",
    "ack.timeout": "3s",
}
KEYS = "tenant, source, bucket, bucket_s, split"
KEYS_OF = {"shared_runs": "token(region, tenant, share, bucket, bucket_s)", "rows_forever": f"token({KEYS})"}
TENANTS = ("t0", "t1")  # blocks, rows
CALM = tuple(f"calm{n}" for n in range(24))
SOURCES = 24            # of each tenant, before the outage; as many come during it
FAILURES_MAX = 15       # of flushes, until it is known what is away


class Outage:
    """The long run; the tests hold guarantees against it."""

    def __init__(self, servers, cluster, seed):
        self.first, self.second = servers
        self.cluster = cluster
        self.seed = seed
        self.book = Book()
        self.check = Check(self.book)
        self.writers = []
        self.victim = None
        self.calm_at = None
        self.problems = []
        self.notes = {}

    def run(self):
        for server in (self.first, self.second):
            server.start()
        self.calm_at = time.time_ns()
        for tenant in CALM:
            wait_until(lambda each=tenant: self.written(each, self.calm_at).status == 204,
                       "ack=store is answered")
        self.add_sources()
        with self.load() as threads:
            self.wait_for(threads, 60)
        for server in (self.first, self.second):
            wait_until(lambda each=server: each.flush(seal=True).status == 204, "all is sealed")
        self.victim = self.choose_victim()
        began = time.time_ns()
        self.victim.kill()
        self.go_on_without_it(began)
        self.kill_varve()
        self.bring_it_back()
        self.finish()
        return self

    # ---- parts

    def add_sources(self):
        number = len(self.writers)
        self.writers += [
            Writer(self.book, number + n, random.Random(self.seed + number + n),
                   TENANTS[n % 2], lines_max=10, wild=False) for n in range(2 * SOURCES)]

    def load(self):
        """One connection for all sources of a tenant, which take turns."""
        stop = threading.Event()
        return Threads([lambda each=each: self.write(each, stop) for each in TENANTS], stop)

    def write(self, tenant, stop):
        client = self.first.client()
        while not stop.is_set():
            for writer in list(self.writers):
                if writer.tenant == tenant and not stop.is_set():
                    writer.send(client)
                    stop.wait(0.005)
        client.close()

    def wait_for(self, threads, batches):
        acknowledged = self.book.batches_acknowledged + batches
        threads.wait_until(lambda: self.book.batches_acknowledged >= acknowledged,
                           f"{batches} batches more")

    def choose_victim(self):
        """Not the one that has the list of nodes or the schema's version, of which there is one
        replica: without them no Varve could start."""
        keyspace = self.keyspace()
        nodes, schema = self.cluster.execute(
            f"SELECT token(region) AS t FROM {keyspace}.nodes LIMIT 1",
            f"SELECT token(id) AS t FROM {keyspace}.varve_schema LIMIT 1")
        needed = {self.owner(rows[0]["t"]) for rows in (nodes, schema)}
        return next(node for node in self.cluster.nodes if node not in needed)

    def tokens(self):
        """Each node with its token, ascending; it owns what lies behind the one before."""
        return sorted((int(node.configuration["initial_token"]), node)
                      for node in self.cluster.nodes)

    def owner(self, token):
        return next((node for own, node in self.tokens() if token <= own), self.tokens()[0][1])

    def living(self, table):
        """How many rows a table has in the partitions of the nodes that live."""
        token = KEYS_OF[table]
        ranges = []
        tokens = self.tokens()
        for i, (own, node) in enumerate(tokens):
            if node is self.victim:
                continue
            if i > 0:
                ranges.append(f"{token} > {tokens[i - 1][0]} AND {token} <= {own}")
            else:  # around the ring
                ranges.append(f"{token} > {tokens[-1][0]}")
                ranges.append(f"{token} <= {own}")
        found = self.cluster.execute(*[
            f"SELECT {token} AS t FROM {self.keyspace()}.{table} WHERE {each}" for each in ranges])
        return sum(len(rows) for rows in found)

    def keyspace(self):
        return self.first.settings["cassandra.keyspace"]

    def metric(self, name):
        return self.first.metrics().get(name, None)

    def expect(self, good, what):
        if not good:
            self.problems.append(what)

    def go_on_without_it(self, began):
        self.add_sources()
        with self.load() as threads:
            threads.wait_until(lambda: self.metric("varve_store_parked") > 0, "something is parked")
            known = time.time_ns()
            self.expect(self.first.get("/ready").status == 200, "it is ready")
            self.expect("a part of the store is away" in
                        self.first.get("/health").json()["message"], "health says so")
            self.settle_down(threads)
            self.look_at_acks()
            self.see_growth(threads)
            self.look_at_times(known)
            self.notes["duration"] = (time.time_ns() - began) / SECOND

    def settle_down(self, threads):
        """Until flushes go through one after the other."""
        def goes_through():
            before = self.first.metrics()
            flushes = before.get("varve_flushes_total")
            wait_until(lambda: self.metric("varve_flushes_total") >= flushes + 3, "3 flushes", 60)
            return self.metric("varve_flush_failures_total") == before.get(
                "varve_flush_failures_total")
        threads.wait_until(goes_through, "flushes go through")
        failures = self.metric("varve_flush_failures_total")
        self.expect(failures <= FAILURES_MAX, f"{failures} flushes failed")

    def see_growth(self, threads):
        """What lives is delivered, nothing stays in head and journal."""
        before = self.living("shared_runs"), self.living("rows_forever")
        failures = self.metric("varve_flush_failures_total")
        recoveries = self.metric("varve_store_recoveries_total")
        self.wait_for(threads, 150)
        flushes = self.metric("varve_flushes_total")
        threads.wait_until(lambda: self.metric("varve_flushes_total") >= flushes + 5, "5 flushes")
        after = self.living("shared_runs"), self.living("rows_forever")
        self.expect(after[0] > before[0] and after[1] > before[1],
                    f"nothing was delivered: {before} {after}")
        self.notes["failed meanwhile"] = (
            self.metric("varve_flush_failures_total") - failures,
            self.metric("varve_store_recoveries_total") - recoveries)
        self.expect(self.notes["failed meanwhile"][0] <= 3,
                    f"flushes fail again and again: {self.notes['failed meanwhile']}")
        self.expect(self.metric("varve_journal_age_seconds") < 20, "the journal grows")
        self.expect(self.metric("varve_head_bytes") < 4 << 20, "the head grows")

    def look_at_acks(self):
        """Both tenants have something parked. Each of the others has one source, of which nothing is
        new. A write needs several partitions, each of which is there with 2 to 1: which of these
        tenants have all of theirs is chance, but not that some have."""
        times = dict.fromkeys(TENANTS, time.time_ns()) | dict.fromkeys(CALM, self.calm_at + 1)
        statuses = {}

        def write(tenant):
            statuses[tenant] = self.written(tenant, times[tenant]).status

        def some_are_answered():  # a busy machine may take longer than ack.timeout
            in_threads([lambda each=each: write(each) for each in times])
            for tenant in TENANTS:
                self.expect(statuses[tenant] == 500,
                            f"ack=store of {tenant}, which has something parked, was answered OK")
            self.notes["calm"] = [statuses[tenant] for tenant in CALM]
            return 204 in self.notes["calm"]
        wait_until(some_are_answered, "ack=store of tenants that have nothing parked is answered OK")

    def written(self, tenant, at):
        """The answer to a point with ack=store."""
        answer = self.first.request("POST", f"/write?db={tenant}&ack=store", f"ack,x=1 v=1 {at}")
        self.book.tell(tenant, [("x=1", "ack.v", at, 1.0)], outcome_of(answer))
        return answer

    def told(self):
        """Up to when the second one has been told that the first one has written all."""
        node, = [each for each in self.second.get("/api/v1/nodes").json()["nodes"]
                 if not each["self"]]
        return until_of({"complete_until": node["flushed_until"]})

    def look_at_times(self, known):
        """Others are told no later time than that at which something was parked first."""
        untils = []
        for _ in range(2):
            untils.append(self.told())
            time.sleep(1.5)
        self.expect(0 < untils[0] == untils[1] <= known, f"complete until {untils}, {known}")
        self.notes["until"] = untils[0]

    def kill_varve(self):
        parked = self.metric("varve_store_parked")
        self.first.kill().start()
        self.expect(self.metric("varve_store_parked") > 0, "what was parked is gone")
        with self.load() as threads:
            self.wait_for(threads, 60)
            self.settle_down(threads)
            until = self.told()
            self.expect(until == self.notes["until"], f"complete until {until} after a start")
        self.notes["parked"] = parked, self.metric("varve_store_parked")

    def bring_it_back(self):
        self.victim.launch()
        self.cluster.wait_until_up(self.victim)
        with self.load() as threads:
            began = time.monotonic()
            threads.wait_until(lambda: self.metric("varve_store_parked") == 0, "all is delivered")
            self.notes["delivered after"] = time.monotonic() - began
        self.expect("reason" not in self.first.get("/ready").json(), "ready has a reason still")

    def finish(self):
        for server in (self.first, self.second):
            wait_until(lambda each=server: each.flush(seal=True).status == 204, "all is sealed")
        now = time.time_ns()
        wait_until(lambda: self.told() >= now, "the second one has learnt all")
        for server in (self.first, self.second):
            self.check.rows(server, f"at the end, {server.folder.name}",
                            tenants=[each for each in TENANTS])
        wait_until(lambda: self.first.flush(seal=True).status == 204 and
                   self.second.flush(seal=True).status == 204 and not self.open_marks(),
                   "all is sealed")
        for server in (self.first, self.second):
            self.check.rows(server, f"when all is sealed, {server.folder.name}",
                            tenants=[each for each in TENANTS])
        self.notes["exports"] = [export(each, "t0") for each in (self.first, self.second)]
        wait_until(lambda: self.written("t0", now).status == 204, "ack=store is answered")
        print({name: note for name, note in self.notes.items() if name != "exports"}, flush=True)
        for server in (self.first, self.second):
            server.stop()

    def open_marks(self):
        rows, = self.cluster.execute(f"SELECT WRITETIME(newest) AS put, retired FROM {self.keyspace()}.ledger")
        return [row for row in rows if row["put"] and row["put"] > (row["retired"] or 0)]


class OneReplicaIsAway(ClusterTest):
    """One long run; each test holds one guarantee against it."""

    CLUSTER = {"nodes": 3, "options": SYNCED}
    KILLS_HOSTS = True
    REPLICATION = "dc1:1"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = cls.case_of_all()
        settings = {**cls.store(), **BUSY}
        servers = [case.server(name, settings) for name in ("first", "second")]
        cls.outage = Outage(servers, cls.cluster, seed_of_this_run()).run()

    def test_what_is_away_stops_nothing_else(self):
        self.assertFalse(self.outage.problems)

    def test_acknowledged_is_durable_and_delivered(self):
        self.outage.check.raise_problems(self, "durable")

    def test_idempotent_each_point_once_with_its_last_value(self):
        self.outage.check.raise_problems(self, "once", "newest")

    def test_both_export_the_same(self):
        first, second = self.outage.notes["exports"]
        self.assertEqual(first, second)


if __name__ == "__main__":
    main()
