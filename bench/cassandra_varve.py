# SPDX-License-Identifier: Apache-2.0
"""Varve on the node of Cassandra: its tables, the program, loading with runs of a chosen length."""
import json
import pathlib
import re
import subprocess

import common

TENANT = "bench"
METRICS = 10
LAYOUTS = ("blocks", "rows")

# Nothing is flushed or sealed but on request.
SETTINGS = ("store.kind=cassandra", "cassandra.replication=dc1:1", "cassandra.classes=",
            "cassandra.slack=1h", "head.flush_age=1d", "head.flush_bytes=2GiB",
            "head.bytes_max=4GiB", "seal.interval=1h", "seal.quiet=1d", "log.level=warn")
SLACK_S = 3600


class Varve:
    """A server with a keyspace of its own, for the time of the `with`. The keyspace stays."""

    def __init__(self, node, keyspace, layout, settings=()):
        self.node, self.keyspace, self.layout = node, keyspace, layout
        self.settings = [*SETTINGS, f"cassandra.contact_points={node.contact_point}",
                         f"cassandra.keyspace={keyspace}",
                         f"cassandra.rows_tenants={TENANT if layout == 'rows' else ''}", *settings]

    def __enter__(self):
        self.folder = common.Folder()
        path = self.folder.__enter__()
        try:
            self._make_tables()
            self.server = common.start_varve(path, self.settings)
        except BaseException:
            self.folder.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_):
        self.server.stop()
        self.folder.__exit__(None, None, None)

    def _make_tables(self):
        command = [str(common.BUILD / "varve"), "schema", "--apply"]
        for setting in self.settings:
            command += ["--set", setting]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"varve schema --apply: exit code {done.returncode}:\n"
                               f"{done.stdout}{done.stderr}")

    def cpu_seconds(self):
        return self.server.cpu_seconds()

    def bytes_in(self):
        """Bytes that it has read from its disk and from Cassandra, which libuv reads like a file; what
        HTTP clients send is not in it."""
        text = pathlib.Path(f"/proc/{self.server.process.pid}/io").read_text()
        return int(re.search(r"^rchar: (\d+)$", text, re.MULTILINE).group(1))

    def load(self, hosts, interval_s, duration_s, start_s, flush_steps, seed=1):
        """The shape of TSBS cpu-only; every `flush_steps` steps of time become a run of each host.
        Returns the loader's figures."""
        command = [str(common.BUILD / "bench" / "tsbs_load"), str(self.server.port),
                   f"/write?db={TENANT}", "--hosts", str(hosts), "--interval", str(interval_s),
                   "--duration", str(duration_s), "--start", str(start_s),
                   "--flush-every", str(flush_steps), "--connections", "2", "--seed", str(seed)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"tsbs_load: {done.stderr}")
        return json.loads(done.stdout)

    def flush(self, seal=False):
        self.ask("POST", "/api/v1/flush?seal=true" if seal else "/api/v1/flush", 3600)

    def ask(self, method, path, timeout=300):
        status, body = common.request(self.server.port, method, path, timeout=timeout)
        if status not in (200, 204):
            raise RuntimeError(f"{method} {path}: {status} {body[:300]}")
        return body
