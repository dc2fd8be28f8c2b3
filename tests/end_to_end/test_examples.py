# SPDX-License-Identifier: Apache-2.0
"""The examples run, and show what they say: checked against their own data."""
import csv
import os
import pathlib
import re
import subprocess
import unittest

from varve_process import PATIENCE_S, PROGRAM, embedded_only

ROOT = pathlib.Path(__file__).resolve().parents[2]


def taxi():
    """Passengers by half hour: the time as in the file."""
    with open(ROOT / "examples" / "data" / "nyc_taxi.csv", encoding="ascii") as file:
        return {row["timestamp"]: int(row["value"]) for row in csv.DictReader(file)}


@embedded_only("it starts a server of its own")
class Resolutions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        done = subprocess.run([ROOT / "examples" / "resolutions.sh"], capture_output=True,
                              text=True, timeout=PATIENCE_S, check=False,
                              stdin=subprocess.DEVNULL,
                              env={**os.environ, "VARVE": PROGRAM, "LC_ALL": "C.UTF-8"})
        if done.returncode != 0:
            raise AssertionError(f"exit code {done.returncode}:\n{done.stdout}{done.stderr}")
        cls.answers = re.split(r"^\$ varve query ", done.stdout, flags=re.MULTILINE)[1:]

    def rows(self, answer):
        """The table: cells by time."""
        found = re.findall(r"^(\d{4}-\S+)Z +(.+)$", self.answers[answer], re.MULTILINE)
        return {time.replace("T", " "): cells.split() for time, cells in found}

    def test_each_resolution_shows_what_the_series_is(self):
        series = taxi()
        self.assertEqual(len(self.answers), 4)
        weeks, days, hours, points = (self.rows(answer) for answer in range(4))
        self.assertEqual(len(weeks), 31)
        last = [value for time, value in series.items() if time >= "2015-01-26"]
        self.assertEqual(weeks["2015-01-26 00:00:00"][1:3], [str(min(last)), str(max(last))])
        self.assertEqual(len(days), 11)
        for time, cells in days.items():
            of_day = [value for at, value in series.items() if at[:10] == time[:10]]
            self.assertAlmostEqual(float(cells[0]), sum(of_day) / len(of_day), delta=0.06)
            self.assertEqual(cells[1:3], [str(min(of_day)), str(max(of_day))])
        self.assertEqual(len(hours), 48)
        for time, cells in hours.items():
            of_hour = [value for at, value in series.items() if at[:13] == time[:13]]
            self.assertEqual(cells, [str(sum(of_hour)), str(max(of_hour))])
        self.assertEqual(points, {time: [str(series[time])] for time in points})
        self.assertEqual(len(points), 24)

    def test_each_answer_names_its_tier(self):
        weeks, days, hours, points = self.answers
        for answer in (weeks, days):
            self.assertRegex(answer, r"(?m)^tier day: \S+Z to \S+Z, \d+ steps of 1d, "
                                     r"sealed until 2015-\S+Z$")
            self.assertIn("\npercentiles are within 1 % of the value\n", answer)
        self.assertRegex(hours, r"(?m)^tier hour: 2015-01-26T00:00:00Z to 2015-01-28T00:00:00Z, "
                                r"kept as points, sealed until 2015-01-28T00:00:00Z$")
        self.assertNotIn("percentiles", hours)
        self.assertNotIn("tier day", hours + points)


if __name__ == "__main__":
    unittest.main()
