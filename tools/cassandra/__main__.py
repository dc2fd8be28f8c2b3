# SPDX-License-Identifier: Apache-2.0
"""Real clusters of Cassandra for tests, benchmarks and people at a terminal."""
import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time

import fetch
import processes
from cluster import Cluster

EXIT_SKIPPED = 77
EXIT_NO_PROGRAM = 127
SECONDS_TO_END = 30

ENVIRONMENT = """\
environment of the command:
  VARVE_CASSANDRA       contact points, 127.A.B.1:9042,127.A.B.2:9042,…
  VARVE_CASSANDRA_DIR   with --tls: a folder with ca.pem, client.pem, client.key, … as
                        certificates.py describes them
  VARVE_CASSANDRA_PIDS  the nodes' process ids in the same order: kill -9 is a crash,
                        -STOP a hang

The exit code is the command's; 77 when there is no Cassandra to be had here.
"""


def arguments():
    parser = argparse.ArgumentParser(prog="tools/cassandra", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    verbs.add_parser("fetch", help="get Cassandra into the cache, $VARVE_CACHE or ~/.cache/varve")
    start = verbs.add_parser("start", help="run a cluster until Ctrl-C")
    run = verbs.add_parser("run", help="run a command beside a cluster", epilog=ENVIRONMENT,
                           usage="tools/cassandra run [options] -- command [argument …]",
                           formatter_class=argparse.RawDescriptionHelpFormatter)
    for verb in (start, run):
        verb.add_argument("--nodes", type=int, default=3, metavar="N",
                          help="nodes in one data centre dc1 (3)")
        verb.add_argument("--datacenters", type=datacenters, metavar="NAME=N,NAME=N",
                          help="several data centres instead, for example dc1=3,dc2=1")
        verb.add_argument("--heap-mb", type=int, default=384, metavar="N",
                          help="Java heap of a node (384); it takes some 400 MB more")
        verb.add_argument("--auth", action="store_true",
                          help="passwords; there is a role cassandra with password cassandra")
        verb.add_argument("--tls", choices=("server", "mutual"),
                          help="clients must use TLS; mutual: and show a certificate")
        verb.add_argument("--all-compilers", action="store_true",
                          help="Java's usual compilers, for benchmarks: slower start, fast later")
    run.add_argument("--quick-schema", action="store_true",
                     help="make tables quickly, for commands that kill no node")
    run.add_argument("command", nargs="+", help=argparse.SUPPRESS)
    return parser.parse_args()


def datacenters(text):
    try:
        return {name: int(count) for name, count in (part.split("=") for part in text.split(","))}
    except ValueError:
        raise argparse.ArgumentTypeError("must be like dc1=3,dc2=1") from None


def say(text):
    print(text, file=sys.stderr, flush=True)


def make_cluster(options):
    return Cluster(options.nodes, options.datacenters, options.heap_mb, options.auth, options.tls,
                   java_options=["-XX:TieredStopAtLevel=4"] if options.all_compilers else [],
                   quick_schema=getattr(options, "quick_schema", False))


@contextlib.contextmanager
def running(cluster):
    """The cluster for the time of the `with`; says so."""
    begin = time.monotonic()
    count = sum(cluster.datacenters.values())
    say(f"starting Cassandra {fetch.VERSION}, {count} node{'s' if count > 1 else ''}")
    with cluster:
        say(f"up after {time.monotonic() - begin:.1f} s: {','.join(cluster.contact_points)}")
        yield cluster


def start(options):
    with running(make_cluster(options)) as cluster:
        print(",".join(cluster.contact_points), flush=True)
        if cluster.certificates:
            say(f"certificates: {cluster.certificates}")
        say(f"data and logs: {cluster.folder}; Ctrl-C ends it")
        signal.pause()


def run(options):
    if not shutil.which(options.command[0]):
        say(f"{options.command[0]}: no such program")
        return EXIT_NO_PROGRAM
    with running(make_cluster(options)) as cluster:
        environment = {**os.environ, "VARVE_CASSANDRA": ",".join(cluster.contact_points),
                       "VARVE_CASSANDRA_PIDS": ",".join(str(node.pid) for node in cluster.nodes)}
        if cluster.certificates:
            environment["VARVE_CASSANDRA_DIR"] = str(cluster.certificates)
        # In this process group and with this input: the command belongs to the terminal, as we do.
        command = processes.start(options.command, env=environment, stdin=None, process_group=None)
        try:
            code = command.wait()
        finally:
            end_politely(command)
    return code if code >= 0 else 128 - code


def end_politely(command):
    command.terminate()
    try:
        command.wait(SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        command.kill()
        command.wait()


def end(number, _frame):
    raise SystemExit(128 + number)


def main():
    options = arguments()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    try:
        if options.verb == "fetch":
            print(fetch.jars())
            fetch.java()
            return 0
        return start(options) if options.verb == "start" else run(options)
    except fetch.Unreachable as error:
        say(f"NO CASSANDRA HERE: {error}")
        return EXIT_SKIPPED


if __name__ == "__main__":
    sys.exit(main())
