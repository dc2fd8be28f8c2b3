# SPDX-License-Identifier: Apache-2.0
"""What a server must hold: a naive book of all that was sent to it, and writers that keep it.

Values are unique in a book, so each row of an answer tells which write it comes from.
"""
import http.client
import threading
import time

SECOND = 1_000_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR


class Book:
    """key (tenant, source, metric, time) → the value acknowledged last, and what may stand there
    besides: values whose fate was never told. One writer writes a key at a time."""

    def __init__(self):
        self.lock = threading.Lock()
        self.acknowledged = {}
        self.open = {}
        self.points_acknowledged = 0
        self.points_open = 0
        self.batches_acknowledged = 0
        self.batches_refused = 0
        self.batches_open = 0

    def tell(self, tenant, points, outcome):
        """The outcome of a batch of points (source, metric, time, value), the last of a key counts:
        "acknowledged"; "refused": certainly not stored; "open": not known."""
        with self.lock:
            if outcome == "refused":
                self.batches_refused += 1
                return
            acknowledged = outcome == "acknowledged"
            self.batches_acknowledged += acknowledged
            self.batches_open += not acknowledged
            self.points_acknowledged += len(points) if acknowledged else 0
            self.points_open += 0 if acknowledged else len(points)
            for source, metric, at, value in points:
                key = (tenant, source, metric, at)
                if acknowledged:
                    self.acknowledged[key] = value
                    self.open.pop(key, None)
                else:
                    self.open.setdefault(key, set()).add(value)

    def values(self, tenant):
        """{(source, metric, time): value} of a tenant, as acknowledged last."""
        with self.lock:
            return {key[1:]: value for key, value in self.acknowledged.items() if key[0] == tenant}

    def tenants(self):
        with self.lock:
            return sorted({key[0] for key in self.acknowledged} | {key[0] for key in self.open})

    def differences(self, tenant, rows, open_allowed=True):
        """What is wrong with rows (source, metric, time, value as text) that should be all that
        the tenant has, as {guarantee: [message, …]}."""
        lost, doubled, wrong = [], [], []
        found = {}
        for source, metric, at, text in rows:
            key = (tenant, source, metric, at)
            if key in found:
                doubled.append(f"{key} is there twice")
            found[key] = float(text)
        with self.lock:
            for key, value in self.acknowledged.items():
                if key[0] == tenant and key not in found:
                    lost.append(f"{key} = {value} was acknowledged and is not there")
            for key, value in found.items():
                expected = self.acknowledged.get(key)
                allowed = open_allowed and value in self.open.get(key, ())
                if value != expected and not allowed:
                    wrong.append(f"{key} is {value}, but {expected} was acknowledged last"
                                 if expected is not None else
                                 f"{key} is {value}, which nobody acknowledged")
        return {"durable": lost, "once": doubled, "newest": wrong}

    def settle(self, tenant, rows):
        """After a restart: what it brought back stays for ever, what it did not never comes."""
        found = {(tenant, source, metric, at): float(text) for source, metric, at, text in rows}
        with self.lock:
            for key in [key for key in self.open if key[0] == tenant]:
                if key in found:
                    self.acknowledged[key] = found[key]
                del self.open[key]


class Check:
    """Compares a server with a book, and gathers what is wrong by guarantee."""

    def __init__(self, book):
        self.book = book
        self.problems = {"durable": [], "once": [], "newest": [], "conserved": [], "bounded": []}

    def add(self, guarantee, message):
        self.problems[guarantee].append(message)

    def rows(self, server, when, restarted=True, tenants=None):
        """All rows of all tenants. `restarted`: since the writes whose fate is open. A tenant that is
        not there has no rows: its first write may have been one of those."""
        there = {each["tenant"] for each in server.get("/api/v1/tenants").json()["tenants"]}
        for tenant in tenants or self.book.tenants():
            rows = server.rows(tenant, metric="*") if tenant in there else []
            for guarantee, messages in self.book.differences(tenant, rows, restarted).items():
                self.problems[guarantee] += [f"{when}: {message}" for message in messages]
            if restarted:
                self.book.settle(tenant, rows)

    def accepted(self, server, when):
        """After a restart: the accepted count moves with the batches."""
        book = self.book
        accepted = server.metrics().get("varve_points_accepted_ever_total")
        least, most = book.points_acknowledged, book.points_acknowledged + book.points_open
        if not least <= accepted <= most:
            self.add("conserved", f"{when}: {accepted:.0f} points are counted as accepted, not "
                                  f"{least} to {most}")
        book.points_acknowledged, book.points_open = int(accepted), 0

    def raise_problems(self, test, *guarantees):
        """Fails when something is wrong with one of these."""
        for guarantee in guarantees:
            found = self.problems[guarantee]
            test.assertFalse(found, f"{len(found)} times, for example:\n" + "\n".join(found[:10]))


