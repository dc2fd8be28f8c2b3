# SPDX-License-Identifier: Apache-2.0
"""Inserts by Cassandra's Python driver, for comparison with bench/cql_load.c; run by the driver's own
Python. Reads one JSON object from its input: address, insert, requests, size (of a blob; 0: a
double), concurrency. All values are made before the clock starts. Prints one JSON object.
"""
import json
import random
import sys
import time

import cassandra.query
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.connection import locally_supported_compressions
from cassandra.policies import RoundRobinPolicy, TokenAwarePolicy

order = json.load(sys.stdin)
profile = ExecutionProfile(load_balancing_policy=TokenAwarePolicy(RoundRobinPolicy()))
cluster = Cluster([order["address"]], execution_profiles={EXEC_PROFILE_DEFAULT: profile})
session = cluster.connect()
insert = session.prepare(order["insert"])
blob = random.Random(1).randbytes(1 << 20)
size = order["size"]


def value(i):
    if not size:
        return i * 0.5
    start = i * 7919 % (len(blob) - size)
    return blob[start:start + size]


values = [(i, value(i)) for i in range(order["requests"])]
begin, cpu = time.perf_counter(), time.process_time()
results = execute_concurrent_with_args(session, insert, values, concurrency=order["concurrency"],
                                       raise_on_first_error=True)
cpu, seconds = time.process_time() - cpu, time.perf_counter() - begin
print(json.dumps({
    "requests": len(results), "seconds": seconds, "cpu_seconds": cpu,
    "compiled": not cassandra.query.__file__.endswith(".py"),
    "event_loop": session.cluster.connection_class.__name__,
    "compression": list(locally_supported_compressions),
}))
cluster.shutdown()
