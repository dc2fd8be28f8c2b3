# SPDX-License-Identifier: Apache-2.0
"""The HTTP API over the real program: all paths, their errors, and clients that mean no good."""
import csv
import gzip
import http.client
import io
import json
import random
import shutil
import socket
import struct
import tempfile
import threading
import time
import unittest
import zlib

from varve_process import (ON_CASSANDRA, PATIENCE_S, Client, Varve, VarveTest, embedded_only,
                           in_threads, seed_of_this_run, wait_until, with_parameters)

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND
MIB = 1 << 20


def lines(n, first=0, sources=10):
    """n points of one metric, all different."""
    return "".join(f"pump,unit={i % sources} temperature={i}.5 {START + i * SECOND}\n"
                   for i in range(first, first + n))


class Shared:
    """Stands for a socket whose answers are read one after the other from one buffer."""

    def __init__(self, sock):
        self.file = sock.makefile("rb")
        self.file_close = self.file.close
        self.file.close = lambda: None

    def makefile(self, _mode):
        return self.file


class Raw:
    """A connection for bytes that no library would send."""

    def __init__(self, address, timeout=PATIENCE_S):
        self.socket = socket.create_connection(address, timeout)
        self.shared = None

    def send(self, data):
        """False when the server has closed."""
        try:
            self.socket.sendall(data)
            return True
        except (BrokenPipeError, ConnectionResetError):
            return False

    def answer(self, method="POST"):
        """(status, headers, body) of the next answer, or None when the connection ended."""
        self.shared = self.shared or Shared(self.socket)
        response = http.client.HTTPResponse(self.shared, method=method)
        try:
            response.begin()
            return response.status, response.headers, response.read()
        except (http.client.HTTPException, ConnectionResetError):
            return None

    def rest(self):
        """All that comes until the server closes."""
        data = b""
        try:
            while piece := self.socket.recv(65536):
                data += piece
        except ConnectionResetError:
            pass
        return data

    def close(self):
        if self.shared:
            self.shared.file_close()
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def head(path, method="POST", **headers):
    text = f"{method} {path} HTTP/1.1\r\nHost: test\r\n"
    for name, value in headers.items():
        text += f"{name.replace('_', '-')}: {value}\r\n"
    return (text + "\r\n").encode()


def chunked(body, piece):
    data = b""
    for at in range(0, len(body), piece):
        part = body[at:at + piece]
        data += f"{len(part):x}\r\n".encode() + part + b"\r\n"
    return data + b"0\r\n\r\n"


class HttpTest(VarveTest):
    """One server for all tests of a class: they use tenants of their own."""

    # However long a client that waits its turn takes.
    SERVER_SETTINGS = {"http.idle_max": "10m", "query.time_max": "10m"}

    @classmethod
    def setUpClass(cls):
        cls.shared_folder = tempfile.mkdtemp(prefix="varve-test-")
        cls.addClassCleanup(shutil.rmtree, cls.shared_folder, ignore_errors=True)
        cls.varve = Varve(cls.shared_folder, cls.SERVER_SETTINGS).start()

    @classmethod
    def tearDownClass(cls):
        cls.varve.stop()  # fails on a report of a sanitizer

    def setUp(self):
        super().setUp()
        self.tenant = self.id().split(".")[-1]
        self.client = self.varve.client()
        self.addCleanup(self.client.close)

    def request(self, method, path, body=None, headers=None, **parameters):
        return self.client.request(method, with_parameters(path, parameters), body, headers)

    def raw(self):
        raw = Raw(self.varve.address)
        self.addCleanup(raw.close)
        return raw

    def count(self, tenant=None):
        """Points that a tenant has, by a query."""
        answer = self.client.get("/api/v1/query", tenant=tenant or self.tenant, agg="count",
                                 group_by="all", format="csv")
        if answer.status == 404:
            return 0
        self.assertEqual(answer.status, 200, answer)
        rows = list(csv.DictReader(line for line in io.StringIO(answer.text)
                                   if not line.startswith("#")))
        return sum(int(row["count"]) for row in rows)

    def assert_serves(self):
        """The server answers a stranger, and writes."""
        client = self.varve.client()
        try:
            self.assertEqual(client.get("/ping").status, 204)
            self.assertEqual(client.write("alive v=1", "alive").status, 204)
        finally:
            client.close()


