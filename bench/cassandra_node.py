# SPDX-License-Identifier: Apache-2.0
"""One node of Cassandra as an operator would run it, and its figures: CPU seconds, bytes, threads."""
import contextlib
import os
import pathlib
import sys
import time

import common

sys.path.append(str(common.ROOT / "tools" / "cassandra"))
import fetch  # noqa: E402
from cluster import Cluster  # noqa: E402

Unreachable = fetch.Unreachable
VERSION = fetch.VERSION

# What Cassandra's own files for new installations say (cassandra_latest.yaml, jvm17-server.options),
# where tools/cassandra has small values for tests. None is Cassandra's own choice.
OPTIONS = {
    "memtable_heap_space": None,
    "memtable_offheap_space": None,
    "memtable_allocation_type": "offheap_objects",
    "commitlog_segment_size": "32MiB",
    "commitlog_total_space": None,
    "commitlog_sync_period": "10000ms",
    "file_cache_size": None,
    "networking_cache_size": None,
    "key_cache_size": "0MiB",
    "concurrent_reads": 32,
    "concurrent_writes": 32,
    "concurrent_counter_writes": 32,
    "trickle_fsync": True,
}
JAVA_OPTIONS = [
    "-XX:TieredStopAtLevel=4", "-XX:-UseSerialGC", "-XX:+UseG1GC", "-XX:+ParallelRefProcEnabled",
    "-XX:MaxTenuringThreshold=1", "-XX:G1HeapRegionSize=16m", "-XX:G1RSetUpdatingPauseTimePercent=5",
    "-XX:MaxGCPauseMillis=300", "-XX:InitiatingHeapOccupancyPercent=70", "-XX:+AlwaysPreTouch",
    "-XX:+UseThreadPriorities", "-Xss256k",
]

IDLE = 0.05  # of a core: what an idle node takes, its own housekeeping


class Node:
    """A cluster of one node; gone with all its data at the end of the `with`."""

    def __init__(self, heap_mb, java_options=()):
        self.cluster = Cluster(nodes=1, heap_mb=heap_mb, options=OPTIONS,
                               java_options=[*JAVA_OPTIONS, *java_options])

    def start(self):
        self.cluster.start()
        self.node = self.cluster.nodes[0]
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cluster.close()

    @property
    def contact_point(self):
        return self.node.contact_point

    def execute(self, *statements):
        return self.cluster.execute(*statements)

    # ---- figures

    def cpu_seconds(self):
        return common.cpu_seconds(self.node.pid)

    def table_bytes(self, keyspace):
        """{table: bytes on disk of its SSTables with all their components}."""
        folder = pathlib.Path(self.node.folder) / "data" / keyspace
        found = {}
        for path in folder.iterdir() if folder.is_dir() else ():
            name = path.name.rsplit("-", 1)[0]
            found[name] = found.get(name, 0) + common.folder_bytes(path)
        return found

    def settle(self, seconds_max=300):
        """Waits until it is idle."""
        deadline = time.monotonic() + seconds_max
        while time.monotonic() < deadline:
            before, at = self.cpu_seconds(), time.monotonic()
            time.sleep(1)
            if self.cpu_seconds() - before < IDLE * (time.monotonic() - at):
                return

    def write_to_disk(self, keyspace):
        """Memtables to files, and each table's files to as few as its strategy knows."""
        self.node.nodetool("flush", keyspace)
        self.settle()
        self.node.nodetool("compact", keyspace)
        self.settle()

    @contextlib.contextmanager
    def measured(self, figures, name):
        """Adds what it takes inside the `with` to figures[name], in CPU seconds."""
        before = self.cpu_seconds()
        yield
        figures[name] = figures.get(name, 0) + self.cpu_seconds() - before

    # ---- time

    def restart_later(self, seconds):
        """Restarts it with a clock that is ahead."""
        self.node.stop()
        different = {"LD_PRELOAD": str(common.BUILD / "bench" / "later_clock.so"),
                     "VARVE_LATER": str(seconds)}
        os.environ.update(different)
        try:
            self.node.start()
        finally:
            for name in different:
                del os.environ[name]
