# SPDX-License-Identifier: Apache-2.0
"""Servers on real clusters of Cassandra, for the tests of this folder. Each is a program:

    VARVE=build/debug/varve python3 -B test_cluster.py [Class[.test]]

Exit code 77 where there is no Cassandra to be had."""
import itertools
import pathlib
import sys
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "end_to_end"), str(TESTS.parent / "tools" / "cassandra")]

# pylint: disable=wrong-import-position # they are found only now
import fetch
from cluster import Cluster
from varve_process import VarveTest, apply_schema

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


def main():
    skip_without_cassandra()
    unittest.main(verbosity=2)


class ClusterTest(VarveTest):
    """One cluster for all tests of a class, as CLUSTER has it; a keyspace for each server."""

    CLUSTER = {"nodes": 3, "options": SYNCED}
    REPLICATION = "dc1:3"
    STORE = {"cassandra.classes": "30d"}
    NUMBERS = itertools.count()

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(**cls.CLUSTER)
        cls.addClassCleanup(cls.cluster.close)
        cls.cluster.start()

    @classmethod
    def store(cls):
        """Settings for a keyspace that nobody has."""
        return {"store.kind": "cassandra", "cassandra.keyspace": f"varve_{next(cls.NUMBERS)}",
                "cassandra.contact_points": ",".join(cls.cluster.contact_points),
                "cassandra.replication": cls.REPLICATION, **cls.STORE}

    def server(self, name="server", settings=None, faults=None):
        """As of every test, with a keyspace of its own that has its tables."""
        settings = {**self.store(), **self.SETTINGS, **(settings or {})}
        apply_schema(settings)
        return super().server(name, settings, faults)
