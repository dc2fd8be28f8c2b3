# SPDX-License-Identifier: Apache-2.0
"""Servers on real clusters of Cassandra, for the tests of this folder. Each is a program:

    VARVE=build/debug/varve python3 -B test_cluster.py [Class[.test]]

Exit code 77 where there is no Cassandra to be had."""
import itertools
import pathlib
import subprocess
import sys
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "end_to_end"), str(TESTS.parent / "tools" / "cassandra")]

# pylint: disable=wrong-import-position # they are found only now
import fetch
from cluster import Cluster
from varve_process import PROGRAM, VarveTest, apply_schema, wait_until

EXIT_SKIPPED = 77

# What Cassandra has acknowledged survives that all its nodes are killed at once.
SYNCED = {"commitlog_sync": "batch", "commitlog_sync_period": "0ms"}


def skip_without_cassandra():
    """Ends the program when there is none; says why."""
    try:
        fetch.java()
        fetch.jars()
        fetch.python_driver()
    except fetch.Unreachable as error:
        print(f"SKIPPED, NO CASSANDRA HERE: {error}", file=sys.stderr, flush=True)
        sys.exit(EXIT_SKIPPED)


def export(server, tenant):
    """All of a tenant as lines, by the program's own command."""
    address = f"http://{server.address[0]}:{server.address[1]}"
    done = subprocess.run([PROGRAM, "export", "--server", address, "--tenant", tenant],
                          capture_output=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr.decode())
    return done.stdout.decode()


def exported_values(text):
    """What an export in line protocol says, without escapes: {(source, metric, time): value}."""
    values = {}
    for line in text.splitlines():
        series, fields, at = line.split(" ")
        measurement, source = series.split(",", 1)
        for field in fields.split(","):
            name, value = field.split("=")
            key = (source, f"{measurement}.{name}", int(at))
            if key in values:
                raise AssertionError(f"{key} was exported twice")
            values[key] = float(value.rstrip("i"))
    return values


def rows_of(cluster, server, tenant, class_name="forever"):
    """(metric, value) of all rows of a tenant as Cassandra's own driver reads them, sorted. All of the
    table: replicas that differ, as they may, cannot filter much."""
    rows, = cluster.execute("SELECT tenant, metric, value, value_int FROM "
                            f"{server.settings['cassandra.keyspace']}.rows_{class_name}")
    return sorted((row["metric"], float(row["value"] if row["value"] is not None
                                        else row["value_int"]))
                  for row in rows if row["tenant"] == tenant)


def main():
    skip_without_cassandra()
    unittest.main(verbosity=2)


# What nodes tell each other is known to all after the longest query and request; tiers are built
# soon.
QUICK_TIERS = {"fleet.beat": "500ms", "fleet.poll": "200ms", "fleet.gone_after": "5s",
               "query.time_max": "5s", "cassandra.request_timeout": "5s", "seal.lateness": "1s",
               "seal.quiet": "1s", "seal.interval": "1s"}


class ClusterTest(VarveTest):
    """One cluster for all tests of a class, as CLUSTER has it; a keyspace for each server."""

    KILLS_HOSTS = False

    CLUSTER = {"nodes": 3, "options": SYNCED}
    REPLICATION = "dc1:3"
    STORE = {"cassandra.classes": "30d"}
    NUMBERS = itertools.count()

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(**cls.CLUSTER, quick_schema=True)
        cls.addClassCleanup(cls.cluster.close)
        cls.cluster.start()

    @classmethod
    def case_of_all(cls):
        """For one long run that all tests of the class look at: it starts servers as a test
        does, and they end with the class."""
        case = cls()
        VarveTest.setUp(case)
        cls.addClassCleanup(case.doCleanups)
        return case

    @classmethod
    def store(cls):
        """Settings for a keyspace that nobody has."""
        return {"store.kind": "cassandra", "cassandra.keyspace": f"varve_{next(cls.NUMBERS)}",
                "cassandra.contact_points": ",".join(cls.cluster.contact_points),
                "cassandra.replication": cls.REPLICATION, **cls.STORE}

    @classmethod
    def make_tables(cls, settings):
        """Of a server's keyspace."""
        apply_schema(settings)
        if cls.KILLS_HOSTS:
            cls.cluster.keep_schema()

    @staticmethod
    def flush_in_time(server, seal=False):
        """Requests may be over by cassandra.request_timeout: a flush that fails is repeated."""
        wait_until(lambda: server.flush(seal=seal).status == 204, "it is flushed")

    def pair(self):
        """Two nodes of one store, that are not started yet."""
        first = self.server("first")
        settings = {name: value for name, value in first.settings.items()
                    if name.startswith("cassandra.") or name.startswith("store.")}
        return first, self.server("second", settings)

    def server(self, name="server", settings=None, faults=None):
        """As of every test, with a keyspace of its own that has its tables."""
        settings = {**self.store(), **self.SETTINGS, **(settings or {})}
        self.make_tables(settings)
        return super().server(name, settings, faults)
