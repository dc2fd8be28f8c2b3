# SPDX-License-Identifier: Apache-2.0
"""`varve export`: what it writes is loaded again as the same points; what is cut short never looks
complete."""
import gzip
import os
import signal
import socket
import subprocess
import unittest

from test_cli import DATA, FAILED, INTERRUPTED, OK, UNREACHABLE, USAGE, run
from varve_process import (PATIENCE_S, PROGRAM, VarveTest, environment_with, wait_until,
                           with_parameters)

START = 1_767_225_600_000_000_000

ODD = [
    'odd\\ name\\,x=y,tag\\ k\\=1=a\\ b\\,c\\=d,q="\\e\\\\f field\\ 1\\,2\\=3=1i,"q"=2 -1',
    "odd v=-0,w=5e-324,x=1.7976931348623157e308,y=0.1 0",
    "odd,é=ü v=2.2250738585072011e-308 1",
    "odd i=9223372036854775807i,j=-9223372036854775808i,b=true 2",
    "odd,z=1 v=1 3",
]


def address_of(server):
    return f"{server.address[0]}:{server.address[1]}"


class ExportTest(VarveTest):
    def varve(self, server, *arguments, code=OK):
        result = run(*arguments, server=address_of(server))
        self.assertEqual(result.code, code, result)
        return result

    def export(self, server, *arguments, code=OK):
        return self.varve(server, "export", *arguments, code=code)


class RoundTrip(ExportTest):
    def load_real(self, server):
        """Some points are in blocks then, some in runs, some in the head."""
        for name, measurement in (("machine_temperature_system_failure", "machine"),
                                  ("nyc_taxi", "taxi"), ("speed_6005", "speed")):
            self.varve(server, "load", "--quiet", "--csv", DATA / f"{name}.csv", "--measurement",
                       measurement, "--tag", f"file={name}")
        self.assertEqual(server.flush(seal=True).status, 204)
        self.varve(server, "load", "--quiet", DATA / "ec2_cpu_utilization_24ae8d.csv",
                   "--measurement", "cpu", "--tag", "host=24ae8d")
        self.assertEqual(server.flush().status, 204)
        self.varve(server, "load", "--quiet", DATA / "ec2_cpu_utilization_ac20cd.csv",
                   "--measurement", "cpu", "--tag", "host=ac20cd")
        self.assertEqual(server.write(ODD).status, 204)

    def check_copies(self, settings=None):
        first = self.server("first", settings).start()
        self.load_real(first)
        one, two = self.folder / "one.lp.gz", self.folder / "two.lp.gz"
        self.export(first, "--output", one)
        second = self.server("second", settings).start()
        loaded = self.varve(second, "load", one)
        self.assertNotIn("refused", loaded.err)
        self.export(second, "--output", two)
        self.assertEqual(gzip.decompress(one.read_bytes()), gzip.decompress(two.read_bytes()))
        self.assertEqual(sorted(first.rows()), sorted(second.rows()))
        lines = gzip.decompress(one.read_bytes()).decode().splitlines()
        self.assertGreater(len(lines), 40000)
        for server in (first, second):
            for form in ("csv", "jsonl"):
                self.assertGreaterEqual(
                    self.export(server, "--format", form).out.count("\n"), len(lines))
        self.assertEqual(self.export(first, "--format", "csv").out,
                         self.export(second, "--format", "csv").out)
        return first, second, lines

    def test_a_loaded_export_is_exported_as_the_same_bytes(self):
        first, second, lines = self.check_copies()
        sources = [line.split(" ")[0].partition(",")[2] for line in lines if "\\" not in line]
        self.assertEqual(sources, sorted(sources, key=lambda tags: tags or "-"))
        first.stop()
        second.stop()

    def test_the_same_with_an_id_tag(self):
        first, second, lines = self.check_copies({"ingest.id_tag": "host"})
        self.assertTrue(any(line.startswith("cpu,host=24ae8d ") for line in lines))
        first.stop()
        second.stop()

    def test_json_lines_are_taken_by_the_api(self):
        first = self.server("first").start()
        self.assertEqual(first.write(ODD).status, 204)
        second = self.server("second").start()
        text = self.export(first, "--format", "jsonl").out
        self.assertEqual(second.request("POST", "/api/v1/points", text).status, 204)
        self.assertEqual(self.export(second, "--format", "jsonl").out, text)
        self.assertEqual(self.export(second).out, self.export(first).out)
        first.stop()
        second.stop()

    def test_a_history_of_tags_comes_along(self):
        settings = {"ingest.id_tag": "host"}
        first = self.server("first", settings).start()
        for n, site in enumerate(("north", "south", "east")):
            self.assertEqual(first.write([f"m,host=a,site={site} v={n} {START + n}"]).status, 204)
        second = self.server("second", settings).start()
        path = self.folder / "export.lp"
        self.export(first, "--output", path)
        self.varve(second, "load", "--connections", "1", path)
        history = [self.varve(server, "sources", "--history", "--format", "csv").out
                   for server in (first, second)]
        self.assertIn("site=south", history[0])
        self.assertEqual(*history)
        first.stop()
        second.stop()