class WriteTest(HttpTest):
    def test_line_protocol(self):
        answer = self.client.write(lines(100), self.tenant)
        self.assertStatus(answer, 204)
        self.assertEqual(answer.headers["X-Varve-Accepted"], "100")
        rows = self.client.rows(self.tenant, metric="pump.temperature")
        self.assertEqual(len(rows), 100)
        self.assertIn(("unit=7", "pump.temperature", START + 17 * SECOND, "17.5"), rows)

    def test_reads_what_was_written(self):
        for i in range(200):
            self.assertStatus(self.client.write(f"m,s=a v={i}i {i}", self.tenant), 204)
            rows = self.client.rows(self.tenant, order="desc", limit=1)
            self.assertEqual(rows, [("s=a", "m.v", i, str(i))])

    def test_again_is_the_same(self):
        for _ in range(3):
            self.assertStatus(self.client.write(lines(50), self.tenant), 204)
        self.assertEqual(self.count(), 50)

    def test_precisions(self):
        units = {"ns": 1, "us": 10 ** 3, "ms": 10 ** 6, "s": 10 ** 9, "m": 60 * 10 ** 9,
                 "h": 3600 * 10 ** 9}
        for word, unit in units.items():
            self.assertStatus(self.client.write(f"m,p={word} v=1 7", self.tenant, word), 204)
            rows = self.client.rows(self.tenant, tag=f"p={word}")
            self.assertEqual(rows[0][2], 7 * unit)
        self.assertStatus(self.client.write("m v=1 7", self.tenant, "fortnights"), 400, "invalid")

    def test_influxdb2_path(self):
        for bucket in (self.tenant, self.tenant + "/autogen"):
            answer = self.request("POST", "/api/v2/write", f"m,b={len(bucket)} v=1 1",
                                  {"Authorization": "Token any"}, bucket=bucket, org="any",
                                  precision="ns")
            self.assertStatus(answer, 204)
        self.assertEqual(self.count(), 2)

    def test_bad_lines_are_single(self):
        body = "m v=1 1\nm v= 2\nm v=3 3\nnonsense\nm v=\"text\",w=5 5\nm v=6 9223372036854775807\n"
        answer = self.client.write(body, self.tenant)
        self.assertStatus(answer, 400, "invalid")
        told = answer.json()
        self.assertEqual(told["accepted"], 3)
        self.assertEqual(told["refused"], {"syntax": 2, "string": 1, "future": 1})
        self.assertEqual([entry["line"] for entry in told["lines"]], [2, 4, 5, 6])
        self.assertTrue(all(entry["detail"] for entry in told["lines"]))
        self.assertIn("line 2", told["error"])
        self.assertEqual(self.count(), 3)

    def test_more_fields_than_fit_stop_nobody(self):
        text = "\n".join("wide,h=a " + ",".join(f"f{line * 1000 + i}={i}i" for i in range(1000))
                         + f" {START + line}" for line in range(5))
        answer = self.client.write(text, self.tenant)
        self.assertStatus(answer, 400, "invalid")
        self.assertEqual(answer.json()["accepted"], 4096)
        self.assertEqual(answer.json()["refused"], {"limit": 904})
        self.assertStatus(self.request("POST", "/api/v1/flush", seal="true"), 204)
        self.assertStatus(self.client.write(lines(10), self.tenant + "2"), 204)

    def test_strings_are_told_in_a_header(self):
        answer = self.client.write('m v=1,state="on",note="a" 1', self.tenant)
        self.assertStatus(answer, 204)
        self.assertEqual(answer.headers["X-Varve-Refused"], "string=2 fields=state,note")

    def test_json_points(self):
        points = [{"measurement": "m", "tags": {"s": "a"}, "time": 7, "fields": {"v": 1.5, "n": 2}},
                  {"measurement": "m", "time": "2023-11-14T22:13:20Z", "fields": {"v": True}}]
        for body in (points, {"points": points}):
            answer = self.request("POST", "/api/v1/points", json.dumps(body), tenant=self.tenant,
                                  precision="s")
            self.assertStatus(answer, 204)
            self.assertEqual(answer.headers["X-Varve-Accepted"], "3")
        self.assertEqual(self.count(), 3)
        points.append({"measurement": "m", "fields": {"v": {"nested": 1}}})
        answer = self.request("POST", "/api/v1/points", json.dumps(points), tenant=self.tenant)
        self.assertStatus(answer, 400, "invalid")
        self.assertEqual(answer.json()["lines"][0]["line"], 3)

    def test_compressed_bodies(self):
        text = lines(5000).encode()
        packed = {"gzip": gzip.compress(text), "deflate": zlib.compress(text), "identity": text}
        for coding, body in packed.items():
            answer = self.request("POST", "/write", body, {"Content-Encoding": coding},
                                  db=self.tenant + coding)
            self.assertStatus(answer, 204)
            self.assertEqual(self.count(self.tenant + coding), 5000)
        half = len(text) // 2
        members = gzip.compress(text[:half]) + gzip.compress(text[half:])
        answer = self.request("POST", "/write", members, {"Content-Encoding": "gzip"},
                              db=self.tenant)
        self.assertEqual(answer.headers["X-Varve-Accepted"], "5000")
        answer = self.request("POST", "/write", text, {"Content-Encoding": "br"}, db=self.tenant)
        self.assertStatus(answer, 415, "unsupported_encoding")

    def test_long_bodies(self):
        n = 300_000
        text = lines(n).encode()
        for body, headers in ((text, {}), (gzip.compress(text, 1), {"Content-Encoding": "gzip"})):
            tenant = self.tenant + str(len(headers))
            answer = self.request("POST", "/write", body, headers, db=tenant)
            self.assertStatus(answer, 204)
            self.assertEqual(answer.headers["X-Varve-Accepted"], str(n))
            self.assertEqual(self.count(tenant), n)

    def test_many_writers_at_once(self):
        def work(number):
            client = self.varve.client()
            for i in range(20):
                answer = client.write(lines(50, first=(number * 20 + i) * 50), self.tenant)
                self.assertStatus(answer, 204)
            client.close()
        in_threads([lambda number=number: work(number) for number in range(20)])
        self.assertEqual(self.count(), 20 * 20 * 50)

    def test_accounts_add_up(self):
        self.client.write(lines(10) + "bad\n" + 'm v="s",w=1 1\n', self.tenant)
        tenants = self.client.get("/api/v1/tenants").json()["tenants"]
        account = next(t["account"] for t in tenants if t["tenant"] == self.tenant)
        self.assertEqual(account["received"], 13)
        self.assertEqual(account["accepted"], 11)
        self.assertEqual(account["refused"], {"syntax": 1, "string": 1})


