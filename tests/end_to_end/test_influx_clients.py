# SPDX-License-Identifier: Apache-2.0
"""InfluxDB's own client libraries for Python against the program, where pip can fetch them.

Environment:
  VARVE_CLIENTS  a folder for the virtual environment with the libraries; kept for the next run;
                 beside the program if it is not given
"""
import fcntl
import json
import os
import pathlib
import subprocess
import sys
import unittest

from varve_process import PATIENCE_S, PROGRAM, VarveTest

PACKAGES = ["influxdb-client==1.50.0", "influxdb==5.3.2"]

CLIENT_1 = """
import json, sys
from influxdb import InfluxDBClient
client = InfluxDBClient(host=sys.argv[1], port=int(sys.argv[2]), username="any", password="any",
                        database="one", gzip=sys.argv[3] == "gzip")
version = client.ping()
client.create_database("one")
client.create_database("two")
client.write_points([{"measurement": "pump", "tags": {"site": "a b"}, "time": 1700000000,
                      "fields": {"temperature": 73.9, "starts": 12, "running": True}}],
                    time_precision="s")
client.write(["pump,site=c temperature=1"], {"db": "one", "precision": "s"}, protocol="line")
try:
    client.write("pump broken", {"db": "one"}, protocol="line")
    problem = None
except Exception as error:
    problem = str(error)
print(json.dumps({"version": version, "problem": problem,
                  "databases": [row["name"] for row in client.get_list_database()]}))
"""

CLIENT_2 = """
import json, sys
from influxdb_client import InfluxDBClient, Point, WritePrecision
from influxdb_client.client.write_api import SYNCHRONOUS
from influxdb_client.rest import ApiException
with InfluxDBClient(url=f"http://{sys.argv[1]}:{sys.argv[2]}", token="any", org="any",
                    enable_gzip=sys.argv[3] == "gzip") as client:
    told = {"ping": client.ping(), "health": client.health().status, "ready": client.ready().status}
    api = client.write_api(write_options=SYNCHRONOUS)
    point = (Point("pump").tag("site", "a b").field("temperature", 73.9).field("starts", 12)
             .field("running", True).time(1700000000, WritePrecision.S))
    api.write(bucket="one", record=point, write_precision=WritePrecision.S)
    api.write(bucket="one/autogen", record=["pump,site=c temperature=1 1", "pump,site=d v=2 2"])
    try:
        api.write(bucket="one", record="pump broken")
        told["problem"] = None
    except ApiException as error:
        told["status"] = error.status
        told["problem"] = error.message
    with client.write_api() as batching:  # in the background, with retries
        for i in range(5000):
            batching.write(bucket="two", record=f"m,s={i % 10} v={i} {i + 1}")
print(json.dumps(told))
"""


def environment_with_libraries():
    """The virtual environment's interpreter; SkipTest when the libraries cannot be had. One process
    makes it, others wait."""
    default = pathlib.Path(PROGRAM).resolve().parent / "influx-clients"
    folder = pathlib.Path(os.environ.get("VARVE_CLIENTS", default))
    with open(f"{folder}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return make_environment(folder)


def make_environment(folder):
    python = folder / "bin" / "python"
    check = [str(python), "-c", "import influxdb, influxdb_client"]
    if python.exists() and subprocess.run(check, capture_output=True, check=False).returncode == 0:
        return str(python)
    try:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True,
                       capture_output=True, timeout=120)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "--retries", "1",
                        "--timeout", "10", *PACKAGES], check=True, capture_output=True, timeout=300)
    except (subprocess.SubprocessError, OSError) as error:
        reason = getattr(error, "stderr", None) or str(error).encode()
        message = f"SKIPPED: cannot install {PACKAGES}: {reason.decode()[-300:]}"
        print(message, flush=True)
        raise unittest.SkipTest(message) from None
    return str(python)


class InfluxClientsTest(VarveTest):
    @classmethod
    def setUpClass(cls):
        cls.python = environment_with_libraries()

    def run_client(self, program, server, packing):
        done = subprocess.run([self.python, "-c", program, server.address[0],
                               str(server.address[1]), packing],
                              capture_output=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return json.loads(done.stdout)

    def test_client_of_version_1(self):
        server = self.server().start()
        for packing in ("plain", "gzip"):
            told = self.run_client(CLIENT_1, server, packing)
            self.assertTrue(told["version"].startswith("1.8"))
            self.assertEqual(told["databases"], ["one", "two"])
            self.assertIn("partial write", told["problem"])
            rows = server.rows("one", to="2023-12-01")
            self.assertEqual(sorted(row[1:] for row in rows), [
                ("pump.running", 1_700_000_000_000_000_000, "1"),
                ("pump.starts", 1_700_000_000_000_000_000, "12"),
                ("pump.temperature", 1_700_000_000_000_000_000, "73.9")])
        server.stop()

    def test_client_of_version_2(self):
        server = self.server().start()
        for packing in ("plain", "gzip"):
            told = self.run_client(CLIENT_2, server, packing)
            self.assertEqual((told["ping"], told["health"], told["ready"]), (True, "pass", "ready"))
            self.assertEqual(told["status"], 400)
            self.assertIn("partial write", told["problem"])
            self.assertEqual(len(server.rows("one")), 5)
            self.assertEqual(len(server.rows("two")), 5000)
        server.stop()


if __name__ == "__main__":
    unittest.main()
