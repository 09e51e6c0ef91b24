"""Files of object stores and web servers: rows, pruning, errors and secrets."""

from __future__ import annotations

import base64
import datetime as dt
import gzip
import io
import logging
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs, ipc

import whimbrel as wb
from tests.engine.connect.feeds.pages import pages
from tests.engine.connect.s3_server import SECRET, S3Server, s3_server
from whimbrel import col
from whimbrel.errors import SourceError

LINES = b"".join(b"%d,%d\n" % (at, at * 2) for at in range(1000))
JSON = b"".join(b'{"at": %d, "x": %d}\n' % (at, at * 2) for at in range(1000))
TABLE = pa.table({"at": range(1000), "x": range(0, 2000, 2)})


def parquet(table: pa.Table) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out, row_group_size=100)
    return out.getvalue()


def arrow(table: pa.Table) -> bytes:
    out = io.BytesIO()
    with ipc.new_file(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server() as started:
        started.client.create_bucket(Bucket="logs")
        started.client.create_bucket(Bucket="empty")
        files = {f"hive/day=2024-01-{part + 1:02}/part-{part}.parquet": parquet(TABLE.slice(part * 100, 100))
                 for part in range(10)}
        files |= {"csv/b.csv": b"at,x\n" + LINES, "csv/_old/a.csv": b"",
                  "gz/b.csv.gz": gzip.compress(b"at,x\n" + LINES), "json/a b.jsonl": JSON,
                  "capitals/B.CSV.GZ": gzip.compress(b"at,x\n" + LINES),
                  "arrow/a.arrow": arrow(TABLE), "plain/log.parquet": parquet(TABLE)}
        for key, data in files.items():
            started.client.put_object(Bucket="logs", Key=key, Body=data)
        yield started


@pytest.mark.parametrize(("read", "path"), [
    (wb.read_parquet, "logs/hive"), (wb.read_parquet, "logs/hive/"), (wb.read_parquet, "logs/hive/*/part-?.parquet"),
    (wb.read_parquet, "logs/**/part-[0-9].parquet"), (wb.read_parquet, "logs/plain/log.parquet"),
    (wb.read_csv, "logs/csv"), (wb.read_csv, "logs/gz/b.csv.gz"), (wb.read_json, "logs/json/a b.jsonl"),
    (wb.read_csv, "logs/capitals"),
    (wb.read_ipc, "logs/arrow")])
def test_files_of_a_bucket_give_the_rows_of_local_files(server: S3Server, read: Any, path: str) -> None:
    address = server.address(path.replace("part-?", "part-*"))
    log = read(address, time="at")
    assert log.select("x").collect()["x"].to_pylist() == TABLE["x"].to_pylist()
    assert log.where(col.at >= 950).collect().num_rows == 50


def test_a_list_may_mix_addresses(server: S3Server, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("at,x\n-1,5\n")
    log = wb.read_csv([tmp_path / "a.csv", server.address("logs/csv/b.csv").replace("s3:", "s3a:")], time="at")
    assert log.select("x").collect()["x"].to_pylist()[:3] == [5, 0, 2]


def test_conditions_skip_files_and_row_groups_of_a_bucket(server: S3Server) -> None:
    whole = wb.read_parquet(server.address("logs/plain/log.parquet"), time="at").where(col.x >= 1500)
    assert "3 of 10 row groups" in str(whole.explain())
    folders = wb.read_parquet(server.address("logs/hive"), time="at")
    days = folders.where((col.day >= dt.date(2024, 1, 9)) & (col.day < dt.date(2024, 1, 11)))
    assert "2 of 10 row groups" in str(days.explain())
    assert folders.node.op.rows == 1000


def test_a_progressive_query_reads_blocks_of_a_bucket(server: S3Server) -> None:
    log = wb.read_parquet(server.address("logs/plain/log.parquet"), time="at")
    *_, last = log.tumbling_window(1000).aggregate(total=wb.sum(col.x)).progressive(every=200)
    assert last.table["total"].to_pylist() == [sum(range(0, 2000, 2))]


@pytest.mark.parametrize(("path", "what", "hint"), [
    ("nothing/log.parquet", "There is no bucket 'nothing'", "name of the bucket"),
    ("nothing/*.parquet", "There is no bucket 'nothing'", "name of the bucket"),
    ("logs/plain/lg.parquet", "There is no file 's3://logs/plain/lg.parquet'", "Use 'log.parquet'"),
    ("logs/csv", "There is no .parquet file in 's3://logs/csv'", ""), ("empty", "There is no .parquet file in", ""),
    ("logs/*/x.parquet", "No file matches", "pattern"), ("l*/x.parquet", "must not be a pattern", "after the name"),
    ("logs/csv/b.csv", "cannot be read as Parquet", "complete")])
def test_what_is_missing_in_a_bucket_is_named(server: S3Server, path: str, what: str, hint: str) -> None:
    with pytest.raises(SourceError) as caught:
        wb.read_parquet(server.address(path), time="at")
    assert what in caught.value.what
    assert hint in caught.value.hint
    assert SECRET not in str(caught.value)
    assert "ann:" not in str(caught.value)


@pytest.mark.parametrize("path", ("logs/csv", "logs/csv/b.csv", "logs/csv/*.csv"))
def test_a_key_without_permissions_is_named(server: S3Server, path: str) -> None:
    system = fs.S3FileSystem(**server.key_without_permissions()) if path == "logs/csv" else None
    log = wb.read_csv(server.address(path), time="at")
    with server.checks_permissions():
        with pytest.raises(SourceError, match=re.escape(f"denied access to 's3://{path}'")) as caught:
            wb.read_csv(path if system else server.address(path), time="at", filesystem=system)
        assert "s3:GetObject" in caught.value.hint
        with pytest.raises(SourceError, match=r"denied access to 's3://logs/csv/b\.csv'"):
            log.collect()


def test_a_file_that_was_replaced_after_it_was_opened_is_refused(server: S3Server) -> None:
    server.client.put_object(Bucket="logs", Key="new/a.csv", Body=b"at,x\n1,2\n")
    server.client.put_object(Bucket="logs", Key="new/a.parquet", Body=parquet(TABLE.slice(0, 10)))
    logs = [wb.read_csv(server.address("logs/new/a.csv"), time="at"),
            wb.read_parquet(server.address("logs/new/a.parquet"), time="at")]
    server.client.put_object(Bucket="logs", Key="new/a.csv", Body=b"at,x\n1,2\n3,4\n")
    server.client.put_object(Bucket="logs", Key="new/a.parquet", Body=parquet(TABLE))
    for log in logs:
        with pytest.raises(SourceError, match=r"'s3://logs/new/a\.\w+' changed after it was opened"):
            log.collect()


def test_no_text_of_a_query_has_the_key(server: S3Server, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    server.client.put_object(Bucket="logs", Key="bad/a.csv", Body=b"at,x\n1,2\n2,bad\n3,4\n")
    log = wb.read_csv(server.address("logs/bad/a.csv"), time="at", schema={"x": "int64"})
    query = log.where(col.x > 0).tumbling_window(2).aggregate(n=wb.count())
    with caplog.at_level(logging.DEBUG):
        query.start(sink=wb.sinks.parquet(tmp_path / "out"), checkpoints=wb.Checkpoints(tmp_path / "state")).wait()
    source = log.node.op
    texts = [repr(log), repr(query), str(query.explain()), query.python(), query.sql(), repr(source), caplog.text,
             str(source.stamp()), repr(source.paths), str(wb.dead_letters(log).collect().to_pylist())]
    texts += [path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file()]
    assert any("1 malformed lines" in text for text in texts)
    for text in texts:
        assert "ann:" not in text
        assert "sEcReT" not in text


@pytest.mark.parametrize("address", ("s3://ann:sEcReT/12@logs/a.csv", "s3://ann:sEcReT@logs/a.csv?nothing=1",
                                     "gs://ann:sEcReT@logs/a.csv?nothing=1", "what://ann:sEcReT@logs/a.csv"))
def test_an_address_that_cannot_be_used_does_not_show_its_key(address: str) -> None:
    with pytest.raises(SourceError) as caught:
        wb.read_csv(address, time="at")
    assert "sEcReT" not in str(caught.value)
    assert caught.value.hint


def test_an_unknown_option_of_an_address_is_named() -> None:
    with pytest.raises(SourceError, match="s3:// has no option 'endpoint'") as caught:
        wb.read_csv("s3://logs/a.csv?endpoint=localhost:9000", time="at")
    assert "Use 'endpoint_override'" in caught.value.hint


def test_a_file_system_of_fsspec_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    system = fsspec.filesystem("memory")
    system.pipe("/box/day=1/a.csv", b"at,x\n1,2\n")
    for log in (wb.read_csv("box/day=1/a.csv", time="at", filesystem=system), wb.read_csv("memory://box", time="at"),
                wb.read_csv("memory://box/**/*.csv", time="at")):
        assert log.select("x").collect()["x"].to_pylist() == [2]
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(SourceError, match="No file system is known for memory://") as caught:
        wb.read_csv("memory://box", time="at")
    assert "whimbrel[fsspec]" in caught.value.hint
    with pytest.raises(SourceError, match="or fsspec, got str"):
        wb.read_csv("box", time="at", filesystem="s3")


def test_azure_needs_an_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    with pytest.raises(SourceError, match="needs the name of the storage account"):
        wb.read_parquet("az://box/log.parquet", time="at")


@pytest.mark.parametrize(("address", "what", "hint"), [
    ("gs://anonymous@box/x.csv?endpoint_override=127.0.0.1:1&scheme=http&retry_limit_seconds=1",
     r"The server of 'gs://box/x\.csv' does not answer: Could not connect to server\.", "Check the endpoint"),
    ("gs://box/x.csv?retry_limit_seconds=1", r"There are no credentials for 'gs://box/x\.csv'",
     "GOOGLE_APPLICATION_CREDENTIALS"),
    ("abfss://box@account.dfs.core.windows.net/x.csv",
     r"There are no credentials for 'abfss://account\.dfs\.core\.windows\.net/box/x\.csv'", "az login"),
    ("az://box/x.csv", r"There are no credentials for 'az://box/x\.csv'", "AZURE_STORAGE_ACCOUNT_KEY"),
])
def test_stores_of_google_and_azure_that_do_not_answer_or_lack_credentials(
        monkeypatch: pytest.MonkeyPatch, address: str, what: str, hint: str) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
    for name in ("AZURE_STORAGE_ACCOUNT_KEY", "GOOGLE_APPLICATION_CREDENTIALS"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SourceError, match=what) as caught:
        wb.read_csv(address, time="at")
    assert hint in caught.value.hint


def test_a_file_address_is_a_path(tmp_path: Path) -> None:
    (tmp_path / "a b.csv").write_text("at,x\n1,2\n")
    assert wb.read_csv((tmp_path / "a b.csv").as_uri(), time="at").collect().num_rows == 1


class Site:
    """Answers of a web server, with or without ranges, to a user alone."""

    def __init__(self, body: bytes, *, ranges: bool = True, user: str = "") -> None:
        self.body, self.ranges, self.user, self.requests, self.fail = body, ranges, user, 0, 0

    def __call__(self, request: Any) -> tuple[int, dict[str, str], bytes]:
        self.requests += 1
        if self.fail:
            self.fail -= 1
            return 503, {}, b""
        given = request.headers.get("Authorization", "").removeprefix("Basic ")
        if self.user and base64.b64decode(given).decode() != self.user:
            return 401, {}, b""
        if "missing" in request.path:
            return 404, {}, b""
        span = request.headers.get("Range")
        if span is None or not self.ranges:
            return 200, {"Content-Length": str(len(self.body))}, self.body
        first, last = map(int, span.removeprefix("bytes=").split("-"))
        part = self.body[first:last + 1]
        return 206, {"Content-Length": str(len(part)),
                     "Content-Range": f"bytes {first}-{first + len(part) - 1}/{len(self.body)}"}, part


def test_a_web_server_gives_the_parts_that_a_query_needs() -> None:
    wide = pa.table({"at": range(20_000), **{f"c{n}": [n * 1.5 + at for at in range(20_000)] for n in range(5)}})
    site = Site(parquet(wide), user="ann:sEcReT")
    with pages(site) as place:
        address = place.replace("//", "//ann:sEcReT@") + "/log.parquet?token=1234"
        log = wb.read_parquet(address, time="at")
        site.fail = 1  # and tried again
        assert log.where(col.at >= 19_950).select("c1").collect()["c1"].to_pylist() == wide["c1"].to_pylist()[19_950:]
        assert "sEcReT" not in repr(log.node.op.paths) + str(log.node.op.stamp())
        assert "1234" not in repr(log.node.op.paths)
        with pytest.raises(SourceError, match=r"denied access to 'http://127.0.0.1:\d+/rows'") as caught:
            wb.read_parquet(place, time="at")
        assert "user, key or token" in caught.value.hint


def test_a_web_server_without_ranges_gives_text_files_only() -> None:
    site = Site(b"at,x\n" + LINES, ranges=False)
    with pages(site) as address:
        log = wb.read_csv(address + "/log.csv", time="at")
        assert log.select("x").collect()["x"].to_pylist() == TABLE["x"].to_pylist()
        with pytest.raises(SourceError, match="does not support range requests"):
            wb.read_parquet(address + "/log.parquet", time="at")
        with pytest.raises(SourceError, match=r"There is no file 'http://.*/missing\.csv'"):
            wb.read_csv(address + "/missing.csv", time="at")
    with pytest.raises(SourceError, match=r"does not answer: .*refused"):
        wb.read_csv(address, time="at")