class QueryTest(HttpTest):
    def setUp(self):
        super().setUp()
        self.assertStatus(self.client.write(lines(1000), self.tenant), 204)

    def test_answers_parse(self):
        for path in ("query", "latest", "sources", "metrics", "tags"):
            answer = self.client.get("/api/v1/" + path, tenant=self.tenant)
            self.assertStatus(answer, 200)
            self.assertEqual(answer.headers["Content-Type"], "application/json")
            self.assertTrue(answer.json()["facts"]["complete"])
            answer = self.client.get("/api/v1/" + path, tenant=self.tenant, format="csv")
            self.assertStatus(answer, 200)
            self.assertTrue(list(csv.reader(io.StringIO(answer.text))))
            answer = self.request("HEAD", "/api/v1/" + path, tenant=self.tenant)
            self.assertEqual((answer.status, answer.body), (200, b""))

    def test_forms_of_a_request(self):
        path = "/api/v1/query"
        wanted = {"tenant": self.tenant, "metric": "pump.temperature", "tag": ["unit=1|2"],
                  "order": "desc", "limit": 3, "format": "csv"}
        expected = self.client.get(path, **wanted)
        self.assertStatus(expected, 200)
        self.assertEqual(len(expected.text.splitlines()), 1 + 2 * 3)
        form = with_parameters("", wanted)[1:]
        answers = [
            self.request("POST", path, form, {"Content-Type": "application/x-www-form-urlencoded"}),
            self.request("POST", path, json.dumps(wanted), {"Content-Type": "application/json"}),
            self.request("POST", path, json.dumps(wanted)),
            self.request("GET", path, None, {"Accept": "text/csv"}, u="any", p="any", pretty="true",
                         **{k: v for k, v in wanted.items() if k != "format"}),
        ]
        for answer in answers:
            self.assertStatus(answer, 200)
            self.assertEqual(answer.body, expected.body)

    def test_errors_have_a_status(self):
        get = self.client.get
        self.assertStatus(get("/api/v1/query", tenant="nobody"), 404, "not_found")
        self.assertStatus(get("/api/v1/query", tenant=self.tenant, metric="nope"), 404, "not_found")
        self.assertStatus(get("/api/v1/query", tenant=self.tenant, agg="average"), 400, "invalid")
        answer = get("/api/v1/query", tenant=self.tenant, metrik="x")
        self.assertStatus(answer, 400, "invalid")
        self.assertIn("metric", answer.json()["message"])
        self.assertStatus(self.request("POST", "/api/v1/query", "{", tenant=self.tenant), 400)
        self.assertStatus(self.request("DELETE", "/api/v1/query"), 405, "method_not_allowed")

    def test_gzip_answers(self):
        plain = self.client.get("/api/v1/query", tenant=self.tenant, format="csv")
        answer = self.request("GET", "/api/v1/query", None, {"Accept-Encoding": "gzip"},
                              tenant=self.tenant, format="csv")
        self.assertEqual(answer.headers["Content-Encoding"], "gzip")
        self.assertLess(len(answer.body), len(plain.body))
        self.assertEqual(gzip.decompress(answer.body), plain.body)

    def test_long_answers_and_slow_readers(self):
        tenant = self.tenant + "_long"
        for first in range(0, 400_000, 100_000):
            self.assertStatus(self.client.write(lines(100_000, first), tenant), 204)
        raws = [self.raw() for _ in range(10)]
        for raw in raws:  # none of them reads
            raw.send(head(f"/api/v1/query?tenant={tenant}&format=csv", "GET"))
        answer = self.client.get("/api/v1/query", tenant=self.tenant, limit=1, format="csv")
        self.assertStatus(answer, 200)  # no thread is theirs
        for raw in raws[:5]:
            status, _, body = raw.answer("GET")
            self.assertEqual(status, 200)
            self.assertEqual(body.count(b"\n"), 400_001)
        for raw in raws[5:]:
            raw.close()
        wait_until(lambda: self.client.metrics().sum("varve_http_queries") == 0,
                   "the queries of those who have gone end")


