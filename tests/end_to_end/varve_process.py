# SPDX-License-Identifier: Apache-2.0
"""Runs the built program for the end-to-end tests: servers in folders of their own, requests to
them, their metrics and log, and faults of the disk. Python's standard library only.

Environment:
  VARVE              path of the program
  VARVE_FAULTS       path of the library of faults.c; tests of faults need it
  VARVE_E2E_STORE    "cassandra": all servers run on it, each data folder with a keyspace of its own
  VARVE_CASSANDRA    the contact points of one node of Cassandra, for that
  VARVE_E2E_ROWS     "*": all tenants keep their values as rows there
  VARVE_E2E_SECONDS  how long the longest test loads; the others follow it
  VARVE_TEST_SEED    the seed of random tests; else it is chosen and printed
"""
import csv
import http.client
import io
import json
import mmap
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools" / "cassandra"
sys.path.append(str(TOOLS))

import processes  # pylint: disable=wrong-import-position # it is found only now

PROGRAM = os.environ.get("VARVE", "varve")
FAULTS_LIBRARY = os.environ.get("VARVE_FAULTS", "")
ON_CASSANDRA = os.environ.get("VARVE_E2E_STORE") == "cassandra"
ROWS_TENANTS = os.environ.get("VARVE_E2E_ROWS", "")
SEALS = not (ON_CASSANDRA and ROWS_TENANTS)  # rows are not sealed
SECONDS = float(os.environ.get("VARVE_E2E_SECONDS", "30"))

# A condition that has not come by then never will; generous, for sanitizers on a busy machine.
PATIENCE_S = 300

SANITIZER_REPORT = re.compile(
    r"(ERROR: AddressSanitizer|ERROR: LeakSanitizer|WARNING: ThreadSanitizer|runtime error:"
    r"|invariant)")


def wait_until(condition, what, seconds=PATIENCE_S):
    """Polls until condition() is true and returns what it returned."""
    deadline = time.monotonic() + seconds
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds} s in vain: {what}")
        time.sleep(0.01)


def seed_of_this_run():
    """For random.Random; printed, so that VARVE_TEST_SEED can repeat it."""
    seed = int(os.environ.get("VARVE_TEST_SEED", "0")) or random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed} (VARVE_TEST_SEED repeats it)", flush=True)
    return seed


def memory_factor():
    """Sanitizers need more."""
    with open(PROGRAM, "rb") as file:
        program = file.read()
    return 8 if b"__asan_init" in program or b"__tsan_init" in program else 1


def in_time(ask):
    """What ask() answers as soon as that takes no longer than query.time_max. For tests that lower it,
    since other times follow from it, and may meet a busy machine."""
    return wait_until(lambda: None if "query.time_max" in (answer := ask()).text else answer,
                      "a query ends in time")


class Answer:
    """Of a request: status, headers, body."""

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def text(self):
        return self.body.decode("utf-8", "replace")

    def json(self):
        return json.loads(self.body)

    def code(self):
        """The word that an error has for programs."""
        return self.json().get("code")

    def __repr__(self):
        return f"<{self.status} {self.text[:300]!r}>"


class Metrics:
    """A page of /metrics."""

    LINE = re.compile(r'^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$')
    LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

    def __init__(self, text):
        self.samples = []
        for line in text.splitlines():
            match = self.LINE.match(line)
            if match:
                labels = dict(self.LABEL.findall(match.group(2) or ""))
                self.samples.append((match.group(1), labels, float(match.group(3))))

    def sum(self, name, **labels):
        """Of all samples with this name and these labels; KeyError when there is none."""
        found = [value for key, has, value in self.samples
                 if key == name and all(has.get(k) == v for k, v in labels.items())]
        if not found:
            raise KeyError(f"no metric {name} {labels}")
        return sum(found)

    def get(self, name, default=0.0, **labels):
        try:
            return self.sum(name, **labels)
        except KeyError:
            return default


