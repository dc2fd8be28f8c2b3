# SPDX-License-Identifier: Apache-2.0
"""The program as people and scripts use it: its commands, messages, exit codes and files."""
import csv
import gzip
import http.server
import io
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import threading
import unittest

from varve_process import (ON_CASSANDRA, PATIENCE_S, PROGRAM, Varve, VarveTest, embedded_only,
                           wait_until)

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "examples" / "data"
MACHINE = DATA / "machine_temperature_system_failure.csv"

OK, FAILED, USAGE, REFUSED, UNREACHABLE, INTERRUPTED = 0, 1, 2, 3, 4, 130


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def rows(self):
        return list(csv.reader(io.StringIO(self.out)))

    def __repr__(self):
        return f"<exit {self.code}\n{self.out[-1500:]}\n{self.err[-1500:]}>"


def run(*arguments, server=None, stdin=None, **environment):
    env = {**os.environ, **environment}
    env.pop("VARVE_SERVER", None)
    if server:
        env["VARVE_SERVER"] = server
    done = subprocess.run([PROGRAM, *map(str, arguments)], env=env, timeout=PATIENCE_S,
                          input=stdin, capture_output=True, check=False)
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def is_open_in(pid, path):
    """Whether a process has the file open."""
    for each in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            if os.readlink(each) == str(path):
                return True
        except FileNotFoundError:  # closed meanwhile
            pass
    return False


class CliTest(VarveTest):
    def expect(self, result, code, *needles):
        self.assertEqual(result.code, code, result)
        for needle in needles:
            self.assertIn(needle, result.out + result.err, result)
        self.assertNotRegex(result.err, r"AddressSanitizer|LeakSanitizer|runtime error")
        return result

    def file(self, name, text):
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path