class Writer:
    """Sends batches of one source, each point with a value that was never used before."""

    def __init__(self, book, number, random, tenant, lines_max=60, new_share=0.5, wild=True):
        self.book = book
        self.random = random
        self.tenant = tenant
        self.tags = f"writer={number}"
        self.lines_max = lines_max
        self.new_share = new_share
        self.wild = wild  # late points, and times that are years off
        self.value = number * 1_000_000_000
        self.last_time = time.time_ns() - 10 * MINUTE
        self.times = []

    # ---- what is sent

    def new_time(self):
        kind = self.random.random()
        if kind < 0.80 or not self.wild:
            step = self.random.randrange(1, 200_000_000)
            at = self.last_time = min(self.last_time + step, time.time_ns())
        elif kind < 0.98:
            at = self.last_time - self.random.randrange(MINUTE, 3 * HOUR)
        elif kind < 0.99:
            at = self.last_time - self.random.randrange(DAY, 400 * DAY)
        else:
            at = self.random.randrange(-50 * 365 * DAY, 30 * 365 * DAY)
        self.times.append(at)
        return at

    def batch(self):
        """Lines, and the points that they hold."""
        lines, points = [], []
        for _ in range(self.random.randrange(1, self.lines_max)):
            again = self.times and self.random.random() > self.new_share
            at = self.random.choice(self.times) if again else self.new_time()
            fields = []
            for field, suffix in (("f", ""), ("i", "i")):
                if self.random.random() < 0.8 or (field == "i" and not fields):
                    self.value += 1
                    fields.append(f"{field}={self.value}{suffix}")
                    points.append((self.tags, f"m.{field}", at, float(self.value)))
            lines.append(f"m,{self.tags} {','.join(fields)} {at}")
        return lines, points

    # ---- sending

    def send(self, client):
        """One batch. True: acknowledged; False: refused or unknown; raises OSError or
        HTTPException when the connection breaks."""
        lines, points = self.batch()
        try:
            answer = client.write(lines, self.tenant)
        except (OSError, http.client.HTTPException):
            self.book.tell(self.tenant, points, "open")
            raise
        self.book.tell(self.tenant, points, outcome_of(answer))
        return answer.status == 204

    def run(self, server, stop, pause_s=0):
        """Sends until `stop` is set or the server is gone; with pauses, to leave time to others."""
        client = server.client()
        try:
            while not stop.is_set():
                acknowledged = self.send(client)
                stop.wait(pause_s if acknowledged else max(pause_s, 0.01))
        except (OSError, http.client.HTTPException):
            pass
        finally:
            client.close()


def outcome_of(answer):
    """What an answer to a write promises; AssertionError when it is none that a write may have."""
    if answer.status == 204:
        return "acknowledged"
    code = answer.code()
    if answer.status == 500 and code == "outcome_unknown":
        return "open"
    if answer.status == 503 and "Retry-After" in answer.headers:
        return "refused"
    raise AssertionError(f"a write was answered {answer}")


def fill(server, book, most=1000):
    """Large batches until one is refused, which it returns; None when none was."""
    for _ in range(most):
        at = (book.batches_acknowledged + 1) * 2000 * SECOND
        points = [("n=1", "load.f", at + row * SECOND, float(row)) for row in range(2000)]
        lines = [f"load,n=1 f={row} {at + row * SECOND}" for row in range(2000)]
        answer = server.write(lines, "load")
        book.tell("load", points, outcome_of(answer))
        if answer.status != 204:
            return answer
    return None
