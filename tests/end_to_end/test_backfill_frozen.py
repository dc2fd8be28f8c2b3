# SPDX-License-Identifier: Apache-2.0
"""`varve backfill --replace-frozen`: days of which only tiers are left are made of the files alone,
whatever interrupts it, and nothing else changes."""
import csv
import gzip
import io
import json
import random
import shutil
import signal
import subprocess
import time
import unittest

from commands import Commands
from expectation import HOUR, MINUTE, SECOND
from varve_process import PATIENCE_S, PROGRAM, VarveTest, embedded_only, wait_until

DAY = 24 * HOUR
OK, FAILED, USAGE, REFUSED, INTERRUPTED = 0, 1, 2, 3, 130
AGGREGATES = "count,sum,min,max,first,last"
FOREVER = {"minute": "forever", "hour": "forever", "day": "forever"}


def days_ago(n):
    """When the day began."""
    return (time.time_ns() // DAY - n) * DAY


@embedded_only("where nodes share a store it is refused")
class FrozenTest(Commands, VarveTest):
    SETTINGS = {"partition.bucket": "6h", "partition.span": "1h", "seal.quiet": "0s",
                "seal.interval": "200ms", "retention.interval": "1s"}

    def setUp(self):
        super().setUp()
        self.staging = self.folder / "staging"
        self.start = days_ago(60)

    def launch(self, name="server", tiers=None):
        server = self.server(name).stay().start()
        self.assertStatus(server.set_tenant("default", tiers=tiers or FOREVER), 200)
        return server

    def freeze(self, server):
        """All that is older than a week is sealed, and expires but for the tiers."""
        self.assertStatus(server.flush(seal=True), 204)
        self.assertStatus(server.set_tenant("default", "7d"), 200)
        wait_until(lambda: (server.get("/api/v1/replace").json().get("frozen_until_ns") or 0) >=
                   self.start + 10 * DAY, "the days are frozen")

    def file(self, name, lines):
        path = self.folder / name
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    def lines(self, seed, days=3, sources="abc", step=97 * SECOND, fields="vw"):
        """Points of each source, in no order."""
        chance = random.Random(seed)
        lines = []
        for source in sources:
            for at in range(self.start, self.start + days * DAY - step, step):
                values = ",".join(f"{field}={chance.randrange(1000)}i" for field in fields)
                lines.append(f"m,source={source} {values} {at + chance.randrange(step)}")
        chance.shuffle(lines)
        return lines

    def backfill(self, server, *arguments):
        return subprocess.Popen(
            [PROGRAM, "backfill", "--server", "http://%s:%d" % server.address, "--staging",
             str(self.staging), "--replace-frozen", *map(str, arguments)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def steps(self, server, length, days=3, **more):
        """{(source, metric, start): (count, sum, min, max, first, last)} of a tier, of all days."""
        name = {MINUTE: "1m", HOUR: "1h", DAY: "1d"}[length]
        answer = server.get("/api/v1/query", metric="*", step=name, agg=AGGREGATES, format="csv",
                            from_=str(self.start), to=str(self.start + days * DAY),
                            time_format="ns", **more)
        self.assertStatus(answer, 200)
        self.assertNotIn("# error", answer.text)
        rows = csv.reader(line for line in io.StringIO(answer.text) if not line.startswith("#"))
        next(rows)
        return {(source, metric, int(at)): tuple(float(value) for value in values)
                for source, metric, at, *values in rows}

    def expected(self, lines, length):
        """The same of these lines, of which the last of a time counts."""
        points = {}
        for line in lines:
            series, fields, at = line.rsplit(" ", 2)
            measurement, tags = series.split(",", 1)
            for field in fields.split(","):
                name, value = field.split("=")
                points[",".join(sorted(tags.split(","))), f"{measurement}.{name}",
                       int(at)] = float(value.rstrip("i"))
        steps = {}
        for (source, metric, at), value in points.items():
            steps.setdefault((source, metric, at // length * length), []).append((at, value))
        return {key: (len(step), sum(value for _, value in step),
                      min(value for _, value in step), max(value for _, value in step),
                      min(step)[1], max(step)[1]) for key, step in steps.items()}

    def assertSteps(self, server, lines, days=3):
        """Each tier has the steps of exactly these points."""
        for length in (MINUTE, HOUR, DAY):
            found, expected = self.steps(server, length, days), self.expected(lines, length)
            wrong = [(key, found.get(key), expected.get(key))
                     for key in sorted(found.keys() | expected.keys())
                     if found.get(key) != expected.get(key)]
            self.assertFalse(wrong[:3], f"{len(wrong)} steps of {length}, of {len(expected)}")

    def state(self):
        try:
            return json.loads((self.staging / "state.json").read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            return {}

    def on_day(self, line, day):
        at = int(line.rsplit(" ", 1)[1])
        return self.start + day * DAY <= at < self.start + (day + 1) * DAY


class Replaced(FrozenTest):
    def test_whole_days_are_made_of_the_files_alone_and_the_rest_stays(self):
        server = self.launch()
        old = self.lines(1)
        self.assertStatus(server.write(old), 204)
        self.freeze(server)
        self.assertSteps(server, old)
        # Source b on the second day, by fewer points; of a, one metric alone.
        new = [line for line in self.lines(2, sources="b", step=1013 * SECOND)
               if self.on_day(line, 1)]
        only = [line for line in self.lines(3, sources="a", fields="v") if self.on_day(line, 1)]
        out = self.finish(self.backfill(server, self.file("new.lp", new + only)), OK,
                          "were of frozen days")
        self.assertIn("all tiers are built", out)
        stays = [line for line in old if not self.on_day(line, 1) or "=c " in line]
        kept = [f"{line.split(' ')[0]} w={line.split('w=')[1]}" for line in old
                if self.on_day(line, 1) and "=a " in line]
        self.assertSteps(server, stays + new + only + kept)
        self.assertEqual(server.rows(metric="m.*"), [])  # the points themselves are not kept
        self.assertFalse(self.staging.exists())
        # The same once more changes nothing, nor does a start.
        self.finish(self.backfill(server, self.folder / "new.lp"), OK)
        server.kill().start()
        self.assertSteps(server, stays + new + only + kept)
        # What coarser tiers have is what finer ones have.
        rerolled = subprocess.run([PROGRAM, "reroll", "--server", "http://%s:%d" % server.address,
                                   "--check", "--format", "json"], capture_output=True, check=False)
        units = json.loads(rerolled.stdout)["units"]
        self.assertEqual((units["different"], units["missing"]), (0, 0), rerolled)
        self.assertGreater(units["same"], 0)
        server.stop()

    def test_history_of_sources_that_were_never_there_gets_its_tiers(self):
        """Of years ago, where only days are kept; some months, where hours are; and the present."""
        server = self.launch(tiers={"minute": "30d", "hour": "365d", "day": "forever"})
        self.freeze(server)
        ages = {500: ("1d", DAY), 60: ("1h", HOUR), 15: ("1m", MINUTE)}
        begins = {age: self.start + (60 - age) * DAY for age in ages}
        lines = {age: [f"n,host=x,site=y v={i}i {begins[age] + i * 10 * SECOND}"
                       for i in range(8640)] for age in ages}
        now = [f"n,host=x,site=y v=1i {time.time_ns() - HOUR}"]
        path = self.file("years.lp", now + sum(lines.values(), []))
        self.finish(self.backfill(server, path), OK, "25,920 of the points were of frozen days")
        for age, (step, length) in ages.items():
            answer = server.get("/api/v1/query", metric="n.v", step=step, agg="count,sum",
                                from_=str(begins[age]), to=str(begins[age] + DAY)).json()
            self.assertEqual(len(answer["series"]), 1)
            found = answer["series"][0]["points"]
            self.assertEqual((len(found), sum(step[1] for step in found)), (DAY // length, 8640))
        self.assertEqual(len(server.rows(metric="n.v")), 1)
        server.stop()

    def test_tags_in_another_order_are_of_one_source(self):
        """Their lines go in one request: else the second would replace what the first has."""
        server = self.launch()
        self.freeze(server)
        lines = []
        for i in range(2000):
            at = self.start + i * 40 * SECOND
            lines.append((f"m,a={i % 40},b=1 v={i}i {at}", f"m,b=1,a={i % 40} v={i}i {at}")[i // 40 % 2])
        path = self.file("h.lp", lines)
        self.finish(self.backfill(server, path, "--batch-bytes", "1KiB"), OK)
        found = self.steps(server, DAY, days=1)
        self.assertEqual(len(found), 40)
        self.assertEqual({step[0] for step in found.values()}, {50.0})
        server.stop()

    def test_a_deletion_of_before_does_not_take_it_away_and_a_later_one_does(self):
        server = self.launch()
        old = self.lines(4, days=2)
        self.assertStatus(server.write(old), 204)
        self.freeze(server)

        def delete():
            what = {"tag": "source=a", "from": str(self.start), "to": str(self.start + DAY)}
            answer = server.request("POST", "/api/v1/delete", json.dumps(what),
                                    {"Content-Type": "application/json"})
            self.assertStatus(answer, 200)
            return answer

        def count():
            return sum(step[0] for key, step in self.steps(server, DAY, days=2).items())

        before = count()
        delete()
        wait_until(lambda: count() < before, "it is deleted")
        new = self.lines(5, days=1, sources="a")
        path = self.file("new.lp", new)
        self.finish(self.backfill(server, path), OK)
        stays = [line for line in old if self.on_day(line, 1) or "=a " not in line]
        self.assertSteps(server, stays + new, days=2)
        server.kill().start()
        self.assertStatus(server.flush(seal=True), 204)  # also sweeps
        self.assertSteps(server, stays + new, days=2)
        delete()
        wait_until(lambda: len(self.steps(server, DAY, days=1)) == 4, "it is deleted again")
        server.stop()


class Said(FrozenTest):
    def test_a_dry_run_says_what_would_be_replaced_and_changes_nothing(self):
        server = self.launch()
        old = self.lines(6)
        self.assertStatus(server.write(old), 204)
        self.freeze(server)
        new = self.lines(7, sources="ab", days=2)
        live = f"m,source=a v=5i,w=6i {time.time_ns() - HOUR}"
        path = self.file("new.lp", new + [live])
        answer = json.loads(self.finish(self.backfill(server, path, "--dry-run", "--json"), OK))
        self.assertEqual((answer["days"], answer["series_days"], answer["replaced_points"],
                          answer["loaded_points"]), (2, 4, 2 * len(new), 2))
        self.assertSteps(server, old)
        self.finish(self.backfill(server, path, "--dry-run"), OK, "would replace what tiers have of "
                    "4 series and days, on 2 days")
        self.finish(self.backfill(server, path), OK, "goes on with what is in")
        stays = [line for line in old if "=c " in line or self.on_day(line, 2)]
        self.assertSteps(server, stays + new)
        self.assertEqual(len(server.rows(metric="m.v")), 1)
        server.stop()

    def test_days_that_are_not_frozen_are_not_replaced(self):
        server = self.launch()
        self.freeze(server)
        line = f"m,source=a v=1i {days_ago(3)}"
        answer = server.request("POST", "/api/v1/replace", line)
        self.assertStatus(answer, 400)
        self.assertIn("not frozen", answer.text)
        self.assertEqual(answer.json()["refused"], {"retention": 1})
        self.assertEqual(self.steps(server, DAY, days=59), {})
        account = server.get("/api/v1/tenants").json()["tenants"][0]["account"]
        self.assertEqual(account["received"], account["accepted_here"] +
                         sum(account["refused"].values()))
        server.stop()

    def test_a_day_with_a_line_that_is_refused_stays_until_it_is_mended(self):
        """All of the day and series is handed back, with why; other series are replaced."""
        server = self.launch()
        old = self.lines(11)
        self.assertStatus(server.write(old), 204)
        self.freeze(server)
        new = [line for line in self.lines(12) if self.on_day(line, 1)]
        bad = next(i for i, line in enumerate(new) if "=b " in line)
        head, tail = new[bad].split("v=")
        broken = [*new[:bad], f"{head}v=0.5,{tail.split(',')[1]}", *new[bad + 1:]]
        path = self.file("new.lp", broken)
        out = self.finish(self.backfill(server, path, "--json"), REFUSED)
        kept = [line for line in old if not self.on_day(line, 1) or "=b " in line]
        self.assertSteps(server, kept + [line for line in new if "=b " not in line])
        answer = json.loads(out)
        refused = [line for line in broken if "=b " in line]
        self.assertEqual(answer["refused"], {"type": 2 * len(refused)})
        with open(answer["refused_file"], encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertEqual(sorted(line for line in lines if not line.startswith("#")),
                         sorted(refused))
        at = lines.index(broken[bad])
        self.assertIn(f"new.lp:{bad + 1}: type: ", lines[at - 1])
        mended = [new[bad] if line == broken[bad] else line for line in lines]
        path = self.file("mended.lp", mended)
        self.finish(self.backfill(server, path, "--restart"), OK)
        self.assertSteps(server, [line for line in old if not self.on_day(line, 1)] + new)
        server.stop()

    def test_nothing_is_replaced_by_a_part_of_what_the_files_hold(self):
        """Of a line without a time, or of a damaged file, nobody knows which days it lacks."""
        server = self.launch()
        old = self.lines(13)
        self.assertStatus(server.write(old), 204)
        self.freeze(server)
        new = self.lines(14)
        damaged = self.folder / "damaged.lp.gz"
        packed = gzip.compress("\n".join(new).encode())
        damaged.write_bytes(packed[:len(packed) // 2])
        broken = self.file("new.lp", [*new[:100], f"{new[100]}x", *new[101:]])
        for path, why in ((broken, "refused.lp"), (damaged, "a file is damaged")):
            for _ in range(2):  # nor when it is gone on with
                self.finish(self.backfill(server, path), FAILED, "nothing is replaced", why)
            self.assertSteps(server, old)
            shutil.rmtree(self.staging)
        self.finish(self.backfill(server, self.file("new.lp", new)), OK)
        self.assertSteps(server, new)
        server.stop()

    def test_without_the_option_such_days_are_refused(self):
        server = self.launch()
        self.freeze(server)
        path = self.file("h.lp", self.lines(8, days=1, sources="a", step=3600 * SECOND))
        process = subprocess.run(
            [PROGRAM, "backfill", "--server", "http://%s:%d" % server.address, "--staging",
             str(self.staging), path], capture_output=True, text=True, check=False)
        self.assertEqual(process.returncode, REFUSED, process)
        self.assertEqual(self.steps(server, DAY), {})
        server.stop()

    def load(self, server, path, code, name, *arguments):
        process = subprocess.run(
            [PROGRAM, "backfill", "--server", "http://%s:%d" % server.address, "--staging",
             str(self.folder / name), *arguments, path], capture_output=True, text=True,
            check=False)
        self.assertEqual(process.returncode, code, process)
        return process.stdout

    def raw(self, server, source):
        answer = server.get("/api/v1/query", metric="m.*", source=f"source={source}",
                            from_=str(self.start))
        self.assertStatus(answer, 200)
        series = answer.json()["series"]
        return sum(len(one["points"]) for one in series), answer.json()["facts"]

    def test_after_a_longer_retention_only_what_expired_before_is_refused(self):
        """What tiers have of it stays, or is replaced; other sources are loaded file by file."""
        server = self.launch()
        old = self.lines(9, sources="a", step=3600 * SECOND)
        self.assertStatus(server.write("\n".join(old)), 204)
        self.freeze(server)

        def is_lengthened():
            """Points that are too old are hidden, and come back where they are not gone yet."""
            self.assertStatus(server.set_tenant("default", "90d"), 200)
            is_gone = self.raw(server, "a")[0] == 0
            if not is_gone:
                self.assertStatus(server.set_tenant("default", "7d"), 200)
            return is_gone
        wait_until(is_lengthened, "all points are gone")
        facts = self.raw(server, "a")[1]
        self.assertGreaterEqual(facts["expired_before"], time.strftime(
            "%Y-%m-%d", time.gmtime(days_ago(8) // SECOND)))
        hours = {int(line.rsplit(" ", 1)[1]) // HOUR for line in old}
        late = [line for line in self.lines(10, sources="a", step=600 * SECOND, fields="v")
                if int(line.rsplit(" ", 1)[1]) // HOUR in hours]
        new = self.lines(11, sources="b", step=300 * SECOND, fields="v")
        more = self.lines(12, sources="b", step=700 * SECOND, fields="w")
        account = json.loads(self.load(server, self.file("h.lp", late + new), REFUSED, "first",
                                       "--json"))
        self.assertEqual(account["kept"], 0)
        refused = (self.folder / "first/refused.lp").read_text().splitlines()
        self.assertEqual(account["refused"], {"retention": len(late)})
        self.assertLessEqual({line for line in refused if not line.startswith("#")}, set(late))
        self.assertIn("frozen span: what tiers have of it was built of points that have expired",
                      refused[0] + refused[1])
        self.load(server, self.file("more.lp", more), OK, "second")
        self.assertSteps(server, old + new + more)
        self.assertEqual(self.raw(server, "a")[0], 0)
        self.assertEqual(self.raw(server, "b")[0], len(new) + len(more))
        self.assertEqual(server.get("/api/v1/sealing").json()["kept"], 0)
        server.kill()
        server.start()
        again = self.lines(13, sources="b", step=1100 * SECOND, fields="v")
        self.load(server, self.file("again.lp", again), OK, "third")
        self.assertSteps(server, old + new + more + again)
        self.finish(self.backfill(server, self.file("b.lp", new)), REFUSED,
                    "points of it are kept")
        self.assertSteps(server, old + new + more + again)
        shutil.rmtree(self.staging)
        self.finish(self.backfill(server, self.file("a.lp", late)), OK)
        stays = [f"{line.split(' ')[0]} w={line.split('w=')[1]}" for line in old]
        self.assertSteps(server, stays + late + new + more + again)
        server.stop()


class Interrupted(FrozenTest):
    def test_whoever_is_killed_it_ends_as_if_nobody_was(self):
        """The command and the server in turns, in all phases."""
        server = self.launch()
        old = self.lines(9, days=6)
        self.assertStatus(server.write(old), 204)
        self.freeze(server)
        new = self.lines(10, days=6, sources="ab", step=61 * SECOND)
        path = self.file("new.lp", new)
        arguments = (path, "--memory", "64KiB", "--batch-bytes", "1KiB", "--rate", "4000",
                     "--retry", "60s")
        phases = []
        for turn in range(40):
            before = self.state()
            process = self.backfill(server, *arguments)
            wait_until(lambda: process.poll() is not None or self.state() != before,
                       "it goes on a bit")
            phases.append(self.state().get("phase"))
            if turn % 3 == 1:
                server.kill().start()
            process.send_signal(signal.SIGKILL if turn % 2 else signal.SIGINT)
            process.communicate(timeout=PATIENCE_S)
            if process.returncode == OK or self.state().get("phase") == 2:
                break
        self.assertGreaterEqual(phases.count(1), 2)
        if process.returncode != OK:
            self.finish(self.backfill(server, *arguments), OK, "goes on with what is in")
        stays = [line for line in old if "=c " in line]
        self.assertSteps(server, stays + new, days=6)
        server.stop()


if __name__ == "__main__":
    unittest.main()