class Words(CliTest):
    """What needs no server."""

    def test_help(self):
        overview = self.expect(run("help"), OK, "usage", "commands").out
        self.assertEqual(overview, run("--help").out)
        for command in re.findall(r"^  ([a-z]+) {2,}", overview, re.MULTILINE):
            shown = self.expect(run("help", command), OK, f"varve {command}: ").out
            self.assertEqual(shown, run(command, "--help").out)
        self.expect(run(), USAGE, "varve help COMMAND")
        self.expect(run("help", "nothing"), USAGE)

    def test_mistakes_are_usage_errors_with_hints(self):
        for arguments, *needles in [
                (["laod"], "varve: error: there is no command 'laod'", "did you mean `varve load`?"),
                (["query", "--agr", "mean"], "no option --agr", "did you mean --agg?"),
                (["query", "--order", "up"], "'up'", "allowed: asc, desc"),
                (["load"], "needs FILE"),
                (["flush", "x"], "does not take 'x'"),
                (["bench", "--points", "many"], "--points: 'many' is not a number from"),
                (["health", "--wait", "5"], "is not a duration"),
                (["load", "--delimiter"], "--delimiter needs a value"),
                (["query", "--server", "ftp://x"], "neither http:// nor https://"),
                (["tenants", "drop", "x"], "set NAME"),
                (["metrics", "--unit", "K"], "belong to `varve metrics set`"),
                (["metrics", "set", "m"], "needs a metric with --unit")]:
            with self.subTest(arguments=arguments):
                result = self.expect(run(*arguments), USAGE, "varve: error: ", *needles)
                self.assertEqual(result.out, "")
                self.assertLessEqual(len(result.err.splitlines()), 2, result)

    def test_version(self):
        self.assertRegex(self.expect(run("--version"), OK).out, r"^varve \d+\.\d+\.\d+\n$")

    def test_completions_are_scripts(self):
        bash = self.expect(run("completion", "bash"), OK).out
        subprocess.run(["bash", "-n"], input=bash, text=True, check=True)
        words = subprocess.run(
            ["bash", "-c", bash + "\nCOMP_WORDS=(varve query --or); COMP_CWORD=2; _varve; "
             "echo ${COMPREPLY[*]}"], capture_output=True, text=True, check=True)
        self.assertEqual(words.stdout.strip(), "--order")
        for shell in ("zsh", "fish"):
            script = self.expect(run("completion", shell), OK).out
            if shutil.which(shell):
                subprocess.run([shell, "-n"], input=script, text=True, check=True)
        self.expect(run("completion", "csh"), USAGE, "bash, zsh, fish")

    def test_the_manual_is_roff(self):
        manual = self.expect(run("help", "--man"), OK).out
        self.assertTrue(manual.startswith(".TH VARVE 1"))
        self.assertNotRegex(manual, r"(?m)^['.](?!(TH|SH|SS|PP|TP|B|I|nf|fi)\b)")
        self.assertNotIn("\n\n", manual)

    def test_the_documentation_of_settings_is_current(self):
        written = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
        self.assertEqual(run("config", "--markdown").out, written,
                         "renew it: varve config --markdown > docs/configuration.md")

    def test_printed_settings_are_a_file(self):
        first = self.expect(run("config", "--set", "head.flush_age=1m"), OK, "flush_age: 1m").out
        path = self.file("all.yaml", first)
        self.assertEqual(self.expect(run("config", "--config", path), OK).out, first)

    def test_wrong_settings_name_file_and_line(self):
        path = self.file("x.yaml", "data: a\nhttp:\n  threds: 5\n")
        self.expect(run("config", "--config", path), USAGE,
                    f"{path}:3: there is no setting 'http.threds'; did you mean http.threads?")
        self.expect(run("serve", "--config", path), USAGE, "x.yaml:3")
        self.expect(run("config", "--set", "http.threads"), USAGE, "name=value")
        self.expect(run("config", "--set", "head.bytes_max=8MiB"), USAGE, "head.flush_bytes")
        self.expect(run("config", "--config", self.folder / "none"), FAILED, "No such file")

    def test_no_server_is_exit_code_4(self):
        nowhere = "http://127.0.0.1:1"
        lines = self.file("a.lp", "m v=1 1\n")
        for arguments in [("health",), ("query", "m"), ("latest",), ("sources",), ("metrics",),
                          ("tags",), ("tenants",), ("nodes",), ("flush",), ("plan", "x"),
                          ("load", lines),
                          ("bench", "--points", "10", "--connections", "1", "--server", nowhere)]:
            if arguments[0] != "bench":
                with self.subTest(arguments=arguments):
                    self.expect(run(*arguments, server=nowhere), UNREACHABLE,
                                "cannot reach http://127.0.0.1:1", "hint: ")

    def test_a_full_output_is_a_failure(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([PROGRAM, "config"], stdout=full, stderr=subprocess.PIPE,
                                  check=False)
        self.assertEqual(done.returncode, FAILED)
        self.assertIn(b"cannot write to standard output", done.stderr)

    def test_generated_points_are_the_same_for_a_seed(self):
        first = self.expect(run("bench", "--print", "--points", "300", "--hosts", "4"), OK).out
        self.assertEqual(len(first.splitlines()), 30)
        self.assertEqual(run("bench", "--print", "--points", "300", "--hosts", "4").out, first)
        self.assertNotEqual(
            run("bench", "--print", "--points", "300", "--hosts", "4", "--seed", "2").out, first)


class Serving(CliTest):
    def test_it_logs_its_life_and_keeps_its_data(self):
        server = self.server().start()
        self.assertStatus(server.write("m v=1 1"), 204)
        log = server.log_path
        server.stop()
        events = re.findall(r"^\S+ info (\w+)", log.read_text(), re.MULTILINE)
        life = [event for event in events
                if event in ("starting", "listening", "ready", "stopping", "stopped")]
        self.assertEqual(life, ["starting", "listening", "ready", "stopping", "stopped"])
        server.start()
        self.assertEqual(len(server.rows()), 1)

    def test_ctrl_c_stops_it_too(self):
        server = self.server().start()
        server.process.send_signal(signal.SIGINT)
        self.assertEqual(server.wait_exit(), 0)
        self.assertIn("signal=SIGINT", server.log())

    def test_a_second_server_says_why_it_cannot(self):
        server = self.server().start()
        result = run("serve", "--data", server.data, "--listen", "127.0.0.1:0")
        self.expect(result, FAILED, "varve: error: ", str(server.data))
        other = run("serve", "--data", self.folder / "other", "--listen",
                    "%s:%d" % server.address)
        self.expect(other, FAILED, "in use")

    @embedded_only("on Cassandra the folder holds no points that were flushed")
    def test_a_copied_folder_is_a_backup(self):
        """As docs/operations.md has it: flush, stop, copy, start; and the copy starts too."""
        server = self.server().start()
        url = "http://%s:%d" % server.address
        self.expect(run("bench", "--points", "30000", server=url), OK)
        self.expect(run("flush", "--seal", server=url), OK)
        self.expect(run("bench", "--points", "20000", "--start", "2017-01-01T00:00:00Z",
                        server=url), OK)
        before = sorted(server.rows())
        server.stop()
        copy = self.server("copy")
        shutil.copytree(server.data, copy.data)
        for each in (server, copy):
            self.assertEqual(sorted(each.start().rows()), before)

    def test_wrong_addresses(self):
        for address in ("nonsense", "127.0.0.1:99999", "127.0.0.1:"):
            with self.subTest(address=address):
                result = run("serve", "--data", self.folder / "d", "--listen", address)
                self.assertIn(result.code, (FAILED, USAGE), result)
                self.assertIn("varve: error: ", result.err)

    def test_a_folder_that_cannot_be_made(self):
        self.expect(run("serve", "--data", "/proc/nowhere/data", "--listen", "127.0.0.1:0"), FAILED,
                    "varve: error: ", "/proc/nowhere")


class Served(CliTest):
    """Commands against a server."""

    def setUp(self):
        super().setUp()
        self.varve = self.server().start()
        self.url = "http://%s:%d" % self.varve.address

    def run_here(self, *arguments, **more):
        return run(*arguments, server=self.url, **more)

    def count(self, metric, **parameters):
        rows = self.varve.get("/api/v1/query", metric=metric, agg="count", group_by="all",
                              format="csv", **parameters).text.splitlines()
        return int(rows[1].split(",")[-1]) if len(rows) > 1 else 0


class Loading(Served):
    def load_machine(self):
        return self.run_here("load", "--csv", MACHINE, "--measurement", "machine", "--tag",
                             "machine=industrial", "--field", "value=temperature")

    def test_a_real_series_twice(self):
        self.expect(self.load_machine(), OK, "stored 22,695 points of 22,695 lines from 1 file")
        before = self.varve.get("/api/v1/query", metric="*", format="csv").text
        self.expect(self.load_machine(), OK, "stored 22,695 points")
        self.assertEqual(self.varve.get("/api/v1/query", metric="*", format="csv").text, before)
        points = {}
        with open(MACHINE, encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                points[row["timestamp"].replace(" ", "T") + "Z"] = float(row["value"])
        found = self.run_here("query", "machine.temperature").rows()
        self.assertEqual(found[0], ["source", "metric", "time", "value"])
        self.assertEqual({row[2]: float(row[3]) for row in found[1:]}, points)

    def test_compressed_files_and_standard_input(self):
        lines = "".join(f"m,h=a v={i} {i}\n" for i in range(1, 1001))
        plain = self.file("a.lp", lines)
        packed = self.file("b.lp.gz", gzip.compress(lines.replace("h=a", "h=b").encode()))
        self.expect(self.run_here("load", plain, packed), OK, "2,000 points", "from 2 files")
        self.expect(self.run_here("load", "-", stdin=lines.replace("h=a", "h=c").encode()), OK,
                    "1,000 points")
        if shutil.which("zstd"):
            frame = subprocess.run(["zstd", "-q", "-c"], input=lines.replace("h=a", "h=d").encode(),
                                   capture_output=True, check=True).stdout
            self.expect(self.run_here("load", "-", stdin=frame), OK, "1,000 points")
        rows = self.varve.rows(metric="m.v")
        self.assertEqual(len(rows), 4000 if shutil.which("zstd") else 3000)

    def test_a_cut_archive_is_a_failure_but_the_others_are_loaded(self):
        packed = gzip.compress(b"".join(b"m v=%d %d\n" % (i, i) for i in range(1, 5000)))
        cut = self.file("cut.gz", packed[:-20])
        good = self.file("good.lp", "other v=1 1\n")
        self.expect(self.run_here("load", cut, good), FAILED, "cut.gz", "ends in the middle")
        self.assertEqual(self.count("other.v"), 1)

    def test_formats_are_recognised(self):
        self.file("x", "# comment\n\ncpu,h=a v=1 1\n")
        self.file("y", "time,v\n2013-12-02,5\n")
        self.expect(self.run_here("load", self.folder / "x", self.folder / "y"), OK, "2 points")
        self.assertEqual(self.count("cpu.v") + self.count("y.v"), 2)

    def test_a_bad_line_is_one_bad_line(self):
        text = ["m,h=%d v=%d %d" % (i % 3, i, i + 1) for i in range(200)]
        text[16] = "m,h=1 v=x 17"
        text[50] = "m,h=1"
        text[120] = 'm,h=1 v=5,s="text" 121'
        path = self.file("bad.lp", "\n".join(text))
        result = self.run_here("load", path, "--batch-lines", "7", "--connections", "3")
        self.expect(result, REFUSED, "stored 198 points of 200 lines", "refused 3 points",
                    "syntax: 2", f"{path}:17:", f"{path}:51:", "string: 1")
        self.assertEqual(self.count("m.v"), 198)

    def test_lines_of_strings_with_newlines_keep_their_numbers(self):
        path = self.file("s.lp", 'm s="a\nb",v=1 1\nm v=oops 2\nm v=3 3\n')
        self.expect(self.run_here("load", path), REFUSED, f"{path}:3:", "syntax: 1", "string: 1")
        self.assertEqual(self.count("m.v"), 2)

    def test_lines_without_a_time(self):
        path = self.file("t.lp", "m v=1\nm v=2 2\n")
        self.expect(self.run_here("load", path), REFUSED, "no_time: 1", f"{path}:1:", "--now")
        self.assertEqual(self.count("m.v"), 1)
        self.expect(self.run_here("load", path, "--now"), OK, "2 points")
        self.assertEqual(self.count("m.v"), 2)

    def test_precision(self):
        path = self.file("p.lp", "m v=1 1385932500\n")
        self.expect(self.run_here("load", path, "--precision", "s"), OK)
        self.assertEqual(self.varve.rows()[0][2], 1385932500 * 10**9)

    def test_the_last_of_equal_times_counts(self):
        path = self.file("d.lp", "".join(f"m,h={i % 5} v={i} 7\n" for i in range(5000)))
        self.expect(self.run_here("load", path, "--connections", "8", "--batch-lines", "10"), OK)
        self.assertEqual(sorted(float(row[3]) for row in self.varve.rows()),
                         [4995, 4996, 4997, 4998, 4999])

    def test_csv_with_every_option(self):
        path = self.file("e.txt", "when;place;n;t;state\n"
                         "03.12.2013 12:00;a b;5;1.5;on\n"
                         "03.12.2013 12:05;c,d;6;;off\n"
                         ";a;1;1;x\n"
                         "03.12.2013 12:10;a;x;2;on\n"
                         "03.12.2013 12:15;a\n")
        result = self.run_here(
            "load", path, "--csv", "--delimiter", ";", "--time-column", "when", "--time-format",
            "%d.%m.%Y %H:%M", "--measurement", "pump", "--tag-columns", "place", "--int-columns",
            "n", "--field", "t=temperature", "--tag", "site=x=y")
        self.expect(result, REFUSED, "stored 4 points of 5 lines", f"{path}:4:1: no time",
                    f"{path}:5:3: column n: 'x' is not a whole number",
                    f"{path}:6: 2 cells, but 5 columns", "column 'state' holds text")
        rows = self.run_here("query", "pump.*", "--tag", "place=c,d").rows()
        self.assertEqual(rows[1][1:], ["pump.n", "2013-12-03T12:05:00Z", "6"])

    def test_wrong_options_of_csv(self):
        path = self.file("w.csv", "time,v\n2013-12-02,1\n")
        self.expect(self.run_here("load", path, "--tag-columns", "x"), USAGE, "no column 'x'",
                    "time, v")
        self.expect(self.run_here("load", path, "--time-format", "secs"), USAGE, "rfc3339, s, ms")
        self.expect(self.run_here("load", path, "--format", "line", "--tag", "a=b"), USAGE)
        self.expect(self.run_here("load", path, self.folder / "none"), FAILED, "No such file")
        self.expect(self.run_here("load", path, "--tenant", "a/b"), FAILED, "varve: error: ")
        self.assertEqual(self.count("*"), 0)

    def test_it_survives_a_server_that_is_killed(self):
        """Three times kill -9 while loading; the loader waits and goes on by itself."""
        self.varve = self.server("stays").stay().start()
        path = self.folder / "many.lp"
        with open(path, "w", encoding="utf-8") as file:
            subprocess.run([PROGRAM, "bench", "--print", "--points", "400000"], stdout=file,
                           check=True)
        loader = subprocess.Popen(
            [PROGRAM, "load", path, "--server", "http://%s:%d" % self.varve.address,
             "--batch-lines", "10"], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        self.addCleanup(loader.kill)
        self.addCleanup(loader.stdout.close)
        kills = 0
        for _ in range(3):
            wait_until(lambda: self.varve.metrics().get("varve_points_accepted_total") > 0
                       or loader.poll() is not None, "points come in")
            kills += loader.poll() is None
            self.varve.kill().start()
        out, _ = loader.communicate(timeout=PATIENCE_S)
        self.assertEqual(loader.returncode, OK, out)
        self.assertGreater(kills, 0, "the loader was done before the first kill")
        self.assertRegex(out, r"stored 400,000 points of 40,000 lines")
        self.assertIn("repeated ", out)
        self.assertEqual(sum(self.count(f"cpu.{name}") for name in ("usage_user", "usage_idle")),
                         80000)

    def test_giving_up_says_what_to_do(self):
        path = self.file("g.lp", "m v=1 1\n" * 10)
        self.varve.stop()
        self.varve.launch()
        self.varve.wait_listening()
        self.url = "http://%s:%d" % self.varve.address
        self.varve.wait_for_log(r"^\S+ info ready ")
        fifo = self.folder / "fifo.lp"
        os.mkfifo(fifo)
        loader = subprocess.Popen(
            [PROGRAM, "load", fifo, "--server", self.url, "--retry", "1s", "--batch-lines", "1"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(loader.kill)
        self.addCleanup(loader.stdout.close)
        # The check of the files opens it once, the loading once more.
        with open(fifo, "w", encoding="utf-8"):
            pass
        wait_until(lambda: not is_open_in(loader.pid, fifo), "the check of the files is over")
        with open(fifo, "w", encoding="utf-8") as file:
            file.write("m v=1 1\n")
            file.flush()
            wait_until(lambda: self.count("m.v") == 1, "the first point")
            self.varve.kill()
            file.write("m v=2 2\n")
        out, _ = loader.communicate(timeout=PATIENCE_S)
        self.assertEqual(loader.returncode, UNREACHABLE, out)
        self.assertIn("start it again", out)
        self.assertTrue(path.exists())


class Asking(Served):
    def setUp(self):
        super().setUp()
        hour = 3600 * 10**9
        self.varve.write([f"pump,site={s} t={10 * s + i}.5,n={i}i {i * hour}"
                          for s in (1, 2) for i in range(1, 25)])

    def test_a_pipe_gets_csv(self):
        rows = self.run_here("query", "pump.t", "--limit", "2", "--tag", "site=1").rows()
        self.assertEqual(rows, [["source", "metric", "time", "value"],
                                ["site=1", "pump.t", "1970-01-01T01:00:00Z", "11.5"],
                                ["site=1", "pump.t", "1970-01-01T02:00:00Z", "12.5"]])

    def test_json_is_the_servers(self):
        answer = json.loads(self.expect(
            self.run_here("query", "--metric", "pump.n", "--agg", "sum,max", "--group-by", "all",
                          "--format", "json"), OK).out)
        self.assertEqual(answer["series"][0]["points"][0][1:], [600, 24])
        self.assertTrue(answer["facts"]["complete"])

    def test_a_table_has_units_and_sparklines(self):
        self.expect(self.run_here("metrics", "set", "pump.t", "--unit", "°C", "--description",
                                  "outlet"), OK)
        result = self.expect(
            self.run_here("query", "pump.t", "--step", "6h", "--agg", "mean", "--tag", "site=2",
                          "--format", "table"), OK)
        self.assertEqual(result.out.splitlines()[:3],
                         ["site=2  pump.t  °C", "time                  mean",
                          "1970-01-01T00:00:00Z  23.5"])
        self.assertIn("▁", result.out)

    def test_every_option_reaches_the_server(self):
        rows = self.run_here("query", "pump.t", "--source", "site=1", "--from", "3600", "--to",
                             "36000", "--epoch", "s", "--where", "value>12", "--where", "value<19",
                             "--order", "desc", "--limit", "3", "--time-format", "s").rows()
        self.assertEqual([row[2:] for row in rows[1:]],
                         [["28800", "18.5"], ["25200", "17.5"], ["21600", "16.5"]])
        rows = self.run_here("query", "pump.t", "--step", "12h", "--agg", "count", "--fill", "zero",
                             "--group-by", "site", "--tz", "Europe/Berlin").rows()
        self.assertEqual(rows[0], ["source", "site", "metric", "time", "count"])

    def test_mistakes_in_words_are_the_servers_to_explain(self):
        self.expect(self.run_here("query", "pump.t", "--agg", "avrage"), USAGE, "avrage")
        self.expect(self.run_here("query", "--tenant", "nobody", "pump.t"), FAILED, "nobody")
        none = self.expect(self.run_here("query", "pump.t", "--from", "2020-01-01T00:00:00Z",
                                         "--format", "table"), OK, "nothing was found")
        self.assertEqual(none.out, "")

    def test_lists(self):
        self.assertEqual(self.run_here("sources").rows()[0][:2], ["source", "tags"])
        self.assertEqual(len(self.run_here("sources", "site=1").rows()), 2)
        self.assertEqual(len(self.run_here("sources", "--limit", "1").rows()), 2)
        self.assertEqual([row[0] for row in self.run_here("metrics").rows()[1:]],
                         ["pump.n", "pump.t"])
        self.assertEqual(self.run_here("tags").rows()[1][0], "site")
        self.assertEqual([row[0] for row in self.run_here("tags", "site").rows()[1:]], ["1", "2"])
        latest = self.run_here("latest", "pump.n", "--tag", "site=2").rows()
        self.assertEqual(latest[1][-1], "24")

    def test_units_from_a_file(self):
        path = self.file("units.csv", "metric,unit,description\npump.t,K,outlet\npump.n,,starts\n")
        self.expect(self.run_here("metrics", "set", "--file", path), OK)
        rows = {row[0]: row[3:] for row in self.run_here("metrics").rows()}
        self.assertEqual(rows["pump.t"], ["K", "outlet"])
        self.assertEqual(rows["pump.n"], ["", "starts"])
        self.expect(self.run_here("metrics", "set", "pump.none", "--unit", "K"), FAILED,
                    "pump.none")

    def test_tenants(self):
        self.expect(self.run_here("tenants", "set", "plant", "--retention", "30d"), OK)
        table = self.expect(self.run_here("tenants"), OK, "plant", "30d").out
        self.assertRegex(table, r"(?m)^default +forever +accept +96 ")
        self.expect(self.run_here("tenants", "--format", "csv"), USAGE, "table")
        listed = json.loads(self.run_here("tenants", "--format", "json").out)
        self.assertLessEqual({"default", "plant"}, {t["tenant"] for t in listed["tenants"]})
        one = json.loads(self.run_here("tenants", "-t", "plant", "--format", "json").out)
        self.assertEqual(["plant"], [t["tenant"] for t in one["tenants"]])
        self.expect(self.run_here("tenants", "-t", "no one"), FAILED, "there is no tenant 'no one'")
        self.expect(self.run_here("tenants", "set", "plant", "--retention", "soon"), USAGE)
        self.expect(self.run_here("tenants", "set", "plant", "--tiers", "hour=1d,hour=2d"), USAGE,
                    "each tier once")
        self.expect(self.run_here("tenants", "set", "plant", "--late", "refuse",
                                  "--late-limit", "90m"), OK)
        self.expect(self.run_here("tenants"), OK, "refuse 1h30m")
        self.expect(self.run_here("tenants", "set", "plant", "--measurements", "x"), USAGE, "class")
        if not ON_CASSANDRA:
            self.expect(self.run_here("tenants", "set", "plant", "--class", "debug", "--tiers", "off",
                                      "--measurements", "debug*,trace", "--retention", "6h"), OK)
            self.expect(self.run_here("tenants"), OK, "class debug: debug*, trace", "6h", "30d")
        self.expect(self.run_here("tenants", "set", "plant", "--late", "drop"), USAGE)
        self.expect(self.run_here("tenants", "set", "plant", "--late", "accept"), OK)

    @embedded_only("tiers are kept by it only")
    def test_tiers(self):
        def tiers():
            listed = json.loads(self.run_here("tenants", "--format", "json").out)["tenants"]
            return next(t["tiers"] for t in listed if t["tenant"] == "steps")
        self.expect(self.run_here("tenants", "set", "steps", "--tiers", "default"), OK)
        self.assertEqual(tiers(), {"minute": "30d", "hour": "365d", "day": "forever"})
        self.expect(self.run_here("tenants", "set", "steps", "--tiers", "minute=40d,hour=off"), OK)
        self.assertEqual(tiers(), {"minute": "40d", "day": "forever"})
        self.expect(self.run_here("tenants"), OK, "minute 40d, day forever")
        self.expect(self.run_here("tenants", "set", "steps", "--retention", "1d"), USAGE,
                    "the minute tier")
        for wrong in ("", "on", "minute", "minute=", "=1d", "week=1d", "hour=soon", "hour=1d,"):
            with self.subTest(tiers=wrong):
                self.expect(self.run_here("tenants", "set", "steps", "--tiers", wrong), USAGE)
        self.assertEqual(tiers(), {"minute": "40d", "day": "forever"})
        self.expect(self.run_here("tenants", "set", "steps", "--tiers", "off"), OK)
        self.assertEqual(tiers(), {})

    def test_nodes(self):
        table = self.expect(self.run_here("nodes"), OK).out
        self.assertRegex(table, r"(?m)^ *\d+ +(\S+ +)?this node +\d{4}-\d\d-\d\dT.*Z +\d")
        nodes = json.loads(self.run_here("nodes", "--format", "json").out)["nodes"]
        self.assertEqual([(n["self"], n["state"], n["partial"]) for n in nodes],
                         [(True, "live", False)])

    def test_nodes_that_leave_something_out_are_marked(self):
        class Answer(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = json.dumps({"nodes": [
                    {"node": 1, "self": True, "state": "live", "partial": True},
                    {"node": 2, "self": False, "state": "gone", "partial": True},
                    {"node": 3, "self": False, "state": "live", "partial": False}]}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments):
                pass

        with http.server.HTTPServer(("127.0.0.1", 0), Answer) as other:
            answering = threading.Thread(target=other.serve_forever)
            answering.start()
            url = "http://%s:%d" % other.server_address
            table = self.expect(run("nodes", server=url), OK).out
            other.shutdown()
            answering.join()
        self.assertRegex(table, r"(?m)^ *1 +this node, partial\b")
        self.assertRegex(table, r"(?m)^ *2 +gone, partial\b")
        self.assertRegex(table, r"(?m)^ *3 +live *$")

    def test_plan(self):
        self.expect(self.run_here("flush"), OK)
        source = self.run_here("sources").rows()[1][0]
        table = self.expect(self.run_here("plan", source), OK, "bucket", "present").out
        self.assertEqual(len(table.splitlines()), 2)
        self.expect(self.run_here("plan", source, "--bucket", "15m", "--splits", "2"), OK, "15m",
                    "ahead")
        plans = json.loads(self.run_here("plan", source, "--format", "json").out)["plans"]
        self.assertEqual([p["state"] for p in plans], ["present", "ahead"])
        self.assertEqual((plans[1]["bucket"], plans[1]["splits"]), ("15m", 2))
        self.assertIsNone(plans[0]["from"])
        self.expect(self.run_here("plan", source, "--splits", "0"), USAGE, "splits")
        self.expect(self.run_here("plan", "nobody"), FAILED, "nobody")
        self.expect(self.run_here("plan"), USAGE)

    def test_health_and_flush(self):
        self.expect(self.run_here("health", "--wait", "10s"), OK, ": ready")
        self.expect(self.run_here("flush", "--seal"), OK)
        self.assertEqual(len(self.varve.rows(metric="pump.t")), 48)

    def test_bench(self):
        result = self.run_here("bench", "--points", "20000", "--hosts", "7", "--format", "json",
                               "--tenant", "bench", "--values", "float")
        figures = json.loads(self.expect(result, OK).out)
        self.assertEqual((figures["points"], figures["refused"]), (20000, 0))
        self.assertGreaterEqual(figures["latency_ms"]["p99"], figures["latency_ms"]["p50"])
        self.assertEqual(self.count("cpu.usage_user", tenant="bench"), 2000)
        self.expect(self.run_here("bench", "--points", "1000", "--rate", "1000000"), OK,
                    "points/s", "median")


class Terminal:
    """The program in a terminal of its own."""

    def __init__(self, *arguments, server, columns=100, **environment):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(VARVE_SERVER=server, TERM="xterm-256color", LANG="C.UTF-8",
                              **environment)
            os.environ.pop("LC_ALL", None)
            if "NO_COLOR" not in environment:
                os.environ.pop("NO_COLOR", None)
            os.execvp("sh", ["sh", "-c", f"stty cols {columns}; exec \"$@\"", "sh", PROGRAM,
                             *map(str, arguments)])
        self.seen = b""

    def read_until(self, pattern):
        """Everything up to a match; None: up to the end."""
        while pattern is None or not re.search(pattern, self.seen):
            if not select.select([self.fd], [], [], PATIENCE_S)[0]:
                raise TimeoutError(self.seen)
            try:
                piece = os.read(self.fd, 65536)
            except OSError:  # Linux says so at the end of a terminal
                piece = b""
            if not piece:
                break
            self.seen += piece
        return self.seen.decode("utf-8", "replace")

    def finish(self):
        text = self.read_until(None)
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status), text

    @staticmethod
    def screen(text):
        """What is left on the screen: lines after carriage returns and erasures."""
        lines = []
        for line in text.replace("\r\n", "\n").split("\n"):
            line = line.rsplit("\r\x1b[K", 1)[-1]
            lines.append(re.sub(r"\x1b\[[0-9;]*m", "", line))
        return "\n".join(lines)


class Terminals(Served):
    def test_a_terminal_gets_a_table_in_colours(self):
        self.varve.write([f"pump,site=a t={i} {i}" for i in range(1, 9)])
        code, text = Terminal("query", "pump.t", server=self.url).finish()
        self.assertEqual(code, OK)
        self.assertIn("\x1b[1msite=a  pump.t\x1b[0m", text)
        self.assertIn("▁▂▃▄▅▆▇█", text)
        code, text = Terminal("query", "pump.t", server=self.url, NO_COLOR="1").finish()
        self.assertNotIn("\x1b", text)
        self.assertIn("time", text)

    def test_hostile_names_cannot_steer_a_terminal(self):
        self.varve.write("pump,site=\x1b]0;owned\x07 t=1 1")
        for command in (("query", "pump.t"), ("sources",), ("tags", "site"), ("latest",)):
            code, text = Terminal(*command, server=self.url, NO_COLOR="1").finish()
            self.assertEqual(code, OK, text)
            self.assertNotIn("\x1b", text)
            self.assertNotIn("\x07", text)

    def test_progress_is_drawn_and_taken_away(self):
        path = self.folder / "many.lp"
        with open(path, "w", encoding="utf-8") as file:
            subprocess.run([PROGRAM, "bench", "--print", "--points", "1500000"], stdout=file,
                           check=True)
        code, text = Terminal("load", path, server=self.url).finish()
        self.assertEqual(code, OK)
        self.assertRegex(text, r"\d+ % [█▏▎▍▌▋▊▉ ]+  [\d.]+( [kMG])? points/s")
        screen = Terminal.screen(text)
        self.assertNotIn("%", screen)
        self.assertIn("stored 1,500,000 points", screen)

    def test_ctrl_c_leaves_a_clean_terminal(self):
        terminal = Terminal("bench", "--points", "1000000000", server=self.url)
        terminal.read_until(rb" [1-9][\d.]*( [kMG])? points/s")
        os.write(terminal.fd, b"\x03")
        code, text = terminal.finish()
        self.assertEqual(code, INTERRUPTED)
        screen = Terminal.screen(text)
        self.assertRegex(screen, r"stored +[\d,]+ points")
        self.assertNotIn("%", screen)


if __name__ == "__main__":
    unittest.main()