class Selections(ExportTest):
    def test_parts(self):
        server = self.server().start()
        lines = [f"{m},host={h} v={n}i {START + n}"
                 for h in "ab" for m in ("cpu", "mem") for n in range(3)]
        self.assertEqual(server.write(lines, tenant="plant").status, 204)
        tenant = ("--tenant", "plant")
        self.assertEqual(self.export(server, *tenant).out.splitlines(), lines)
        self.assertEqual(self.export(server, "cpu", *tenant).out.splitlines(),
                         [line for line in lines if line.startswith("cpu")])
        self.assertEqual(self.export(server, "--measurement", "m*", "--source", "host=b", "--from",
                                     START + 1, "--to", START + 2, *tenant).out.splitlines(),
                         [f"mem,host=b v=1i {START + 1}"])
        self.assertEqual(self.export(server, "--tag", "host=a", "--metric", "cpu.v", "--format",
                                     "csv", *tenant).out.count("\n"), 4)
        self.assertIn("no tenant", self.export(server, "--tenant", "none", code=FAILED).err)
        self.export(server, "--from", "nonsense", *tenant, code=USAGE)
        self.export(server, "--format", "xml", *tenant, code=USAGE)
        self.export(server, "--limit", "1", *tenant, code=USAGE)
        server.stop()

    def test_hostile_parameters(self):
        server = self.server().start()
        self.assertEqual(server.write([f"m v=1 {START}"]).status, 204)
        for wrong in ({"limit": "1"}, {"format": "json"}, {"order": "desc"}, {"measurement": "\x01"},
                      {"tag": "nonsense"}, {"from": "5", "to": "4"}, {"agg": "mean"},
                      {"time_format": "s"}, {"partial": "allowed"}):
            self.assertStatus(server.get("/api/v1/export", **wrong), 400, "invalid")
        self.assertStatus(server.get("/api/v1/export", tenant="none"), 404, "not_found")
        self.assertStatus(server.request("PUT", "/api/v1/export"), 405)
        answer = server.get("/api/v1/export")
        self.assertEqual(answer.text, f"m v=1 {START}\n")
        self.assertTrue(answer.headers["Content-Type"].startswith("text/plain"))
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = server.request("POST", "/api/v1/export", "format=jsonl", form)
        self.assertEqual(answer.json()["fields"], {"v": 1.0})
        server.stop()


class Broken(ExportTest):
    """Much more than what buffers between client and server hold."""

    def start_full(self):
        server = self.server().start()
        note = "x" * 200
        for part in range(20):
            lines = [f"m,note={note},part={part:02} v={n} {START + n}" for n in range(10000)]
            self.assertEqual(server.write(lines).status, 204)
        return server

    def begin(self, server, *arguments, stdout=subprocess.DEVNULL, faults=None):
        process = subprocess.Popen([PROGRAM, "export", "--server", address_of(server), *arguments],
                                   stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE,
                                   env=environment_with(faults))
        self.addCleanup(process.kill)
        return process

    def end(self, process):
        code = process.wait(PATIENCE_S)
        text = process.stderr.read().decode()
        process.stderr.close()
        return code, text

    def test_a_server_that_is_killed_in_the_middle(self):
        server = self.start_full()
        process = self.begin(server, stdout=subprocess.PIPE)
        self.assertTrue(process.stdout.read(1))
        server.kill()
        read = 1 + len(process.stdout.read())
        process.stdout.close()
        code, text = self.end(process)
        self.assertEqual(code, FAILED, text)
        self.assertIn("broke", text)
        self.assertLess(read, 40_000_000)

    def begin_to_file(self, server, path):
        """Waits in the middle of the file for the end of a fault, which is returned too."""
        faults = self.faults()
        writing = faults.rule("write", "out.lp.partial-", waits=True, skip=1)
        process = self.begin(server, "--output", str(path), faults=faults)
        wait_until(lambda: writing.waiting or process.poll() is not None, "it writes")
        self.assertEqual(len(list(self.folder.glob("out.lp.partial-*"))), 1)
        return process, writing

    def test_a_file_that_is_cut_short_does_not_get_its_name(self):
        server = self.start_full()
        path = self.folder / "out.lp"
        path.write_text("what was there before")
        process, writing = self.begin_to_file(server, path)
        server.kill()
        writing.off()
        code, text = self.end(process)
        self.assertEqual(code, FAILED if "broke" in text else UNREACHABLE, text)
        self.assertEqual(path.read_text(), "what was there before")
        self.assertEqual([each.name for each in self.folder.glob("out*")], ["out.lp"])

    def test_an_interrupted_one_leaves_nothing(self):
        server = self.start_full()
        process, writing = self.begin_to_file(server, self.folder / "out.lp")
        process.send_signal(signal.SIGINT)
        writing.off()
        code, text = self.end(process)
        self.assertEqual(code, INTERRUPTED, text)
        self.assertEqual(list(self.folder.glob("out*")), [])
        server.stop()

    def test_a_client_that_is_gone_ends_it(self):
        server = self.start_full()
        with socket.create_connection(server.address, timeout=PATIENCE_S) as client:
            path = with_parameters("/api/v1/export", {"format": "jsonl"})
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: t\r\n\r\n".encode())
            self.assertTrue(client.recv(1))
            self.assertEqual(server.metrics().sum("varve_http_queries"), 1)
            before = server.resident_bytes()
        server.wait_metric(lambda metrics: metrics.sum("varve_http_queries") == 0, "it ends")
        self.assertLess(server.resident_bytes() - before, 64 << 20)
        server.stop()

    def test_a_stopping_server_ends_it_visibly(self):
        server = self.start_full()
        process = self.begin(server, stdout=subprocess.PIPE)
        self.assertTrue(process.stdout.read(1))
        server.terminate()
        os.set_blocking(process.stdout.fileno(), True)
        wait_until(lambda: not server.is_running(), "the server ends")
        process.stdout.read()
        process.stdout.close()
        code, text = self.end(process)
        self.assertEqual(code, FAILED, text)
        self.assertEqual(server.wait_exit(), 0)

    def test_no_server(self):
        server = self.server().start()
        server.stop()
        path = self.folder / "out.lp"
        self.export(server, "--output", path, code=UNREACHABLE)
        self.assertEqual(list(self.folder.glob("out*")), [])


if __name__ == "__main__":
    unittest.main()