class AdministrationTest(HttpTest):
    def test_root_and_unknown_paths(self):
        about = self.client.get("/").json()
        self.assertEqual(about["name"], "varve")
        answer = self.client.get("/api/v3/anything")
        self.assertStatus(answer, 404, "not_found")
        listed = {row["path"] for row in about["paths"]}
        self.assertEqual(set(answer.json()["paths"]), listed)
        answer = self.request("PATCH", "/write")
        self.assertStatus(answer, 405)
        self.assertEqual(answer.headers["Allow"], "POST")

    def test_health(self):
        answer = self.client.get("/ping")
        self.assertStatus(answer, 204)
        self.assertTrue(answer.headers["X-Influxdb-Version"].startswith("1.8"))
        self.assertEqual(self.client.get("/health").json()["status"], "pass")
        self.assertEqual(self.client.get("/ready").json()["status"], "ready")
        self.assertStatus(self.request("HEAD", "/ping"), 204)

    def test_metrics_page(self):
        self.client.write("m v=1", self.tenant)
        metrics = wait_until(lambda: self.page_with_write(), "the write is counted")
        names = {name for name, _, _ in metrics.samples}
        for name in ("varve_points_accepted_total", "varve_http_requests_total",
                     "varve_http_request_seconds_count", "varve_http_connections",
                     "process_resident_memory_bytes"):
            self.assertIn(name, names)
        text = self.client.get("/metrics").text
        kinds = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
        self.assertEqual(len(kinds), len(set(kinds)), "a metric is described twice")
        series = [line.rsplit(" ", 1)[0] for line in text.splitlines() if not line.startswith("#")]
        self.assertEqual(len(series), len(set(series)), "a series is given twice")

    def page_with_write(self):
        metrics = self.client.metrics()
        found = metrics.get("varve_http_requests_total", path="/write", code="204")
        return metrics if found else None

    def test_units(self):
        self.client.write("pump temperature=1,starts=2i", self.tenant)
        answer = self.request("PUT", "/api/v1/metrics", json.dumps(
            [{"metric": "pump.temperature", "unit": "°C", "description": "outlet"}]),
            tenant=self.tenant)
        self.assertEqual(answer.json(), {"changed": 1})
        answer = self.request("POST", "/api/v1/metrics", "metric,unit,description\npump.starts,1,\n",
                              {"Content-Type": "text/csv"}, tenant=self.tenant)
        self.assertEqual(answer.json(), {"changed": 1})
        listed = self.client.get("/api/v1/metrics", tenant=self.tenant).json()["metrics"]
        units = {row["metric"]: (row["unit"], row["description"]) for row in listed}
        self.assertEqual(units, {"pump.temperature": ("°C", "outlet"), "pump.starts": ("1", "")})
        answer = self.request("PUT", "/api/v1/metrics", json.dumps(
            [{"metric": "no.such", "unit": "x"}, {"metric": "pump.starts", "unit": "2"}]),
            tenant=self.tenant)
        self.assertStatus(answer, 404, "not_found")
        self.assertEqual(answer.json()["changed"], 1)
        self.assertEqual(answer.json()["failed"][0]["metric"], "no.such")

    def test_tenants(self):
        about = {"tenant": self.tenant, "retention": "30d"}
        answer = self.request("PUT", "/api/v1/tenants", json.dumps(about))
        self.assertEqual(answer.json(), {"changed": 1})

        def retention():
            tenants = self.client.get("/api/v1/tenants").json()["tenants"]
            return next(t["retention"] for t in tenants if t["tenant"] == self.tenant)
        self.assertEqual(retention(), "30d")
        old = self.client.write("m v=1 1000000000", self.tenant)
        self.assertEqual(old.json()["refused"], {"retention": 1})
        self.assertStatus(self.client.set_tenant(self.tenant, "forever"), 200)
        self.assertEqual(retention(), "forever")
        self.assertStatus(self.client.write("m v=1 1000000000", self.tenant), 204)
        self.assertStatus(self.client.set_tenant(self.tenant, "a while"), 400, "invalid")
        self.assertStatus(self.client.set_tenant("a/b"), 400, "invalid")

    def test_flush(self):
        self.client.write(lines(100), self.tenant)
        for seal in (False, True):
            self.assertStatus(self.client.flush(seal), 204)
            self.assertEqual(self.count(), 100)
        facts = self.client.get("/api/v1/query", tenant=self.tenant).json()["facts"]
        self.assertGreater(facts["pieces_read"], 0)

    def test_influxql_for_loaders(self):
        name = self.tenant + " of mine"
        answer = self.request("POST", "/query", with_parameters("", {
            "q": f'CREATE DATABASE "{name}" WITH DURATION 7d'})[1:],
            {"Content-Type": "application/x-www-form-urlencoded"})
        self.assertEqual(answer.json(), {"results": [{"statement_id": 0}]})
        answer = self.client.get("/query", q="SHOW DATABASES")
        self.assertIn([name], answer.json()["results"][0]["series"][0]["values"])
        answer = self.client.get("/query", q="SELECT * FROM m", db=name)
        self.assertStatus(answer, 400, "invalid")
        self.assertIn("/api/v1/query", answer.json()["error"])


