# SPDX-License-Identifier: Apache-2.0
"""The client alone: requests per CPU second of lib/cql beside Cassandra's Python driver, with the same
prepared inserts on the same node and as many under way."""
import json
import statistics
import subprocess

import cassandra_node
import common

IN_FLIGHT = 128
BLOB_BYTES = 7200
TABLES = (
    "CREATE KEYSPACE IF NOT EXISTS bench WITH replication = "
    "{'class': 'NetworkTopologyStrategy', 'dc1': 1}",
    "CREATE TABLE IF NOT EXISTS bench.value (id bigint PRIMARY KEY, value double)",
    "CREATE TABLE IF NOT EXISTS bench.blob (id bigint PRIMARY KEY, data blob)",
)
# name, mode of cql_load, its insert, size of a blob, requests of lib/cql, of the driver
WRITES = (
    ("small writes", "value", "INSERT INTO bench.value (id, value) VALUES (?, ?)", 0, 200000, 20000),
    ("blobs of 7,200 bytes", "blob", "INSERT INTO bench.blob (id, data) VALUES (?, ?)", BLOB_BYTES,
     40000, 10000),
)


def by_library(node, mode, size, requests):
    done = subprocess.run(
        [str(common.BUILD / "bench" / "cql_load"), node.contact_point, mode, "--requests",
         str(requests), "--size", str(size), "--window", str(IN_FLIGHT)],
        check=True, capture_output=True)
    return json.loads(done.stdout)


def by_driver(node, insert, size, requests):
    order = {"address": node.node.address, "insert": insert, "requests": requests, "size": size,
             "concurrency": IN_FLIGHT}
    # -I: the folder of the script is not searched, where cassandra.py is not the driver.
    done = subprocess.run(
        [str(cassandra_node.fetch.python_driver()), "-I",
         str(common.ROOT / "bench" / "cassandra_driver.py")],
        input=json.dumps(order), capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"cassandra_driver.py:\n{done.stderr}")
    return json.loads(done.stdout)


def measure(node, figures, insert):
    """Adds what a run of a client took, the server's CPU seconds too."""
    took = {}
    node.settle()
    with node.measured(took, "server"):
        done = insert()
    done["server_cpu_seconds"] = took["server"]
    figures.append(done)


def median(figures, name):
    return statistics.median(one["requests"] / one[name] for one in figures)


def run(node, quick, repeats):
    """Returns (rows of results, figures)."""
    node.execute(*TABLES)
    rows, all_figures = [], {}
    for name, mode, insert, size, requests, driver_requests in WRITES:
        if quick:
            requests, driver_requests = requests // 4, driver_requests // 4
        with common.Step(f"{name}: warming up"):
            by_library(node, mode, size, requests * 2)
        library, driver = [], []
        for repeat in range(repeats):
            with common.Step(f"{name}: lib/cql and Python driver, {repeat + 1} of {repeats}"):
                measure(node, library, lambda: by_library(node, mode, size, requests))
                measure(node, driver, lambda: by_driver(node, insert, size, driver_requests))
        rows += [
            common.row(f"client, {name}: requests per client CPU second", "1/s",
                       median(library, "cpu_seconds"), "Python driver",
                       median(driver, "cpu_seconds")),
            common.row(f"client, {name}: requests per server CPU second", "1/s",
                       median(library, "server_cpu_seconds"), "Python driver",
                       median(driver, "server_cpu_seconds")),
            common.row(f"client, {name}: requests per second", "1/s", median(library, "seconds"),
                       "Python driver", median(driver, "seconds")),
        ]
        all_figures[mode] = {"library": library, "driver": driver}
    return rows, all_figures
