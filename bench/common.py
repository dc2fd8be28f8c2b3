# SPDX-License-Identifier: Apache-2.0
"""What every bench shares: servers on ports and folders of their own, figures of a process, results."""
import datetime
import http.client
import json
import os
import pathlib
import platform
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
BUILD = pathlib.Path(os.environ.get("VARVE_BUILD", ROOT / "build" / "release"))
TICKS = os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def request(port, method, path, body=None, timeout=120):
    """One HTTP request; returns (status, body)."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    connection.request(method, path, body)
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer.status, data


def cpu_seconds(pid):
    """User and system time of a process and all its threads."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


class Step:
    """What is being done now, and how long it took, for whoever waits: on standard error."""

    start = time.monotonic()

    def __init__(self, text):
        self.text = text

    def __enter__(self):
        self.begin = time.monotonic()
        if sys.stderr.isatty():
            print(f"{self._clock()} {self.text} …", end="", file=sys.stderr, flush=True)

    def __exit__(self, kind, *_):
        again = "\r\033[K" if sys.stderr.isatty() else ""
        took = "" if kind else f"  {time.monotonic() - self.begin:.1f} s"
        print(f"{again}{self._clock()} {self.text}{took}", file=sys.stderr, flush=True)

    def _clock(self):
        seconds = int(time.monotonic() - Step.start)
        return f"[{seconds // 60:3}:{seconds % 60:02}]"


class Server:
    """A server process in a temporary folder; ended by its id."""

    def __init__(self, name, command, folder, port, ready_path):
        self.name, self.port, self.folder = name, port, pathlib.Path(folder)
        self.log = open(self.folder / "server.log", "wb")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)
        deadline = time.monotonic() + 60
        while True:
            try:
                if request(port, "GET", ready_path, timeout=2)[0] in (200, 204):
                    return
            except OSError:
                pass
            if self.process.poll() is not None or time.monotonic() > deadline:
                log = (self.folder / "server.log").read_text(errors="replace")
                self.process.kill()
                raise RuntimeError(f"{name} does not start:\n{log[-2000:]}")
            time.sleep(0.05)

    def cpu_seconds(self):
        return cpu_seconds(self.process.pid)

    def peak_bytes(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
        return 0

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


def start_varve(folder, settings=()):
    port = free_port()
    command = [str(BUILD / "varve"), "serve", "--data", f"{folder}/data",
               "--listen", f"127.0.0.1:{port}"]
    for setting in settings:
        command += ["--set", setting]
    return Server("varve", command, folder, port, "/ready")


def start_victoria(folder):
    port = free_port()
    command = ["victoria-metrics", f"-storageDataPath={folder}/data", "-retentionPeriod=100y",
               f"-httpListenAddr=127.0.0.1:{port}", "-search.latencyOffset=0s",
               "-search.disableCache"]
    return Server("victoria-metrics", command, folder, port, "/health")


def start_influx(folder):
    port, rpc = free_port(), free_port()
    config = pathlib.Path(folder) / "influxdb.conf"
    config.write_text(f"""reporting-disabled = true
bind-address = "127.0.0.1:{rpc}"
[meta]
  dir = "{folder}/meta"
[data]
  dir = "{folder}/data"
  wal-dir = "{folder}/wal"
  query-log-enabled = false
[http]
  bind-address = "127.0.0.1:{port}"
  log-enabled = false
[monitor]
  store-enabled = false
""")
    server = Server("influxdb", ["influxd", "-config", str(config)], folder, port, "/ping")
    request(port, "POST", "/query?" + urllib.parse.urlencode({"q": "CREATE DATABASE bench"}))
    return server


def folder_bytes(*folders):
    total = 0
    for folder in folders:
        for path in pathlib.Path(folder).rglob("*"):
            if path.is_file():
                total += path.stat().st_blocks * 512
    return total


class Folder:
    """A temporary folder that is gone afterwards."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="varve-bench-")
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def machine():
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
                if line.startswith("model name")), platform.machine())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    return f"{cpu}, {os.cpu_count()} cores, {memory} GiB, Linux {platform.release()}"


def row(measure, unit, varve, peer=None, peer_value=None, bar=None, higher_is_better=True):
    """One row of the results; the ratio is varve / peer."""
    ratio = varve / peer_value if peer_value else None
    holds = None
    if bar is not None:
        against = ratio if ratio is not None else varve
        holds = against >= bar if higher_is_better else against <= bar
    return {"measure": measure, "unit": unit, "varve": varve, "peer": peer,
            "peer_value": peer_value, "ratio": ratio, "bar": bar, "holds": holds}


def document(name, rows, **more):
    """Rows with where and when they were measured."""
    return {"name": name, "date": datetime.date.today().isoformat(), "machine": machine(), **more,
            "rows": rows}


def write_document(content, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n")


def write_results(name, rows):
    write_document(document(name, rows), RESULTS / f"{name}.json")
    print_rows(rows)


def print_rows(rows):
    widths = [max(len(f"{r['measure']} ({r['unit']})") for r in rows), 12, 18, 12, 8]
    print(f"{'measure':<{widths[0]}} {'varve':>12} {'peer':>18} {'value':>12} {'ratio':>8}")
    for r in rows:
        value = f"{r['peer_value']:.4g}" if r["peer_value"] is not None else ""
        ratio = f"{r['ratio']:.2f}" if r["ratio"] is not None else ""
        print(f"{r['measure'] + ' (' + r['unit'] + ')':<{widths[0]}} {r['varve']:>12.4g} "
              f"{r['peer'] or '':>18} {value:>12} {ratio:>8}")