class HostileTest(HttpTest):
    SERVER_SETTINGS = {"http.idle_max": "2s", "http.body_bytes_max": "1MiB",
                       "http.connections_max": 1000, "ingest.batch_bytes_max": "256KiB"}

    def setUp(self):
        super().setUp()
        self.client = self.varve  # a connection for each request: one that is kept may idle too long

    def test_large_bodies(self):
        body = b"\n" * (8 * MIB)
        for _ in range(3):  # the answer is read although the body was not
            with Raw(self.varve.address) as raw:
                self.assertTrue(raw.send(head("/write?db=a", Content_Length=len(body))))
                self.assertTrue(raw.send(body))
                status, _, text = raw.answer()
                self.assertEqual(status, 413)
                self.assertEqual(json.loads(text)["code"], "too_large")
        with Raw(self.varve.address) as raw:
            raw.send(head("/write?db=a", Content_Length=1 << 40, Expect="100-continue"))
            self.assertEqual(raw.answer()[0], 413)
        with Raw(self.varve.address) as raw:
            raw.send(head("/write?db=a", Transfer_Encoding="chunked"))
            raw.send(chunked(body, 100_000))
            self.assertEqual(raw.answer()[0], 413)
        with Raw(self.varve.address) as raw:
            raw.send(head("/api/v1/query", Content_Length=2 * MIB))
            raw.send(body[:2 * MIB])
            self.assertEqual(raw.answer()[0], 413)
        self.assert_serves()

    def test_gzip_bomb(self):
        bomb = gzip.compress(b"\n" * (200 * MIB), 9)
        self.assertLess(len(bomb), MIB)
        before = self.varve.resident_bytes()
        answer = self.request("POST", "/write", bomb, {"Content-Encoding": "gzip"}, db=self.tenant)
        self.assertStatus(answer, 413, "too_large")
        self.assertLess(self.varve.resident_bytes(), before + 64 * MIB)
        # Within the limit it is only a long body.
        text = lines(100_000).encode()
        answer = self.request("POST", "/write", gzip.compress(text), {"Content-Encoding": "gzip"},
                              db=self.tenant)
        self.assertStatus(answer, 204)
        self.assertEqual(self.count(), 100_000)

    def test_damaged_gzip(self):
        packed = gzip.compress(lines(1000).encode())
        answer = self.request("POST", "/write", packed[:-100], {"Content-Encoding": "gzip"},
                              db=self.tenant)
        self.assertStatus(answer, 400, "invalid")
        stored = answer.json()["accepted"]
        self.assertEqual(self.count(), stored)
        self.assertLess(stored, 1000)
        random.Random(4).shuffle(garbled := bytearray(packed))
        answer = self.request("POST", "/write", bytes(packed[:10] + garbled),
                              {"Content-Encoding": "gzip"}, db="garbled")
        self.assertStatus(answer, 400, "invalid")

    def test_headers_without_end(self):
        for request in (b"GET /" + b"a" * (4 * MIB) + b" HTTP/1.1\r\n\r\n",
                        b"GET /ping HTTP/1.1\r\nX: " + b"a" * (4 * MIB) + b"\r\n\r\n",
                        b"GET /ping HTTP/1.1\r\n" + b"X: y\r\n" * 500_000 + b"\r\n",
                        b"GET /ping?" + b"a=b&" * 500_000 + b" HTTP/1.1\r\nHost: t\r\n\r\n"):
            with Raw(self.varve.address) as raw:
                raw.send(request)
                answer = raw.rest()
                if answer:
                    self.assertRegex(answer[:20], rb"HTTP/1.1 4\d\d")
        self.assert_serves()

    def test_slow_loris(self):
        """Connections that send a byte now and then are cut off, and hinder nobody meanwhile."""
        raws = [self.raw() for _ in range(200)]
        kinds = [b"GET /ping HTTP/1.1\r\nX: ", head("/write?db=slow", Content_Length=100_000)]
        for i, raw in enumerate(raws):
            raw.send(kinds[i % 2])
        open_ones = list(raws)

        def drip():
            self.assert_serves()
            for raw in list(open_ones):
                if not raw.send(b"a"):
                    open_ones.remove(raw)
            time.sleep(0.2)
            return not open_ones
        wait_until(drip, "slow clients are cut off")

    def test_idle_connections_are_closed(self):
        raw = self.raw()
        self.assertEqual(raw.rest(), b"")  # the server ends it

    def test_chunked_bodies(self):
        for piece in (1, 7, 1000, 1 << 20):
            with Raw(self.varve.address) as raw:
                raw.send(head(f"/write?db={self.tenant}{piece}", Transfer_Encoding="chunked"))
                raw.send(chunked(lines(500).encode(), piece))
                self.assertEqual(raw.answer()[0], 204)
            self.assertEqual(self.count(self.tenant + str(piece)), 500)
        for bad in (b"zz\r\n", b"-5\r\n", b"5\r\nhelloworld\r\n", b"ffffffffffffffffff\r\n",
                    b"5;" + b"x" * 400_000):
            with Raw(self.varve.address) as raw:
                raw.send(head("/write?db=bad", Transfer_Encoding="chunked"))
                raw.send(bad)
                raw.socket.shutdown(socket.SHUT_WR)
                answer = raw.rest()
                if answer:
                    self.assertRegex(answer[:20], rb"HTTP/1.1 [45]\d\d")
        self.assert_serves()

    def test_pipelining(self):
        raw = self.raw()
        requests = b""
        for i in range(200):
            body = f"m v={i} {i}\n".encode()
            requests += head(f"/write?db={self.tenant}", Content_Length=len(body)) + body
            requests += head("/ping", "GET")
            requests += head(f"/api/v1/query?tenant={self.tenant}&format=csv", "GET")
        threading.Thread(target=raw.send, args=(requests,)).start()
        for i in range(200):
            self.assertEqual(raw.answer()[0], 204)
            self.assertEqual(raw.answer("GET")[0], 204)
            status, _, body = raw.answer("GET")
            self.assertEqual((status, body.count(b"\n")), (200, i + 2))

    def test_early_close(self):
        """Closed at random points of a request or its answer; nothing leaks, nothing breaks."""
        generator = random.Random(seed_of_this_run())
        long = lines(20_000).encode()
        packed = gzip.compress(long, 1)
        self.assertStatus(self.client.write(long, self.tenant), 204)
        requests = [
            head("/write?db=early", Content_Length=len(long)) + long,
            head("/write?db=early", Transfer_Encoding="chunked") + chunked(long, 5000),
            head("/write?db=early", Content_Length=len(packed), Content_Encoding="gzip") + packed,
            head(f"/api/v1/query?tenant={self.tenant}", "GET"),
            head(f"/api/v1/query?tenant={self.tenant}", "GET", Accept_Encoding="gzip"),
            head("/query?q=CREATE%20DATABASE%20early", "GET"),
            head("/api/v1/flush", "POST"),
        ]
        for _ in range(300):
            request = generator.choice(requests)
            reads = request.startswith(b"GET /api") and generator.random() < 0.5
            with Raw(self.varve.address) as raw:
                raw.send(request if reads else request[:generator.randrange(len(request) + 1)])
                if reads:
                    raw.socket.recv(generator.randrange(1, 100_000))
                if generator.random() < 0.5:  # a reset instead of an end
                    raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                          struct.pack("ii", 1, 0))
        self.assert_serves()
        self.varve.wait_metric(lambda now: now.sum("varve_http_connections") <= 2 and
                               now.sum("varve_http_queries") == 0, "all that was begun ends")
        # Only whole lines were stored: every value is the one that was sent for its time.
        for source, _, at, value in self.varve.rows("early"):
            number = (at - START) // SECOND
            self.assertEqual((source, value), (f"unit={number % 10}", f"{number}.5"))

    def test_garbage(self):
        generator = random.Random(seed_of_this_run())
        words = [b"GET", b"POST", b" ", b"/", b"/write?db=g", b"HTTP/1.1", b"\r\n", b"\n", b":",
                 b"Content-Length", b"5", b"Transfer-Encoding: chunked", b"\0", b"\xff", b"%zz",
                 b"Expect: 100-continue", b"m v=1", b"Host: x", b"Content-Encoding: gzip"]
        raws = []
        for _ in range(500):
            data = b"".join(generator.choice(words) for _ in range(generator.randrange(40)))
            raws.append(self.raw())
            raws[-1].send(data)
            raws[-1].socket.shutdown(socket.SHUT_WR)
        for raw in raws:
            raw.rest()
        self.assert_serves()


