# SPDX-License-Identifier: Apache-2.0
"""`varve backfill`: history comes in whole, in the order of time and with all tiers, whatever
interrupts it."""
import gzip
import json
import random
import signal
import subprocess
import threading
import time
import unittest

from commands import Commands
from expectation import HOUR, SECOND
from varve_process import ON_CASSANDRA, PATIENCE_S, PROGRAM, Threads, VarveTest, wait_until

DAY = 24 * HOUR
START = 1_700_006_400 * SECOND  # a day's beginning
SOURCES = 5
OK, FAILED, USAGE, REFUSED, UNREACHABLE, INTERRUPTED = 0, 1, 2, 3, 4, 130
DONE = "sealed by this server" if ON_CASSANDRA else "sealed, all tiers are built"


class BackfillTest(Commands, VarveTest):
    SETTINGS = {"partition.bucket": "6h", "partition.span": "1h", "seal.quiet": "1s",
                "seal.interval": "200ms"}

    def setUp(self):
        super().setUp()
        self.staging = self.folder / "staging"

    def start(self, name="server", settings=None, stays=False):
        server = self.server(name, settings)
        server = (server.stay() if stays else server).start()
        if not ON_CASSANDRA:
            tiers = {"tenant": "default", "tiers": {"minute": "forever", "hour": "forever",
                                                    "day": "forever"}}
            self.assertStatus(server.request("PUT", "/api/v1/tenants", json.dumps(tiers),
                                             {"Content-Type": "application/json"}), 200)
        return server

    def url(self, server):
        return "http://%s:%d" % server.address

    def history(self, name, seed, points=20000, span=3 * DAY):
        """A file of points at random times, in no order."""
        chance = random.Random(seed)
        path = self.folder / name
        with open(path, "w", encoding="utf-8") as file:
            for _ in range(points):
                at = START + chance.randrange(span)
                file.write(f"m,source={chance.randrange(SOURCES)} "
                           f"v={chance.randrange(1000)}i,w={chance.random():.3f} {at}\n")
        return path

    def backfill(self, server, *arguments, staging=None):
        return subprocess.Popen(
            [PROGRAM, "backfill", "--server", self.url(server), "--staging",
             str(staging or self.staging), *map(str, arguments)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def answers(self, server):
        """Raw points, and what each tier has."""
        parameters = {"metric": "m.*", "from_": "2023-11-01", "to": "2023-12-01"}
        answers = [sorted(server.rows(metric="m.*"))]
        for step in ("1m", "1h", "1d"):
            answer = server.get("/api/v1/query", step=step, agg="count,sum,min,max,first,last",
                                format="csv", **parameters)
            self.assertStatus(answer, 200)
            answers.append([line for line in answer.text.splitlines() if line[:1] != "#"])
        return answers

    def state(self):
        try:
            return json.loads((self.staging / "state.json").read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            return {}

    def sealing(self, server):
        return server.get("/api/v1/sealing").json()


class Whole(BackfillTest):
    def test_it_ends_when_all_tiers_are_right(self):
        server = self.start()
        path = self.history("h.lp", 1)
        out = self.finish(self.backfill(server, path), OK, DONE)
        self.assertIn("40,000 points of 20,000 lines", out)
        if not ON_CASSANDRA:
            for step, tier in (("1m", "minute"), ("1h", "hour"), ("1d", "day")):
                answer = server.get("/api/v1/query", metric="m.v", step=step, agg="count",
                                    from_="2023-11-15", to="2023-11-18").json()
                self.assertEqual([part["tier"] for part in answer["facts"]["tiers"]], [tier], answer["facts"])
            self.assertEqual(self.sealing(server)["waiting"], 0)
            rerolled = subprocess.run([PROGRAM, "reroll", "--server", self.url(server), "--check",
                                       "--format", "json"], capture_output=True, check=False)
            self.assertEqual(rerolled.returncode, OK, rerolled)
            units = json.loads(rerolled.stdout)["units"]
            self.assertEqual(units["same"], SOURCES * (3 * 24 + 3 + 1))
            self.assertEqual(sum(units.values()), units["same"])
        self.assertFalse(self.staging.exists())
        # The same once more changes nothing.
        before = self.answers(server)
        self.finish(self.backfill(server, path), OK)
        self.assertEqual(self.answers(server), before)
        server.stop()

    def test_it_loads_what_load_loads(self):
        """The last of equal times counts, over several files, precisions and formats."""
        one = self.folder / "one.lp"
        one.write_text("m,source=a v=1 1700000000\nm,source=a v=2 1700000000\n"
                       "m,source=b v=3 1700000060  \n# a comment\n\n")
        two = self.folder / "two.csv"
        two.write_text("time,w\n2023-11-14T22:13:20Z,5\n2023-11-14T22:13:20Z,6\n")
        loaded, filled = self.start("loaded"), self.start("filled")
        subprocess.run([PROGRAM, "load", "--server", self.url(loaded), one, "--precision", "s"],
                       check=True, capture_output=True)
        subprocess.run([PROGRAM, "load", "--server", self.url(loaded), two], check=True,
                       capture_output=True)
        self.finish(self.backfill(filled, one, two, "--precision", "s"), OK, "5 points of 5 lines")
        self.assertEqual(sorted(filled.rows(metric="*")), sorted(loaded.rows(metric="*")))
        self.assertEqual(len(filled.rows(metric="*")), 3)
        for server in (loaded, filled):
            server.stop()

    def test_refused_lines_are_kept_with_their_reasons(self):
        server = self.start()
        path = self.folder / "h.lp"
        path.write_text("m,source=a v=1i 1700000000000000000\nm,source=a v=1\n"
                        "m,source=a v=2.5 1700000001000000000\n"
                        "m,source=a v=3i 17000000020000000000000\n"
                        "m,source=a v=4i 1700000003000000000\n")
        out = self.finish(self.backfill(server, path, "--json"), REFUSED)
        answer = json.loads(out)
        self.assertEqual(answer["accepted"] + sum(answer["refused"].values()), 5)
        self.assertEqual(answer["refused"], {"no_time": 1, "syntax": 1, "type": 1})
        self.assertEqual(answer["first"], "2023-11-14T22:13:20Z")
        self.assertEqual(answer["sealed"], None if ON_CASSANDRA else True)
        kept = (self.staging / "refused.lp").read_text()
        self.assertIn(f"# {path}:2: no_time: ", kept)
        self.assertIn(f"# {path}:3: type: ", kept)
        self.assertIn("\nm,source=a v=2.5 1700000001000000000\n", kept)
        self.assertIn("\nm,source=a v=3i 17000000020000000000000\n", kept)
        server.stop()

    def test_lines_without_fields_and_texts_are_counted(self):
        server = self.start()
        path = self.folder / "h.lp"
        path.write_text("m,source=a v=1i 1700000000000000000\nno line of it\n"
                        "m,source=a v=\"text\" 1700000001000000000\n")
        out = self.finish(self.backfill(server, path), REFUSED, "refused 2 points")
        self.assertIn("  syntax: 1\n", out)
        self.assertIn("  string: 1\n    fields=v\n", out)
        kept = (self.staging / "refused.lp").read_text()
        self.assertIn(f"# {path}:2: syntax: ", kept)
        self.assertIn("\n# string: 1 point, of lines that are not listed: fields=v\n", kept)
        server.stop()

    def test_all_of_a_request_that_is_refused_is_kept(self):
        server = self.start()
        self.assertStatus(server.set_tenant("default", "10d"), 200)
        path = self.history("h.lp", 2, points=300)
        self.finish(self.backfill(server, path), REFUSED, "retention: 600")
        kept = (self.staging / "refused.lp").read_text().splitlines()
        self.assertEqual(sorted(line for line in kept if not line.startswith("#")),
                         sorted(path.read_text().splitlines()))
        server.stop()

    def test_a_tenant_that_refuses_late_points_is_told_of_before(self):
        server = self.start()
        policy = json.dumps({"tenant": "default", "late": "refuse", "late_limit": "1h"})
        self.assertStatus(server.request("PUT", "/api/v1/tenants", policy,
                                         {"Content-Type": "application/json"}), 200)
        path = self.history("h.lp", 12, points=10)
        self.finish(self.backfill(server, path), REFUSED, "refuses what is older than 1h",
                    "--late accept", "late: 20")
        server.stop()

    def test_mistakes_are_said_before_anything_is_done(self):
        server = self.start()
        self.finish(self.backfill(server, self.folder / "missing.lp"), USAGE, "missing.lp")
        path = self.history("h.lp", 3, points=10)
        self.finish(self.backfill(server, path, "--memory", "1"), USAGE, "--memory")
        self.finish(self.backfill(server, path, staging="/proc/nowhere"), FAILED, "--staging")
        server.stop()
        gone = subprocess.run([PROGRAM, "backfill", "--server", "http://127.0.0.1:1", path],
                              capture_output=True, cwd=self.folder, check=False)
        self.assertEqual(gone.returncode, UNREACHABLE)


class Interrupted(BackfillTest):
    def reference(self, path):
        server = self.start("reference")
        self.finish(self.backfill(server, path, staging=self.folder / "other"), OK, DONE)
        answers = self.answers(server)
        server.stop()
        return answers

    def test_interrupted_and_resumed_equals_uninterrupted(self):
        """Killed in each phase, again and again; some runs more than are read at once."""
        path = self.history("h.lp", 4, points=30000)
        expected = self.reference(path)
        server = self.start()
        arguments = (path, "--memory", "64KiB", "--batch-lines", "200", "--rate", "20000")
        phases = []
        for turn in range(100):
            before = self.state()
            process = self.backfill(server, *arguments)
            wait_until(lambda: process.poll() is not None or self.state() != before,
                       "it goes on a bit")
            phases.append(self.state().get("phase"))
            process.send_signal(signal.SIGKILL if turn % 2 else signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE_S)
            self.assertIn(process.returncode, (OK, INTERRUPTED, -signal.SIGKILL), err)
            if process.returncode == OK or self.state().get("phase") == 2:
                break
        self.assertIn(0, phases)  # staging goes further between two looks on a slow machine
        self.assertGreaterEqual(phases.count(1), 2)
        if process.returncode != OK:
            out = self.finish(self.backfill(server, *arguments), OK, DONE, "goes on with what is")
        self.assertIn("60,000 points of 30,000 lines", out)
        self.assertEqual(self.answers(server), expected)
        server.stop()

    def test_the_server_may_be_killed_meanwhile(self):
        path = self.history("h.lp", 5, points=30000)
        expected = self.reference(path)
        server = self.start(stays=True)
        process = self.backfill(server, path, "--batch-lines", "200", "--rate", "30000")
        for accepted in (1000, 20000):
            wait_until(lambda: process.poll() is not None or
                       server.metrics().get("varve_points_accepted_total") > accepted,
                       "points come in")
            self.assertIsNone(process.poll())
            server.kill().start()
        out = self.finish(process, OK, DONE)
        self.assertIn("repeated ", out)
        self.assertEqual(self.answers(server), expected)
        server.stop()

    def test_a_folder_of_another_backfill_is_left_alone(self):
        server = self.start()
        path = self.history("h.lp", 6, points=2000)
        other = self.history("other.lp", 7, points=10)
        process = self.backfill(server, path, "--rate", "100")
        wait_until(lambda: self.state().get("phase") == 1, "it loads")
        self.finish(self.backfill(server, path), FAILED, "another backfill is using")
        process.kill()
        process.communicate()
        self.finish(self.backfill(server, other), USAGE, "--restart")
        self.finish(self.backfill(server, other, "--restart"), OK, "20 points of 10 lines")
        server.stop()

    def test_live_writes_beside_it_are_taken_and_not_waited_for(self):
        server = self.start()
        path = self.history("h.lp", 8, points=20000)
        stop = threading.Event()
        sent = []

        def write_live():
            client = server.client()
            while not stop.is_set():
                at = time.time_ns()
                self.assertStatus(client.write(f"live v=1i {at}"), 204)
                sent.append(at)
            client.close()

        with Threads([write_live], stop):
            self.finish(self.backfill(server, path), OK, DONE)
        self.assertEqual([at for _, _, at, _ in server.rows(metric="live.v")], sent)
        self.assertGreater(len(sent), 10)
        server.stop()


class Inputs(BackfillTest):
    def test_a_damaged_file_does_not_keep_the_others_back(self):
        server = self.start()
        packed = gzip.compress(self.history("whole.lp", 13, points=20000).read_bytes())
        damaged = self.folder / "damaged.lp.gz"
        damaged.write_bytes(packed[:len(packed) // 2])
        good = self.folder / "good.lp"
        good.write_text("g,source=a v=1i 1700000000000000000\n")
        self.finish(self.backfill(server, damaged, good), FAILED, DONE, "1 of the files are damaged",
                    "damaged.lp.gz")
        self.assertEqual(len(server.rows(metric="g.v")), 1)
        self.assertGreater(len(server.rows(metric="m.v")), 1000)
        self.assertFalse(self.staging.exists())
        server.stop()

    def test_a_record_that_grows_beyond_what_is_staged_is_refused(self):
        server = self.start()
        path = self.folder / "h.csv"
        signs = "=" * ((4 << 20) - 60)
        path.write_text("time,w,t\n2023-11-14T22:13:20Z,5,%s\n2023-11-14T22:13:21Z,6,y\n" % signs)
        self.finish(self.backfill(server, path, "--tag-columns", "t", "--measurement", "m" * 200),
                    REFUSED, "limit: 1")
        self.assertEqual(len(server.rows(metric="*")), 1)
        server.stop()


class Range(BackfillTest):
    def test_what_is_hardly_over_is_not_waited_for(self):
        server = self.start(settings={"seal.lateness": "3h"})
        path = self.folder / "h.lp"
        now = time.time_ns() // HOUR * HOUR
        path.write_text("".join(f"m,source=a v={i}i {now - i * HOUR}\n" for i in range(1, 50)))
        answer = json.loads(self.finish(self.backfill(server, path, "--json"), OK))
        if not ON_CASSANDRA:
            self.assertGreater(answer["later"], 0)
            self.assertFalse(answer["sealed"])
            self.assertEqual(self.sealing(server)["due"], 0)
            self.finish(self.backfill(server, path), OK, "sealed but for")
        self.assertEqual(len(server.rows(metric="m.v")), 49)
        server.stop()

    def test_what_is_kept_apart_is_told_of(self):
        server = self.start(settings={"tiers.default": "true"})
        policy = json.dumps({"tenant": "default", "retention": "forever", "late": "separate"})
        self.assertStatus(server.request("PUT", "/api/v1/tenants", policy,
                                         {"Content-Type": "application/json"}), 200)
        path = self.folder / "h.lp"
        old = time.time_ns() // HOUR * HOUR - 5 * DAY
        path.write_text("".join(f"m,source=a v={i}i {old + i * 60 * SECOND}\n" for i in range(90)))
        answer = json.loads(self.finish(self.backfill(server, path, "--json"), OK))
        self.assertGreater(answer["later"], 0)
        self.assertFalse(answer["sealed"])
        self.finish(self.backfill(server, path), OK, "keeps late points apart",
                    "are kept apart until the server folds them")
        server.stop()

    def test_refused_lines_do_not_widen_it(self):
        server = self.start()
        path = self.folder / "h.lp"
        path.write_text("".join(f"m,source=a v=1i {at}\n" for at in
                                (1_700_000_000 * SECOND, 1_700_000_060 * SECOND,
                                 2_524_608_000 * SECOND, 9_000_000_000 * SECOND)))
        answer = json.loads(self.finish(self.backfill(server, path, "--json"), REFUSED))
        self.assertEqual((answer["first"], answer["last"], answer["accepted"]),
                         ("2023-11-14T22:13:20Z", "2023-11-14T22:14:20Z", 2))
        server.stop()

    def test_more_refused_lines_than_are_listed_do_not_stop_it(self):
        server = self.start()
        path = self.folder / "h.lp"
        path.write_text("".join(f"m,source=a v=1i {at}\n" for at in
                                (1_700_000_000 * SECOND, *range(2 ** 63 - 100, 2 ** 63),
                                 *range(-2 ** 63 + 1, -2 ** 63 + 100))))
        answer = json.loads(self.finish(self.backfill(server, path, "--json"), REFUSED))
        self.assertEqual(answer["accepted"], 1)
        server.stop()

    def test_the_last_of_equal_times_counts_over_several_connections(self):
        server = self.start()
        path = self.folder / "h.lp"
        with open(path, "w", encoding="utf-8") as file:
            for i in range(300):
                at = START + i * SECOND
                file.write(f"m,s=a{i},b={i} v=1i {at}\nm,b={i},s=a{i} v=2i {at}\n")
        self.finish(self.backfill(server, path, "--connections", "8", "--batch-lines", "1"), OK)
        rows = server.rows(metric="m.v")
        self.assertEqual({str(row[-1]) for row in rows}, {"2"})
        self.assertEqual(len(rows), 300)
        server.stop()


class Folder(BackfillTest):
    """What is not this backfill's own stays as it is."""

    def half(self, server, *arguments):
        """Kills a backfill that is loading."""
        process = self.backfill(server, *arguments, "--rate", "100")
        wait_until(lambda: self.state().get("phase") == 1 or process.poll() is not None, "it loads")
        process.kill()
        process.communicate()
        self.assertEqual(self.state().get("phase"), 1)

    def test_refused_lines_of_an_earlier_backfill_stay(self):
        server = self.start()
        path = self.folder / "h.lp"
        path.write_text("m,source=a v=1\nm,source=a v=1 1700000000000000000\n")
        self.finish(self.backfill(server, path), REFUSED)
        first = (self.staging / "refused.lp").read_text()
        self.assertIn("\nm,source=a v=1\n", first)
        other = self.folder / "other.lp"
        other.write_text("m,source=b v=2\n")
        self.finish(self.backfill(server, other), REFUSED, "refused-2.lp")
        self.finish(self.backfill(server, self.history("good.lp", 9, points=10)), OK)
        self.finish(self.backfill(server, self.staging / "refused.lp"), USAGE, "move it elsewhere")
        self.assertEqual((self.staging / "refused.lp").read_text(), first)
        self.assertIn("\nm,source=b v=2\n", (self.staging / "refused-2.lp").read_text())
        self.assertEqual(sorted(item.name for item in self.staging.iterdir()
                                if not item.name.endswith(".lock")),
                         ["refused-2.lp", "refused.lp"])
        server.stop()

    def test_records_of_csv_that_are_refused_are_kept_as_comments(self):
        server = self.start()
        path = self.folder / "h.csv"
        path.write_text("time,w\n2023-11-14T22:13:20Z,5\n2023-11-14T25:13:20Z,6\n")
        self.finish(self.backfill(server, path), REFUSED)
        kept = (self.staging / "refused.lp").read_text()
        self.assertIn("\n# the record: 2023-11-14T25:13:20Z,6", kept)
        self.assertTrue(all(line.startswith("#") for line in kept.splitlines()), kept)
        server.stop()

    def test_a_folder_with_other_files_is_refused_and_left_alone(self):
        server = self.start()
        path = self.history("h.lp", 10, points=10)
        self.staging.mkdir()
        for name in ("run-7", "state.json", "lock"):
            (self.staging / name).write_text('{"version": 1, "mine": true}')
            for options in ((), ("--restart",)):
                self.finish(self.backfill(server, path, *options), USAGE, "--staging")
            self.assertEqual([item.name for item in self.staging.iterdir()], [name])
            (self.staging / name).unlink()
        self.finish(self.backfill(server, path), OK, DONE)
        server.stop()

    def test_it_does_not_go_on_at_another_server(self):
        server, other = self.start(), self.start("other")
        path = self.history("h.lp", 11, points=2000)
        self.half(server, path)
        self.finish(self.backfill(other, path), USAGE, "to another server", "--restart")
        self.finish(self.backfill(server, path), OK, DONE)
        self.assertEqual(other.rows(metric="*"), [])
        for each in (server, other):
            each.stop()

    def test_text_that_is_not_utf8_does_not_stop_it(self):
        server = self.start()
        path = self.folder / "h.csv"
        long = b"\xc3\xa4" * 200
        path.write_bytes(b"time,w\n2023-11-14T22:13:20Z,5\n\xff\xfe,6\nx" + long + b",7\n" +
                         long + b",8\n")
        name = self.folder.joinpath("h\udcff.lp")
        name.write_text("m,source=a v=x\n")
        self.finish(self.backfill(server, path, name), REFUSED)
        server.stop()


if __name__ == "__main__":
    unittest.main()
