# SPDX-License-Identifier: Apache-2.0
"""The TSBS cpu-only shape through the HTTP door, beside VictoriaMetrics and InfluxDB in one run.

Each server gets the same bodies from the same loader (bench/tsbs_load.c) in a fresh folder. Figures
of a server are its own CPU seconds and peak resident memory; bytes on disk are taken after it has
flushed and stopped. Queries ask each server for the same answer in its own words, one client, and
give the median.
"""
import argparse
import json
import shutil
import statistics
import subprocess
import time
import urllib.parse

import common

HOSTS = 100


def load(server, path, arguments):
    command = [str(common.BUILD / "bench" / "tsbs_load"), str(server.port),
               path, "--hosts", str(HOSTS), "--duration", str(arguments.duration), "--start",
               str(arguments.start), "--seed", "1", "--batch", str(arguments.batch),
               "--connections", str(arguments.connections)]
    before = server.cpu_seconds()
    figures = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    figures["server_cpu_seconds"] = server.cpu_seconds() - before
    return figures


def settle(server):
    """CPU that the server still spends on what it took: until it is idle for two seconds."""
    before = server.cpu_seconds()
    last, since = before, time.monotonic()
    deadline = since + 60
    while time.monotonic() - since < 2 and time.monotonic() < deadline:
        time.sleep(0.25)
        if server.cpu_seconds() - last > 0.02:
            last, since = server.cpu_seconds(), time.monotonic()
    return server.cpu_seconds() - before


def varve_query(**parameters):
    lists = [(key, item) for key, value in parameters.items()
             for item in (value if isinstance(value, list) else [value])]
    return "/api/v1/query?" + urllib.parse.urlencode([("tenant", "bench")] + lists)


def victoria_query(query, start, end, step):
    return "/api/v1/query_range?" + urllib.parse.urlencode(
        {"query": query, "start": start, "end": end - 1, "step": step, "nocache": 1})


def influx_query(query):
    return "/query?" + urllib.parse.urlencode({"db": "bench", "epoch": "ns", "q": query})


def queries(start, end):
    """name → path by server. One hour at the end, or twelve; as in TSBS's cpu-only set."""
    hour, half_day = end - 3600, end - 12 * 3600
    eight = [f"host_{i}" for i in range(8)]
    ns = 1_000_000_000
    return {
        "max by minute, 1 host, 1 h": {
            "varve": varve_query(metric="cpu.usage_user", tag="hostname=host_5", step="1m",
                                 agg="max", **{"from": hour * ns, "to": end * ns}),
            "victoria-metrics": victoria_query(
                'max_over_time(cpu_usage_user{hostname="host_5"}[1m])', hour, end, "1m"),
            "influxdb": influx_query(
                f"select max(usage_user) from cpu where hostname='host_5' and time >= {hour * ns} "
                f"and time < {end * ns} group by time(1m)")},
        "max by minute, 8 hosts, 1 h": {
            "varve": varve_query(metric="cpu.usage_user", tag="hostname=" + "|".join(eight),
                                 step="1m", agg="max", **{"from": hour * ns, "to": end * ns}),
            "victoria-metrics": victoria_query(
                'max_over_time(cpu_usage_user{hostname=~"' + "|".join(eight) + '"}[1m])',
                hour, end, "1m"),
            "influxdb": influx_query(
                f"select max(usage_user) from cpu where hostname =~ /^({'|'.join(eight)})$/ and "
                f"time >= {hour * ns} and time < {end * ns} group by time(1m), hostname")},
        "mean by hour, 100 hosts, 12 h": {
            "varve": varve_query(metric="cpu.usage_user", step="1h", agg="mean",
                                 **{"from": half_day * ns, "to": end * ns}),
            "victoria-metrics": victoria_query("avg_over_time(cpu_usage_user[1h])", half_day, end,
                                               "1h"),
            "influxdb": influx_query(
                f"select mean(usage_user) from cpu where time >= {half_day * ns} and "
                f"time < {end * ns} group by time(1h), hostname")},
        "newest value, 100 hosts": {
            "varve": "/api/v1/latest?tenant=bench&metric=cpu.usage_user",
            "victoria-metrics": "/api/v1/query?" + urllib.parse.urlencode(
                {"query": "cpu_usage_user", "time": end - 5, "nocache": 1}),
            "influxdb": influx_query("select last(usage_user) from cpu group by hostname")},
        "raw points, 1 host, 12 h": {
            "varve": varve_query(metric="cpu.usage_user", tag="hostname=host_5",
                                 **{"from": half_day * ns, "to": end * ns}),
            "victoria-metrics": "/api/v1/export?" + urllib.parse.urlencode(
                {"match[]": 'cpu_usage_user{hostname="host_5"}', "start": half_day, "end": end}),
            "influxdb": influx_query(
                f"select usage_user from cpu where hostname='host_5' and time >= {half_day * ns} "
                f"and time < {end * ns}")},
    }