class Client:
    """A connection that is kept; one thread. Raises OSError or HTTPException when it breaks."""

    def __init__(self, address, timeout=PATIENCE_S):
        self.connection = http.client.HTTPConnection(*address, timeout=timeout)

    def request(self, method, path, body=None, headers=None):
        if isinstance(body, str):
            body = body.encode()
        self.connection.request(method, path, body=body, headers=headers or {})
        answer = self.connection.getresponse()
        return Answer(answer.status, answer.headers, answer.read())

    def get(self, path, **parameters):
        return self.request("GET", with_parameters(path, parameters))

    def write(self, lines, tenant="default", precision="ns"):
        """Line protocol: a text, or a list of lines."""
        body = lines if isinstance(lines, (str, bytes)) else "\n".join(lines)
        path = with_parameters("/write", {"db": tenant, "precision": precision})
        return self.request("POST", path, body)

    def rows(self, tenant="default", **parameters):
        """Points as (source, metric, time in ns, value as text); the answer must be complete."""
        parameters = {"tenant": tenant, "format": "csv", "time_format": "ns", **parameters}
        answer = in_time(lambda: self.get("/api/v1/query", **parameters))
        if answer.status != 200:
            raise AssertionError(f"query {parameters}: {answer}")
        if re.search(r"^# error", answer.text, re.MULTILINE):
            raise AssertionError(f"query {parameters} broke off: {answer.text[-300:]}")
        lines = csv.reader(line for line in io.StringIO(answer.text) if not line.startswith("#"))
        next(lines)
        return [(source, metric, int(at), value) for source, metric, at, value in lines]

    def metrics(self):
        return Metrics(self.get("/metrics").text)

    def flush(self, seal=False):
        return self.request("POST", "/api/v1/flush" + ("?seal=true" if seal else ""))

    def set_tenant(self, tenant, retention=None, **more):
        about = {"tenant": tenant} | ({"retention": retention} if retention else {}) | more
        return self.request("PUT", "/api/v1/tenants", json.dumps(about),
                            {"Content-Type": "application/json"})

    def close(self):
        self.connection.close()


def with_parameters(path, parameters):
    text = urllib.parse.urlencode(
        {key.rstrip("_"): value for key, value in parameters.items()}, doseq=True)
    return f"{path}?{text}" if text else path


def as_arguments(settings):
    return [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]


def apply_schema(settings):
    """`varve schema --apply` with a server's settings; it must succeed."""
    done = subprocess.run([PROGRAM, "schema", "--apply", *as_arguments(settings)],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False)
    if done.returncode != 0 or SANITIZER_REPORT.search(done.stderr):
        raise AssertionError(f"varve schema: exit code {done.returncode}:\n{done.stderr}")


class Keyspaces:
    """One for each data folder, since servers that share one would share their tenants; made when
    the folder's first server starts."""

    def __init__(self):
        self.lock = threading.Lock()
        self.names = {}

    def settings(self, data):
        """What a server on this folder needs."""
        with self.lock:
            known = data in self.names
            name = self.names.setdefault(data, f"varve_{len(self.names)}")
            settings = {"store.kind": "cassandra", "cassandra.keyspace": name,
                        "cassandra.contact_points": os.environ["VARVE_CASSANDRA"],
                        "cassandra.replication": "dc1:1", "cassandra.classes": "1h,30d",
                        "cassandra.rows_tenants": ROWS_TENANTS}
            if not known:
                apply_schema(settings)
            return settings


KEYSPACES = Keyspaces()


def embedded_only(reason):
    """For tests of what only the embedded store does."""
    return unittest.skipIf(ON_CASSANDRA, reason)


def environment_with(faults):
    """Of a process that meets these faults, if any."""
    environment = dict(os.environ)
    if faults:
        environment["LD_PRELOAD"] = FAULTS_LIBRARY
        environment["VARVE_FAULTS_FILE"] = str(faults.path)
        options = environment.get("ASAN_OPTIONS", "detect_leaks=1")
        environment["ASAN_OPTIONS"] = options + ":verify_asan_link_order=0"
    return environment


