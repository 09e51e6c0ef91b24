"""A directory that fills: each file is read once, and what is wrong in one costs itself."""

from __future__ import annotations

import json
import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv, ipc, parquet

import whimbrel as wb
from tests.engine.connect.feeds.listen import lines, reading, rows, until, values
from whimbrel.connect.feeds import Feed

QUICK: Any = {"time": "at", "schema": {"at": "int64", "x": "int64"}, "retry_backoff_s": (0.01, 0.05)}


def put(folder: Path, name: str, *at: int) -> None:
    table = pa.table({"at": list(at), "x": [10 * each for each in at]})
    fresh = folder / f".{name}"
    match fresh.suffix:
        case ".parquet":
            parquet.write_table(table, fresh)
        case ".arrow":
            with ipc.new_file(fresh, table.schema) as file:
                file.write_table(table)
        case ".csv":
            csv.write_csv(table, fresh)
        case _:
            fresh.write_bytes(lines(*at))
    os.utime(fresh, (1, 1))
    fresh.rename(folder / name)


@pytest.mark.fault("directory", "client gone meanwhile")
@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv", "jsonl"])
def test_each_file_is_read_once_also_from_an_offset(tmp_path: Path, suffix: str) -> None:
    put(tmp_path, f"a.{suffix}", 1, 2)
    feed = wb.feeds.directory(tmp_path, time="at", pattern=f"*.{suffix}")
    with reading(feed) as found:
        assert values(found, 2, "at") == [1, 2]
        put(tmp_path, f"b.{suffix}", 3)
        assert values(found, 1, "at") == [3]
        offset = json.loads(json.dumps(found.offset))
    put(tmp_path, f"c.{suffix}", 4)
    with reading(feed, offset) as found:
        assert values(found, 1, "at") == [4]


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_numbers_in_names_count_as_numbers(tmp_path: Path, suffix: str) -> None:
    for at in (10, 9, 100, 1):
        put(tmp_path, f"part-{at}.{suffix}", at)
    feed = wb.feeds.directory(tmp_path, pattern=f"*.{suffix}", **QUICK)
    with reading(feed) as found:
        assert values(found, 4, "at") == [1, 9, 10, 100]


def test_offsets_in_a_directory_share_its_names_and_each_resumes_where_it_is(tmp_path: Path) -> None:
    for at in range(9):
        put(tmp_path, f"{at}.jsonl", at)
    feed = wb.feeds.directory(tmp_path, pattern="*.jsonl", **QUICK)
    source = feed.node.op
    assert isinstance(source, Feed)
    with closing(source.connect(None)) as client:
        deliveries = [client.receive(0) for _ in range(18)]
    offsets = [each.offset for each in deliveries if each]
    assert len({id(offset["new"]) for offset in offsets}) == len({id(offset["done"]) for offset in offsets}) == 1
    (tmp_path / "2.jsonl").unlink()
    put(tmp_path, "00.jsonl", 9)
    for offset, first in ((offsets[7], 4), (offsets[8], 5), (offsets[17], 9)):  # after a file, at its end, after all
        left = [9, *range(first, 9)]
        with reading(feed, json.loads(json.dumps(offset))) as found:
            assert values(found, len(left), "at") == left


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_a_file_that_is_being_written_is_left_alone_until_it_is_whole(tmp_path: Path, suffix: str) -> None:
    put(tmp_path, f"z.{suffix}", *range(1, 6))
    whole = (tmp_path / f"z.{suffix}").read_bytes()
    with reading(wb.feeds.directory(tmp_path, pattern=f"*.{suffix}", **QUICK)) as found:
        assert values(found, 5, "at") == [1, 2, 3, 4, 5]
        slow, after = tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"
        slow.write_bytes(whole[:-7])
        put(tmp_path, after.name, 9)
        assert values(found, 1, "at") == [9]
        slow.write_bytes(whole)
        assert values(found, 5, "at") == [1, 2, 3, 4, 5]
        assert not found.state.dead_letters


def test_a_file_that_is_replaced_when_it_was_read_is_missed(tmp_path: Path) -> None:
    put(tmp_path, "a.jsonl", 1)
    with reading(wb.feeds.directory(tmp_path, pattern="*.jsonl", **QUICK)) as found:
        assert values(found, 1, "at") == [1]
        put(tmp_path, "b.jsonl", 2)
        assert values(found, 1, "at") == [2]
        put(tmp_path, "a.jsonl", 3)
        until(lambda: next(found) is None and found.state.lost)
        put(tmp_path, "c.jsonl", 4)
        assert values(found, 1, "at") == [4]
        assert found.state.lost == {"a file was replaced when it was read": 1}


@pytest.mark.fault("directory", "garbage bytes")
def test_a_file_that_cannot_be_read_is_a_letter(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"no parquet at all")
    put(tmp_path, "b.parquet", 1)
    with reading(wb.feeds.directory(tmp_path, **QUICK)) as found:
        assert values(found, 1, "at") == [1]
        until(lambda: next(found) is None and found.state.dead_letters == {"a file cannot be read": 1})