class LimitTest(VarveTest):
    def test_many_connections(self):
        server = self.server(settings={"http.connections_max": 1000}).start()
        raws = [Raw(server.address) for _ in range(500)]
        for _ in range(2):
            for i, raw in enumerate(raws):
                body = f"m,s={i} v=1 {i}\n".encode()
                raw.send(head("/write?db=many", Content_Length=len(body)) + body)
            for raw in raws:
                self.assertEqual(raw.answer()[0], 204)
        for raw in raws:
            raw.close()
        self.assertEqual(len(server.rows("many")), 500)
        server.stop()

    def test_a_slow_reader_that_goes_on_gets_all(self):
        """For longer than http.idle_max, but with no pause as long; after one that the machine makes it
        reads what it would have read meanwhile."""
        idle_max_s = 5
        server = self.server(settings={"http.idle_max": f"{idle_max_s}s"}).start()
        n = 200_000
        self.assertStatus(server.write(lines(n), "slow"), 204)
        with Raw(server.address) as raw:
            raw.send(head("/api/v1/query?tenant=slow&format=csv", "GET", Connection="close"))
            data = raw.socket.recv(1)
            begun = time.monotonic()
            while (passed := time.monotonic() - begun) < 1.6 * idle_max_s:
                data += raw.socket.recv(max(1, int(passed * 160_000) - len(data)))
                time.sleep(0.05)
            data += raw.rest()
        self.assertEqual(data.count(b"pump.temperature"), n, data[-300:])
        self.assertGreater(len(data), 6 * MIB)  # more than kernels keep for a connection
        server.stop()

    def test_no_more_connections_than_allowed(self):
        server = self.server(settings={"http.connections_max": 8, "http.threads": 2}).start()
        raws = [Raw(server.address) for _ in range(30)]  # the rest waits in the queue
        time.sleep(0.2)
        for raw in raws:
            raw.close()
        wait_until(lambda: server.get("/ping").status == 204, "it serves again")
        server.stop()

    def test_no_more_queries_than_allowed(self):
        server = self.server(settings={"query.concurrent_max": 2}).start()
        server.write(lines(300_000), "t")
        raws = [Raw(server.address) for _ in range(2)]
        for raw in raws:
            raw.send(head("/api/v1/query?tenant=t", "GET"))
        wait_until(lambda: server.metrics().sum("varve_http_queries") == 2, "both run")
        answer = server.get("/api/v1/query", tenant="t")
        self.assertStatus(answer, 503, "overload")
        self.assertGreater(int(answer.headers["Retry-After"]), 0)
        for raw in raws:
            raw.close()
        wait_until(lambda: server.get("/api/v1/query", tenant="t", limit=1).status == 200,
                   "there is room again")
        server.stop()

    def kept(self, server, tenant):
        tenants = server.get("/api/v1/tenants").json()["tenants"]
        return next((t["retention"], t["tiers"]) for t in tenants if t["tenant"] == tenant)

    def test_new_tenants_are_kept_as_the_settings_say(self):
        settings = {"retention.raw": "3d"}
        tiers = {}
        if not ON_CASSANDRA:
            settings["tiers.default"] = "true"
            tiers = {"minute": "30d", "hour": "365d", "day": "forever"}
        server = self.server(settings=settings).start()
        self.assertStatus(server.write("m v=1", "a"), 204)
        self.assertStatus(server.set_tenant("b", "5d"), 200)
        for _ in range(2):
            self.assertEqual(self.kept(server, "a"), ("3d", tiers))
            self.assertEqual(self.kept(server, "b"), ("5d", tiers))
            server.kill().start()
        old = server.write(f"m v=1 {time.time_ns() - 4 * 86400 * 10**9}", "a")
        self.assertEqual(old.json()["refused"], {"retention": 1})
        server.stop()

    @embedded_only("other classes of retention would be needed there; see cassandra/test_tiers.py")
    def test_tiers(self):
        server = self.server().start()

        def put(**about):
            return server.request("PUT", "/api/v1/tenants", json.dumps({"tenant": "t"} | about))
        self.assertStatus(put(retention="1d", tiers="default"), 400, "invalid")
        self.assertEqual(self.kept(server, "t"), ("forever", {}))
        self.assertStatus(put(retention="7d", tiers="default"), 200)
        tiers = {"minute": "30d", "hour": "365d", "day": "forever"}
        self.assertEqual(self.kept(server, "t"), ("7d", tiers))
        self.assertStatus(put(retention="1d"), 400, "invalid")
        self.assertStatus(put(tiers={"hour": "off", "day": "off"}), 200)
        server.kill().start()
        self.assertEqual(self.kept(server, "t"), ("7d", {"minute": "30d"}))
        # On again, as soon as what it had is gone.
        wait_until(lambda: put(tiers={"hour": "90d"}).status == 200, "the hours are on again")
        self.assertEqual(self.kept(server, "t"), ("7d", {"minute": "30d", "hour": "90d"}))
        self.assertStatus(put(retention="12h", tiers="off"), 200)
        self.assertEqual(self.kept(server, "t"), ("12h", {}))
        server.stop()

    def test_no_more_tenants_than_allowed(self):
        server = self.server(settings={"limits.tenants_max": 2}).start()
        self.assertStatus(server.write("m v=1", "a"), 204)
        self.assertStatus(server.write("m v=1", "b"), 204)
        self.assertStatus(server.write("m v=1", "c"), 403, "limit_reached")
        server.stop()

    def test_stop_finishes_what_is_under_way(self):
        server = self.server().start()
        server.write(lines(300_000), "t")
        raw = Raw(server.address)
        raw.send(head("/api/v1/query?tenant=t&format=csv", "GET"))
        raw.socket.recv(1000)
        half = Raw(server.address)
        body = lines(1000).encode()
        # "100 Continue" says that the request has begun: a connection alone may not be read yet.
        half.send(head("/write?db=u", Content_Length=len(body), Expect="100-continue"))
        self.assertEqual(half.socket.recv(25), b"HTTP/1.1 100 Continue\r\n\r\n")
        server.terminate()
        half.send(body[:100])
        server.wait_for_log("stopping")
        half.send(body[100:])
        self.assertEqual(half.answer()[0], 204)
        self.assertEqual(raw.rest()[-100:].count(b"\n") > 0, True)
        half.close()
        raw.close()
        self.assertEqual(server.wait_exit(), 0)
        server.start()
        self.assertEqual(len(server.rows("u")), 1000)
        server.stop()

    def test_listens_on_ipv6(self):
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError:
            self.skipTest("this machine has no IPv6")
        server = self.server(settings={"http.listen": "[::1]:0"})
        command = server.command()
        at = command.index("--listen")
        server.command = lambda: command[:at] + command[at + 2:]
        server.launch()
        match = server.wait_for_log(r"listening address=\[::1\]:(\d+)")
        client = Client(("::1", int(match.group(1))))
        self.assertEqual(client.get("/ping").status, 204)
        client.close()
        server.wait_for_log("info ready ")
        server.stop()

    def test_port_in_use(self):
        first = self.server("first").start()
        second = self.server("second")
        command = second.command()
        command[command.index("--listen") + 1] = f"127.0.0.1:{first.address[1]}"
        second.command = lambda: command
        second.launch()
        self.assertNotEqual(second.wait_exit(), 0)
        self.assertIn("in use", second.log())
        first.stop()

    def test_warns_when_anyone_can_reach_it(self):
        server = self.server()
        command = server.command()
        command[command.index("--listen") + 1] = "0.0.0.0:0"
        server.command = lambda: command
        server.launch()
        server.wait_for_log("warn no_authentication ")
        server.wait_for_log("info ready ")
        server.stop()


if __name__ == "__main__":
    unittest.main()
