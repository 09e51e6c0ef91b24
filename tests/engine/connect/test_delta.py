"""Delta tables: versions, partitions, columns added later, pruning, damage, and a sink that commits once."""

from __future__ import annotations

import datetime as dt
import os
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

import whimbrel as wb
from tests.engine.connect.feeds.listen import PATIENCE_S, until
from tests.engine.connect.s3_server import SECRET, s3_server
from whimbrel import col
from whimbrel.errors import MissingExtraError, PlanError, SchemaError, SinkError, SourceError

SCHEMA = pa.schema({"at": pa.int64(), "x": pa.string()})


def part(number: int, **more: Any) -> pa.Table:
    at = list(range(number * 100, number * 100 + 100))
    return pa.table({"at": at, "x": [each * 2 for each in at], "day": [dt.date(2024, 1, 1 + number)] * 100,
                     **{name: [value] * 100 for name, value in more.items()}})


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Four versions; the last one adds a column, and the files are written newest first."""
    for number in (2, 1, 0):
        write_deltalake(tmp_path / "t", part(number), mode="append", partition_by=["day"])
    write_deltalake(tmp_path / "t", part(3, note="new"), mode="append", schema_mode="merge")
    return tmp_path / "t"


def test_rows_are_those_of_a_version_in_the_order_of_time(table: Path) -> None:
    log = wb.read_delta(table, time="at")
    found = log.collect()
    assert found["x"].to_pylist() == [at * 2 for at in range(400)]
    assert found["day"].to_pylist()[::100] == [dt.date(2024, 1, day) for day in range(1, 5)]
    assert found["note"].to_pylist()[::100] == [None, None, None, "new"]
    assert (log.node.op.name, log.node.op.rows, log.node.op.version) == ("t", 400, 3)
    assert wb.read_delta(table, time="at", version=1).collect()["at"].to_pylist() == list(range(100, 300))
    first = dt.datetime.fromtimestamp(DeltaTable(table).history()[-1]["timestamp"] / 1000, dt.UTC)
    written = (first + dt.timedelta(milliseconds=2)).timestamp()
    os.utime(table / "_delta_log" / f"{0:020}.json", (written, written))  # as on a slower disk
    assert wb.read_delta(table, time="at", timestamp=first).node.op.version == 0
    assert wb.read_delta(table, time="at", reorder_latency=0).tumbling_window(200).aggregate(
        n=wb.count()).collect()["n"].to_pylist() == [200, 200]


def test_conditions_skip_files_by_statistics_and_partitions(table: Path) -> None:
    log = wb.read_delta(table, time="at")
    for condition in (col.at >= 350, col.x >= 700, col.day == dt.date(2024, 1, 4)):
        assert "1 of 4 row groups" in str(log.where(condition).explain())
    assert log.where(col.day == dt.date(2024, 1, 4)).select("x").collect().num_rows == 100


def test_rows_that_were_deleted_are_not_read(table: Path) -> None:
    DeltaTable(table).delete("at >= 50 AND at < 250")
    assert wb.read_delta(table, time="at").collect()["at"].to_pylist() == [*range(50), *range(250, 400)]
    assert wb.read_delta(table, time="at", version=3).collect().num_rows == 400


def test_a_column_that_no_file_has_is_null(tmp_path: Path) -> None:
    write_deltalake(tmp_path, pa.table({"at": [1], "x": [2]}))
    from deltalake import Field

    DeltaTable(tmp_path).alter.add_columns(Field("y", "double"))  # type: ignore[arg-type]
    assert wb.read_delta(tmp_path, time="at").select("x", "y").collect().to_pylist() == [
        {"start": 1, "end": 2, "x": 2, "y": None}]


def test_a_moment_before_the_first_version_is_refused(table: Path) -> None:
    with pytest.raises(SourceError, match=r"has no version of 2000-01-01 .* or before; the oldest is of") as caught:
        wb.read_delta(table, time="at", timestamp="2000-01-01")
    assert "later timestamp" in caught.value.hint
    for options, what in (({"timestamp": "yesterday"}, "timestamp must be a time in ISO 8601, got 'yesterday'"),
                          ({"timestamp": 5}, "timestamp must be a time in ISO 8601, got 5"),
                          ({"version": -1}, "version must be an integer of at least 0, got -1")):
        with pytest.raises(PlanError, match=what):
            wb.read_delta(table, time="at", **options)


def test_what_is_missing_is_named(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for options, what in (({"version": 9}, "version 9 of .* does not exist; the newest is 3"),
                          ({"version": 1, "timestamp": "2024-01-01"}, "exclude each other")):
        with pytest.raises(SourceError, match=what):
            wb.read_delta(table, time="at", **options)
    with pytest.raises(SourceError, match="There is no Delta table in") as caught:
        wb.read_delta(table / "day=2024-01-01", time="at")
    assert "_delta_log" in caught.value.hint
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(MissingExtraError) as absent:
        wb.read_delta(table, time="at")
    assert "whimbrel[delta]" in absent.value.hint


def test_a_version_whose_files_or_log_were_removed_is_named(table: Path) -> None:
    DeltaTable(table).delete("at < 100")
    current = DeltaTable(table)
    current.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
    with pytest.raises(SourceError, match=r"Version 3 of .* needs files that were removed") as caught:
        wb.read_delta(table, time="at", version=3)
    assert "VACUUM" in caught.value.hint
    current = DeltaTable(table)
    current.create_checkpoint()
    for version in range(3):
        (table / "_delta_log" / f"{version:020}.json").unlink()
    with pytest.raises(SourceError, match=r"version 1 of .* cannot be read: its part of the log was removed"):
        wb.read_delta(table, time="at", version=1)
    assert wb.read_delta(table, time="at").collect().num_rows == 300


def test_a_table_with_deletion_vectors_or_mapped_columns_is_refused(tmp_path: Path) -> None:
    write_deltalake(tmp_path, part(0))
    from deltalake import TableFeatures

    DeltaTable(tmp_path).alter.add_feature(TableFeatures.DeletionVectors, allow_protocol_versions_increase=True)
    assert wb.read_delta(tmp_path, time="at").collect().num_rows == 100  # it may have some, and has none


def batch(first: int, stop: int) -> pa.RecordBatch:
    return pa.record_batch([pa.array(range(first, stop)), pa.array([f"{at}" for at in range(first, stop)])],
                           schema=SCHEMA)


def opened(folder: Path, rows: int = 0, token: Any = None) -> Any:
    sink = wb.sinks.delta(folder)
    sink.run = "run"
    sink.open(SCHEMA, rows, token)
    return sink


def values(folder: Path) -> list[int]:
    return sorted(DeltaTable(folder).to_pyarrow_table()["at"].to_pylist())


def test_what_was_prepared_is_committed_once_and_what_is_there_is_not_written_again(tmp_path: Path) -> None:
    sink = opened(tmp_path / "t")
    sink.write(batch(0, 10))
    first = sink.prepare()
    assert values(tmp_path / "t") == []
    sink.commit(first)
    sink.commit(first)
    sink.write(batch(10, 20))
    second = sink.prepare()
    for _ in range(2):  # killed before the commit, and after it
        sink = opened(tmp_path / "t", 20, second)
        assert values(tmp_path / "t") == list(range(20))
    sink = opened(tmp_path / "t", 10, first)  # an older checkpoint
    sink.write(batch(10, 15))
    sink.write(batch(15, 25))
    sink.commit(sink.prepare())
    assert values(tmp_path / "t") == list(range(25))
    assert DeltaTable(tmp_path / "t").version() == 3
    DeltaTable(tmp_path / "t").restore(1)
    log = DeltaTable(tmp_path / "t").transaction_version("run")
    assert log in (10, 25)
    with pytest.raises(SinkError, match="The run wrote 99 rows, and the table has"):
        opened(tmp_path / "t", 99, {"rows": 99, "files": []})


def test_a_stopped_run_resumes_and_the_table_has_each_row_once(tmp_path: Path) -> None:
    asked = wb.feeds.synthetic(rate=4000, rows=1500, seed=1).tumbling_window("20ms").aggregate(n=wb.count())

    def started() -> wb.Run:
        return asked.start(sink=wb.sinks.delta(tmp_path / "t"),
                           checkpoints=wb.Checkpoints(tmp_path / "state", every="50ms"))

    run = started()
    until(lambda: run.metrics.rows > 300)
    run.stop()
    assert run.wait(PATIENCE_S)
    assert started().wait(PATIENCE_S)
    again = wb.read_delta(tmp_path / "t", time="start")
    assert again.select("n").collect()["n"].to_pylist() == asked.collect()["n"].to_pylist()
    assert len(DeltaTable(tmp_path / "t").history()) > 2
    with pytest.raises(SinkError, match=r"Column 'start' of the result is int64, and timestamp"):
        wb.from_arrow({"at": [1], "x": [1]}, time="at").start(sink=wb.sinks.delta(tmp_path / "t")).wait(PATIENCE_S)


def test_a_table_of_a_bucket_is_written_and_read_without_showing_its_key(tmp_path: Path) -> None:
    with s3_server() as server:
        server.client.create_bucket(Bucket="lake")
        options = {"AWS_ENDPOINT_URL": f"http://{server.endpoint}", "AWS_ALLOW_HTTP": "true",
                   "AWS_ACCESS_KEY_ID": "ann", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1"}
        run = wb.from_arrow({"at": [1, 2], "x": [3, 4]}, time="at").start(
            sink=wb.sinks.delta("s3://lake/t", storage_options=options),
            checkpoints=wb.Checkpoints(tmp_path / "state"))
        assert run.wait(PATIENCE_S)
        log = wb.read_delta("s3://lake/t", time="at", storage_options=options)
        assert log.select("x").collect()["x"].to_pylist() == [3, 4]
        assert "sEcReT" not in repr(log.node.op.paths) + str(log.explain()) + str(log.node.op.stamp())
        assert not any(b"sEcReT" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
        removed = DeltaTable("s3://lake/t", storage_options=options)
        removed.delete()
        removed.vacuum(0, dry_run=False, enforce_retention_duration=False)
        with pytest.raises(SourceError, match=GONE):
            log.select("x").collect()
        with pytest.raises(SourceError, match="There is no Delta table in 's3://lake/none'"):
            wb.read_delta("s3://lake/none", time="at", storage_options=options)


GONE = r"parquet' of '.*t' was removed: the table was vacuumed or changed after this read was planned"


def test_a_read_that_was_planned_before_a_vacuum_says_so(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "t", pa.table({"at": [1], "x": [2]}))
    log = wb.read_delta(tmp_path / "t", time="at")
    table = DeltaTable(tmp_path / "t")
    table.delete()
    table.vacuum(0, dry_run=False, enforce_retention_duration=False)
    with pytest.raises(SourceError, match=GONE) as gone:
        log.collect()
    assert gone.value.hint.startswith("Use read_delta again")


KEYS = {"i": pa.int32(), "s": pa.string(), "d": pa.date32(), "b": pa.bool_(), "t": pa.timestamp("us", "UTC"),
        "n": pa.timestamp("us")}
VALUES: dict[str, list[Any]] = {
    "i": [-5, None, 7], "s": ["a/b=c d%20", None, "ü"], "d": [dt.date(2024, 2, 29), None, dt.date(1969, 12, 31)],
    "b": [True, None, False],
    "t": [dt.datetime(2024, 1, 1, 1, 2, 3, 4, dt.UTC), None, dt.datetime(1902, 1, 1, tzinfo=dt.UTC)],
    "n": [dt.datetime(2024, 1, 1, 1, 2, 3, 4), None, dt.datetime(2024, 1, 1)]}


@pytest.mark.parametrize("by", [*([each] for each in KEYS), ["i", "s"]], ids="-".join)
def test_a_table_is_partitioned_by_values_of_columns(by: list[str], tmp_path: Path) -> None:
    schema = pa.schema({"at": pa.int64(), **{name: KEYS[name] for name in by}})
    rows = [{"at": at, **{name: VALUES[name][(at + 2 * shift) % 3] for shift, name in enumerate(by)}}
            for at in range(90)]
    sink, token = wb.sinks.delta(tmp_path / "t", partition_by=by), None
    for first in range(0, 90, 30):
        sink.run = "run"
        sink.open(schema, first, token)
        sink.write(pa.RecordBatch.from_pylist(rows[first : first + 30], schema))
        token = sink.prepare()
        sink.commit(token)
        sink = wb.sinks.delta(tmp_path / "t")  # the table keeps its partitions
    assert DeltaTable(tmp_path / "t").metadata().partition_columns == by
    assert sorted(DeltaTable(tmp_path / "t").to_pyarrow_table().to_pylist(), key=lambda row: row["at"]) == rows
    log = wb.read_delta(tmp_path / "t", time="at")
    assert log.collect().select(by).to_pylist() == [{name: row[name] for name in by} for row in rows]
    assert "6 of 9 row groups" in str(log.where(col(by[0]) == VALUES[by[0]][2]).explain())


def test_columns_that_cannot_partition_are_named(tmp_path: Path) -> None:
    with pytest.raises(SinkError, match="partition_by must name columns of the result, got 'day'"):
        wb.sinks.delta(tmp_path, partition_by=["day"]).open(SCHEMA, 0, None)
    with pytest.raises(SinkError, match=r"Column 'x' of the table .* is double, by which"):
        wb.sinks.delta(tmp_path, partition_by=["x"]).open(pa.schema({"at": pa.int64(), "x": pa.float64()}), 0, None)


def test_a_table_without_rows_is_an_empty_log(tmp_path: Path) -> None:
    empty = pa.schema({"at": pa.timestamp("us"), "x": pa.int64(), "p": pa.string()}).empty_table()
    write_deltalake(tmp_path / "t", empty, partition_by=["p"])
    log = wb.read_delta(tmp_path / "t", time="at")
    assert log.collect().schema.names == ["start", "end", "at", "x", "p"]
    assert log.where(col.x > 3).tumbling_window("1h").aggregate(n=wb.count()).collect().num_rows == 0
    with pytest.raises(SchemaError, match="must be the name of a column, got 'when'"):
        wb.read_delta(tmp_path / "t", time="when")