def test_a_csv_file_is_read_by_its_schema_and_a_bad_row_costs_itself(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"at,zip,skip,x,t\n1,00123,a,1.10,5\n2,NA,b,oops,5\n3,NA,1, 2,2024-01-01\n"
                                     b"4,\xff,1,2,5\n5,1,2\n6,\"a,b\",1,NA,\n")
    feed = wb.feeds.directory(tmp_path, time="at", pattern="*.csv",
                              schema={"at": "int64", "zip": "string", "x": "double", "t": "timestamp[s]"})
    with reading(feed) as found:
        batches = rows(found, 3)
        until(lambda: sum(found.state.dead_letters.values()) == 3)
    assert [[value for batch in batches for value in batch.column(name).to_arrow().to_pylist()]
            for name in ("at", "zip", "x")] == [[1, 3, 6], ["00123", "NA", "a,b"], [1.1, 2.0, None]]


@pytest.mark.parametrize(("line", "why"), [
    (b'2,"b', "not one line: a quote is open, or it holds several"), (b"2,b,c", "3 values for 2 columns")])
def test_a_line_of_a_csv_file_takes_no_other_with_it(tmp_path: Path, line: bytes, why: str) -> None:
    (tmp_path / "a.csv").write_bytes(b'at,k\r\n1,"a, b"\r\n' + line + b'\r\n3,"c"\r\n4,d\r\n\r\n')
    feed = wb.feeds.directory(tmp_path, time="at", pattern="*.csv", schema={"at": "int64", "k": "string"})
    with reading(feed) as found:
        assert values(found, 3, "k") == ["a, b", "c", "d"]
        assert found.state.dead_letters == {why: 1}


@pytest.mark.parametrize("schema", [None, {"at": "int64", "x": "double", "y": pa.decimal128(5, 2)}])
@pytest.mark.parametrize("of", ["directory", "tail"])
def test_csv_with_a_decimal_comma(tmp_path: Path, of: str, schema: Any) -> None:
    lines = "1;1,5;2,25\n2;1,0;2.25\n3;2,5;-1,00\n"
    header = "at;x;y\n" if of == "directory" else ""
    (tmp_path / "a.csv").write_text(header + (lines if schema else lines.replace("2.25", "7,00")))
    if of == "directory":
        format_ = wb.feeds.Csv(delimiter=";", decimal=",")
        feed = wb.feeds.directory(tmp_path, time="at", pattern="*.csv", schema=schema, format=format_)
    else:
        format_ = wb.feeds.Csv(["at", "x", "y"], delimiter=";", decimal=",")
        feed = wb.feeds.tail(tmp_path / "a.csv", time="at", schema=schema, format=format_)
    with reading(feed) as found:
        assert values(found, 2 if schema else 3, "x") == ([1.5, 2.5] if schema else [1.5, 1.0, 2.5])
        until(lambda: sum(found.state.dead_letters.values()) == bool(schema))


@pytest.mark.parametrize(("pattern", "format_"), [("*.parquet", wb.feeds.Csv()), ("*.csv", wb.feeds.Csv(["at"]))])
def test_a_format_is_for_csv_files_with_a_header(tmp_path: Path, pattern: str, format_: Any) -> None:
    with pytest.raises(wb.WhimbrelError, match=r'(?s)format is for CSV files.*pattern="\*.csv"'):
        wb.feeds.directory(tmp_path, time="at", pattern=pattern, format=format_)
    with pytest.raises(wb.WhimbrelError, match=r'decimal must be "." or ","'):
        wb.feeds.Csv(decimal=";")


def test_what_could_not_be_read_is_read_when_it_was_written_on(tmp_path: Path) -> None:
    """A file whose writer paused for more than a second was never read again."""
    whole = tmp_path / "b.parquet"
    put(tmp_path, "b.parquet", 2)
    written = whole.read_bytes()
    whole.write_bytes(written[:-8])
    os.utime(whole, (1, 1))
    feed = wb.feeds.directory(tmp_path, **QUICK)
    with reading(feed) as found:
        until(lambda: next(found) is None and found.state.dead_letters == {"a file cannot be read": 1})
        put(tmp_path, "a.parquet", 1)
        assert values(found, 1, "at") == [1]
        offset = json.loads(json.dumps(found.offset))
    for again in range(2):
        with reading(feed, offset) as found:
            if not again:
                whole.write_bytes(written)
                os.utime(whole, (2, 2))
                assert values(found, 1, "at") == [2]
            put(tmp_path, f"c{again}.parquet", 3)
            assert values(found, 1, "at") == [3]
            offset = json.loads(json.dumps(found.offset))
            assert not found.state.lost


def test_an_empty_file_waits_for_what_is_written(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.touch()
    os.utime(file, (1, 1))
    with reading(wb.feeds.directory(tmp_path, pattern="*.jsonl", **QUICK)) as found:
        put(tmp_path, "b.jsonl", 1)
        assert values(found, 1, "at") == [1]
        file.write_bytes(lines(2))
        os.utime(file, (1, 1))
        assert values(found, 1, "at") == [2]
