# SPDX-License-Identifier: Apache-2.0
"""Runs modules of tests/end_to_end with servers on one node of Cassandra:

    python3 -B on_cassandra.py test_crash …

Exit code 77 where there is no Cassandra to be had."""
import os
import sys
import unittest

os.environ["VARVE_E2E_STORE"] = "cassandra"

# pylint: disable=wrong-import-position # varve_process looks at it when it is imported
from cassandra_process import Cluster, skip_without_cassandra

HEAP_MB = 768  # some 20 tables of each of some 50 keyspaces


def main():
    skip_without_cassandra()
    with Cluster(nodes=1, heap_mb=HEAP_MB, quick_schema=True) as cluster:
        os.environ["VARVE_CASSANDRA"] = ",".join(cluster.contact_points)
        program = unittest.main(module=None, argv=[sys.argv[0], "-v", *sys.argv[1:]], exit=False)
    return 0 if program.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