def time_queries(server, paths, repeats):
    figures = {}
    for name, by_server in paths.items():
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            status, body = common.request(server.port, "GET", by_server[server.name])
            times.append((time.perf_counter() - start) * 1000)
            if status != 200 or len(body) < 100:
                raise RuntimeError(f"{server.name}: {name}: {status} {body[:300]}")
        figures[name] = statistics.median(times)
    return figures


def run(start_server, path, arguments, after_load):
    with common.Folder() as folder:
        server = start_server(folder)
        try:
            figures = load(server, path, arguments)
            figures["settle_cpu_seconds"] = settle(server)
            start = time.monotonic()
            before = server.cpu_seconds()
            after_load(server)
            figures["settle_cpu_seconds"] += server.cpu_seconds() - before
            figures["settle_cpu_seconds"] += settle(server)
            figures["after_seconds"] = time.monotonic() - start
            end = arguments.start + arguments.duration
            figures["queries"] = time_queries(server, queries(arguments.start, end),
                                              arguments.repeats)
            figures["peak_bytes"] = server.peak_bytes()
        finally:
            server.stop()
        (server.folder / "server.log").unlink()
        figures["disk_bytes"] = common.folder_bytes(folder)
        return server.name, figures


def flush_varve(server):
    status, body = common.request(server.port, "POST", "/api/v1/flush?seal=true")
    if status not in (200, 204):
        raise RuntimeError(f"flush: {status} {body[:300]}")


def compare(varve, name, peer):
    def per_cpu(figures, with_settling):
        cpu = figures["server_cpu_seconds"]
        cpu += figures["settle_cpu_seconds"] if with_settling else 0
        return figures["points"] / cpu

    rows = [
        common.row("points per second", "1/s", varve["points_per_second"], name,
                   peer["points_per_second"]),
        common.row("points per server CPU second, while loading", "1/s", per_cpu(varve, False),
                   name, per_cpu(peer, False)),
        common.row("points per server CPU second, with merging after", "1/s", per_cpu(varve, True),
                   name, per_cpu(peer, True)),
        common.row("disk", "bytes/point", varve["disk_bytes"] / varve["points"], name,
                   peer["disk_bytes"] / peer["points"]),
        common.row("peak resident memory", "MB", varve["peak_bytes"] / 1e6, name,
                   peer["peak_bytes"] / 1e6),
        common.row("acknowledgement p50", "ms", varve["latency_ms_p50"], name,
                   peer["latency_ms_p50"]),
        common.row("acknowledgement p99", "ms", varve["latency_ms_p99"], name,
                   peer["latency_ms_p99"]),
    ]
    for query, milliseconds in varve["queries"].items():
        rows.append(common.row(query, "ms", milliseconds, name, peer["queries"][query]))
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--duration", type=int, default=24 * 3600, help="seconds of data")
    parser.add_argument("--batch", type=int, default=1000, help="rows in a request")
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--only", default="", help="varve, victoria-metrics or influxdb")
    arguments = parser.parse_args()
    arguments.start = (int(time.time()) // 3600 - 1) * 3600 - arguments.duration
    plans = {
        "varve": (common.start_varve, "/write?db=bench", flush_varve),
        "victoria-metrics": (common.start_victoria, "/write?db=bench",
                             lambda s: common.request(s.port, "GET", "/internal/force_flush")),
        "influxdb": (common.start_influx, "/write?db=bench", lambda s: None),
    }
    figures = {}
    for name, (start, path, after) in plans.items():
        if arguments.only and name != arguments.only:
            continue
        binary = {"influxdb": "influxd"}.get(name, name)
        if name != "varve" and not shutil.which(binary):
            print(f"SKIPPED: {name} is not installed")
            continue
        figures[name] = run(start, path, arguments, after)[1]
        print(name, json.dumps(figures[name]))
    rows = []
    for name, peer in figures.items():
        if name != "varve" and "varve" in figures:
            rows += compare(figures["varve"], name, peer)
    if rows:
        common.write_results("tsbs", rows)


if __name__ == "__main__":
    main()