class Varve:
    """One server: a data folder that stays, and a process that comes and goes."""

    def __init__(self, folder, settings=None, faults=None):
        self.folder = pathlib.Path(folder)
        self.data = self.folder / "data"
        self.settings = dict(settings or {})
        self.faults = faults
        self.process = None
        self.address = None
        self.listen = "127.0.0.1:0"
        self.stays = False
        self.log_path = None
        self.starts = 0

    # ---- the process

    def command(self):
        store = KEYSPACES.settings(self.data) if ON_CASSANDRA else {}
        return [PROGRAM, "serve", "--data", str(self.data), "--listen", self.listen,
                *as_arguments({**store, **self.settings})]

    def stay(self):
        """Before the first start: later ones listen at the same address, which is of loopback and this
        process's own, so that nobody takes its port in between."""
        pid = os.getpid()
        self.listen = f"127.{128 + (pid >> 16)}.{pid >> 8 & 255}.{pid & 255}:0"
        self.stays = True
        return self

    def launch(self):
        """Starts the process and waits for nothing."""
        assert self.process is None, "it runs already"
        self.starts += 1
        self.address = None
        self.log_path = self.folder / f"log.{self.starts}"
        with open(self.log_path, "wb") as log:
            # Servers that outlive a test would meddle with the next one on Cassandra.
            self.process = processes.start(self.command(), stdout=log, stderr=log,
                                           env=environment_with(self.faults))
        return self

    def start(self):
        """Starts it and waits until it takes writes."""
        self.launch()
        self.wait_listening()
        self.wait_for_log(r"^\S+ info ready ")
        return self

    def wait_listening(self):
        match = self.wait_for_log(r"^\S+ info listening address=([\d.]+):(\d+)")
        self.address = (match.group(1), int(match.group(2)))
        if self.stays:
            self.listen = f"{match.group(1)}:{match.group(2)}"
        return self

    def wait_for_log(self, pattern, seconds=PATIENCE_S):
        """The first match in this process's log; fails when the process ends without it."""
        compiled = re.compile(pattern, re.MULTILINE)

        def look():
            ended = self.process is None or self.process.poll() is not None
            match = compiled.search(self.log())
            if not match and ended:
                raise AssertionError(f"the server ended without {pattern!r}:\n{self.log_tail()}")
            return match
        return wait_until(look, f"{pattern!r} in the log:\n{self.log_tail()}", seconds)

    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path else ""

    def log_tail(self):
        return "\n".join(self.log().splitlines()[-40:])

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def _ended(self):
        code = self.process.returncode
        self.process = None
        if SANITIZER_REPORT.search(self.log()):
            raise AssertionError(f"the server's log has a report:\n{self.log()[-20000:]}")
        return code

    def kill(self):
        """kill -9, now."""
        if self.process:
            self.process.kill()
            self.process.wait()
            self._ended()
        return self

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)
        return self

    def wait_exit(self, seconds=PATIENCE_S):
        """The exit code."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"the server has not ended:\n{self.log_tail()}") from None
        return self._ended()

    def stop(self):
        """SIGTERM; must end well."""
        code = self.terminate().wait_exit()
        if code != 0:
            raise AssertionError(f"exit code {code}:\n{self.log_tail()}")
        return self

    def resident_bytes(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"^VmRSS:\s+(\d+) kB", text, re.MULTILINE).group(1)) * 1024

    # ---- single requests, each on a connection of its own

    def client(self, timeout=PATIENCE_S):
        return Client(self.address, timeout)

    def once(self, method, *arguments, timeout=PATIENCE_S, **named):
        client = self.client(timeout)
        try:
            return getattr(client, method)(*arguments, **named)
        finally:
            client.close()

    def request(self, *arguments, **named):
        return self.once("request", *arguments, **named)

    def get(self, path, **parameters):
        return self.once("get", path, **parameters)

    def write(self, *arguments, **named):
        return self.once("write", *arguments, **named)

    def rows(self, *arguments, **named):
        return self.once("rows", *arguments, **named)

    def metrics(self):
        return self.once("metrics")

    def flush(self, seal=False):
        return self.once("flush", seal)

    def set_tenant(self, *arguments, **named):
        return self.once("set_tenant", *arguments, **named)

    def wait_healed(self):
        """Until it takes writes and the store can be written: on Cassandra it is ready before."""
        wait_until(lambda: self.get("/ready").status == 200 and
                   self.metrics().sum("varve_store_writable") == 1, "it has healed")

    def wait_metric(self, condition, what):
        """Polls /metrics until condition(metrics) is true."""
        return wait_until(lambda: condition(self.metrics()), what)


class Rule:
    """One fault; see faults.c for the layout. Its figures can be read while it is on and after."""

    SIZE = 256
    OPERATIONS = {"sync": 1, "write": 2, "create": 4, "allocate": 8, "truncate": 16, "rename": 32,
                  "space": 64, "clock": 128}

    def __init__(self, memory, index):
        self.memory = memory
        self.at = index * self.SIZE

    def set(self, operations, path, error=0, waits=False, torn=False, skip=0,
            count=(1 << 64) - 1, value=0):
        bits = sum(self.OPERATIONS[word] for word in operations.split())
        struct.pack_into("=IIiIIIQQQQq192s", self.memory, self.at, 0, bits, error, int(waits), 0,
                         int(torn), skip, count, 0, 0, value, str(path).encode())
        struct.pack_into("=I", self.memory, self.at, 1)

    def change(self, value):
        """While it is on, so that a clock does not go back in between."""
        struct.pack_into("=q", self.memory, self.at + 56, value)

    def off(self):
        struct.pack_into("=I", self.memory, self.at, 0)

    @property
    def waiting(self):
        return struct.unpack_from("=I", self.memory, self.at + 16)[0]

    @property
    def seen(self):
        return struct.unpack_from("=Q", self.memory, self.at + 40)[0]

    @property
    def acted(self):
        return struct.unpack_from("=Q", self.memory, self.at + 48)[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.off()


class Faults:
    """The file that a server with the library of faults.c reads."""

    RULES = 16

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.path.write_bytes(bytes(self.RULES * Rule.SIZE))
        with open(self.path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 0)
        self.used = 0

    def rule(self, operations, path, **fault):
        """Begins a fault: operations are words of Rule.OPERATIONS, path a part of the file's path.
        End it with off(), or use it with `with`."""
        rule = Rule(self.memory, self.used % self.RULES)
        self.used += 1
        rule.set(operations, path, **fault)
        return rule

    def off(self):
        for index in range(self.RULES):
            Rule(self.memory, index).off()


class VarveTest(unittest.TestCase):
    """Has a folder that goes away at the end, and so do the servers in it."""

    SETTINGS = {}

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="varve-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def server(self, name="server", settings=None, faults=None):
        """A server that is not started yet; kept when the test is, killed when it is over."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        server = Varve(folder, {**self.SETTINGS, **(settings or {})}, faults)
        self.addCleanup(self._end, server)
        return server

    def _end(self, server):
        if server.faults:
            server.faults.off()
        was_there = server.process is not None  # tests that succeed stop it
        tail = server.log_tail()
        server.kill()
        if was_there:
            print(f"---- log of {server.folder.name}:\n{tail}", file=sys.stderr)

    def faults(self):
        if not FAULTS_LIBRARY:
            self.fail("VARVE_FAULTS does not name the library of faults.c")
        return Faults(self.folder / "faults")

    def assertStatus(self, answer, status, code=None):
        self.assertEqual(answer.status, status, answer)
        if code:
            self.assertEqual(answer.code(), code, answer)


class Threads:
    """Functions that run at the same time while the `with` lasts. At its end `stop`, if given, is
    set, all are joined, and what one of them raised is raised."""

    def __init__(self, functions, stop=None):
        self.stop = stop
        self.errors = []
        self.threads = [threading.Thread(target=self._run, args=(each,)) for each in functions]

    def _run(self, function):
        try:
            function()
        except Exception as error:  # raised by __exit__, or earlier by wait_until
            self.errors.append(error)

    def wait_until(self, condition, what):
        """As the function, but fails at once when a thread did or all have ended."""
        def look():
            alive = any(thread.is_alive() for thread in self.threads)
            result = condition()
            if self.errors:
                raise self.errors[0]
            if not result and not alive:
                raise AssertionError(f"all threads ended before {what}")
            return result
        return wait_until(look, what)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, kind, *_):
        if self.stop:
            self.stop.set()
        for thread in self.threads:
            thread.join()
        if self.errors and not kind:
            raise self.errors[0]


def in_threads(functions):
    """Runs functions at the same time, and raises what one of them raised."""
    with Threads(functions):
        pass
