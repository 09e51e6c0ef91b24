"""Iceberg tables: snapshots, pruning, columns added later, damage, and a sink that commits once."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.types import LongType, StringType

import whimbrel as wb
from tests.engine.connect.feeds.listen import PATIENCE_S, until
from tests.engine.connect.s3_server import SECRET, s3_server
from whimbrel import col
from whimbrel.errors import MissingExtraError, PlanError, SinkError, SourceError

SCHEMA = pa.schema({"at": pa.int64(), "x": pa.string()})


def properties(folder: Path) -> dict[str, str]:
    return {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/lake"}


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    made = load_catalog("default", **properties(tmp_path))
    made.create_namespace("sales")
    return made


def part(number: int, **more: Any) -> pa.Table:
    at = list(range(number * 100, number * 100 + 100))
    return pa.table({"at": at, "x": [each * 2 for each in at], "day": [dt.date(2024, 1, 1 + number)] * 100,
                     **{name: [value] * 100 for name, value in more.items()}})


@pytest.fixture
def table(catalog: Catalog) -> Any:
    """Four snapshots; the last one adds a column, and the files are written newest first."""
    made = catalog.create_table("sales.t", part(0).schema)
    with made.update_spec() as spec:
        spec.add_identity("day")
    for number in (2, 1, 0):
        made.append(part(number))
    with made.update_schema() as changed:
        changed.add_column("note", StringType())
    made.append(part(3, note="new"))
    return made


def test_rows_are_those_of_a_snapshot_in_the_order_of_time(tmp_path: Path, table: Any) -> None:
    log = wb.read_iceberg("sales.t", properties(tmp_path), time="at")
    found = log.collect()
    assert found["x"].to_pylist() == [at * 2 for at in range(400)]
    assert found["day"].to_pylist()[::100] == [dt.date(2024, 1, day) for day in range(1, 5)]
    assert found["note"].to_pylist()[::100] == [None, None, None, "new"]
    assert (log.node.op.name, log.node.op.rows) == ("t", 400)
    assert log.node.op.snapshot_id == table.current_snapshot().snapshot_id
    _, second, *_ = table.snapshots()
    old = wb.read_iceberg(table, time="at", snapshot_id=second.snapshot_id)
    assert old.collect()["at"].to_pylist() == list(range(100, 300))
    assert "note" not in old.schema.names
    then = dt.datetime.fromtimestamp(second.timestamp_ms / 1000, dt.UTC)
    for timestamp in (then, then.isoformat(), then.replace(tzinfo=None)):
        assert wb.read_iceberg(table, time="at", timestamp=timestamp).node.op.snapshot_id == second.snapshot_id
    assert wb.read_iceberg(table.metadata_location, time="at", reorder_latency=0).tumbling_window(200).aggregate(
        n=wb.count()).collect()["n"].to_pylist() == [200, 200]


def test_conditions_skip_files_by_statistics_and_partitions(table: Any) -> None:
    log = wb.read_iceberg(table, time="at")
    for condition in (col.at >= 350, col.x >= 700, col.day == dt.date(2024, 1, 4)):
        assert "1 of 4 row groups" in str(log.where(condition).explain())
    assert log.where(col.day == dt.date(2024, 1, 4)).select("x").collect().num_rows == 100


def test_deleted_rows_and_dropped_columns_are_not_read(table: Any) -> None:
    table.delete("at >= 50 AND at < 250")
    assert wb.read_iceberg(table, time="at").collect()["at"].to_pylist() == [*range(50), *range(250, 400)]
    with table.update_schema() as changed:
        changed.delete_column("x")
    table.append(part(4, note="no x").drop(["x"]))
    assert wb.read_iceberg(table, time="at").schema.names == ("at", "day", "note")
    with table.update_schema() as changed:
        changed.add_column("x", LongType())
    table.append(part(5, note="new x"))
    with pytest.raises(SourceError, match=r"Column 'x' of 'sales.t' was renamed or replaced"):
        wb.read_iceberg(table, time="at")


@pytest.mark.parametrize("appended", [False, True])
def test_a_renamed_column_is_refused(table: Any, appended: bool) -> None:
    with table.update_schema() as changed:
        changed.rename_column("x", "y")
    if appended:
        table.append(part(4, note="y").rename_columns(["at", "y", "day", "note"]))
    with pytest.raises(SourceError, match=r"Column 'y' of .* was renamed or replaced; some files have it as 'x'"):
        wb.read_iceberg(table, time="at")


def test_columns_are_those_of_the_table_now_and_of_a_chosen_snapshot_its_own(table: Any) -> None:
    newest = table.current_snapshot().snapshot_id
    with table.update_schema() as changed:
        changed.add_column("more", LongType())
        changed.delete_column("x")
    found = wb.read_iceberg(table, time="at").collect()
    assert found.drop(["start", "end"]).schema.names == table.scan().to_arrow().schema.names
    assert found["more"].null_count == 400
    then = wb.read_iceberg(table, time="at", snapshot_id=newest)
    assert list(then.schema.names) == table.scan(snapshot_id=newest).to_arrow().schema.names


def test_what_is_missing_is_named(tmp_path: Path, table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    known = properties(tmp_path)
    for options, what in (({"snapshot_id": 9}, "Snapshot 9 of .* does not exist, or expired"),
                          ({"timestamp": "2001-01-01"}, r"has no snapshot of 2001-01-01 .* or before; the oldest is"),
                          ({"snapshot_id": 1, "timestamp": "2024-01-01"}, "exclude each other")):
        with pytest.raises(SourceError, match=what):
            wb.read_iceberg("sales.t", known, time="at", **options)
    with pytest.raises(PlanError, match=r"timestamp must be a time in ISO 8601, got 'soon'"):
        wb.read_iceberg(table, time="at", timestamp="soon")
    with pytest.raises(SourceError, match=r"There is no Iceberg table 'sales.none' in the catalog"):
        wb.read_iceberg("sales.none", known, time="at")
    with pytest.raises(SourceError, match=r"'sales.t' cannot be read as an Iceberg table(.|\n)*A name needs catalog="):
        wb.read_iceberg("sales.t", time="at")
    with pytest.raises(PlanError, match=r"catalog must be a name, properties or a catalog of pyiceberg, got int"):
        wb.read_iceberg("sales.t", 5, time="at")
    with pytest.raises(SourceError, match=r"The catalog cannot be opened") as caught:
        wb.read_iceberg("sales.t", known | {"uri": "nosql://ann:sEcReT@host"}, time="at")
    assert "sEcReT" not in str(caught.value)
    monkeypatch.setitem(sys.modules, "pyiceberg.catalog", None)
    with pytest.raises(MissingExtraError) as absent:
        wb.read_iceberg("sales.t", known, time="at")
    assert "whimbrel[iceberg]" in absent.value.hint


def test_a_snapshot_that_expired_or_lost_files_is_named(tmp_path: Path, table: Any) -> None:
    first, *_ = table.snapshots()
    table.maintenance.expire_snapshots().by_id(first.snapshot_id).commit()
    with pytest.raises(SourceError, match=rf"Snapshot {first.snapshot_id} of .* does not exist, or expired"):
        wb.read_iceberg(table, time="at", snapshot_id=first.snapshot_id)
    log = wb.read_iceberg(table, time="at")
    next((tmp_path / "lake").rglob("day=2024-01-02/*.parquet")).unlink()
    with pytest.raises(SourceError, match=r"of 'sales\.t' was removed: the table was vacuumed or changed"):
        log.collect()
    with pytest.raises(SourceError, match=r"Snapshot \d+ of .* needs files that were removed, such as '0"):
        wb.read_iceberg(table, time="at")
    for file in (tmp_path / "lake").rglob("*.avro"):
        file.unlink()
    with pytest.raises(SourceError, match=r"'.*sales\.t' cannot be read as an Iceberg table"):
        wb.read_iceberg(table, time="at")


def batch(first: int, stop: int) -> pa.RecordBatch:
    return pa.record_batch([pa.array(range(first, stop)), pa.array([f"{at}" for at in range(first, stop)])],
                           schema=SCHEMA)


def opened(folder: Path, rows: int = 0, token: Any = None, **options: Any) -> Any:
    sink = wb.sinks.iceberg("sales.out", properties(folder), **options)
    sink.run = "run"
    sink.open(SCHEMA, rows, token)
    return sink


def out(folder: Path) -> Any:
    return load_catalog("default", **properties(folder)).load_table("sales.out")


def values(folder: Path) -> list[int]:
    return sorted(out(folder).scan().to_arrow()["at"].to_pylist())


@pytest.mark.parametrize("partition_by", [[], ["x"]])
def test_what_was_prepared_is_committed_once_and_what_is_there_is_not_written_again(
        tmp_path: Path, partition_by: list[str]) -> None:
    sink = opened(tmp_path, partition_by=partition_by)
    sink.write(batch(0, 10))
    first = sink.prepare()
    assert values(tmp_path) == []
    sink.commit(first)
    sink.commit(first)
    sink.write(batch(10, 20))
    second = sink.prepare()
    for _ in range(2):  # killed before the commit, and after it
        sink = opened(tmp_path, 20, second)
        assert values(tmp_path) == list(range(20))
    sink = opened(tmp_path, 10, first)  # an older checkpoint
    sink.write(batch(10, 15))
    sink.write(batch(15, 25))
    sink.commit(sink.prepare())
    assert values(tmp_path) == list(range(25))
    assert len(out(tmp_path).snapshots()) == 3
    assert wb.read_iceberg("sales.out", properties(tmp_path), time="at").where(col.x == "7").collect().num_rows == 1
    with pytest.raises(SinkError, match=r"The run wrote 99 rows, and the table has 25 of them"):
        opened(tmp_path, 99, {"rows": 99, "files": []})


def test_rows_are_counted_after_other_writers_and_expired_snapshots(tmp_path: Path) -> None:
    sink = opened(tmp_path)
    sink.write(batch(0, 10))
    out(tmp_path).append(pa.table({"at": [1000], "x": ["another"]}, schema=SCHEMA))  # while rows are prepared
    token = sink.prepare()
    out(tmp_path).append(pa.table({"at": [1001], "x": ["another"]}, schema=SCHEMA))
    sink.commit(token)
    table = out(tmp_path)
    table.append(pa.table({"at": [1002], "x": ["another"]}, schema=SCHEMA))
    table.maintenance.expire_snapshots().by_ids([each.snapshot_id for each in table.snapshots()[:-1]]).commit()
    opened(tmp_path, 10, token).close()
    assert values(tmp_path) == [*range(10), 1000, 1001, 1002]


def test_a_table_that_was_rolled_back_is_noticed(tmp_path: Path) -> None:
    sink = opened(tmp_path)
    for first in (0, 10):
        sink.write(batch(first, first + 10))
        sink.commit(token := sink.prepare())
    table = out(tmp_path)
    table.manage_snapshots().set_current_snapshot(table.snapshots()[0].snapshot_id).commit()
    with pytest.raises(SinkError, match=r"The run wrote 20 rows, and the table has 10 of them"):
        opened(tmp_path, 20, {"rows": 20, "files": []})
    opened(tmp_path, 20, token)  # its files are known
    assert values(tmp_path) == list(range(20))


def test_a_stopped_run_resumes_and_the_table_has_each_row_once(tmp_path: Path) -> None:
    asked = wb.feeds.synthetic(rate=4000, rows=1500, seed=1).tumbling_window("20ms").aggregate(n=wb.count())

    def started() -> wb.Run:
        return asked.start(sink=wb.sinks.iceberg("sales.out", properties(tmp_path)),
                           checkpoints=wb.Checkpoints(tmp_path / "state", every="50ms"))

    run = started()
    until(lambda: run.metrics.rows > 300)
    run.stop()
    assert run.wait(PATIENCE_S)
    assert started().wait(PATIENCE_S)
    again = wb.read_iceberg("sales.out", properties(tmp_path), time="start")
    assert again.select("n").collect()["n"].to_pylist() == asked.collect()["n"].to_pylist()
    assert len(out(tmp_path).snapshots()) > 2
    with pytest.raises(SinkError, match=r"Column 'start' of the result is int64, and timestamp"):
        wb.from_arrow({"at": [1], "x": [1]}, time="at").start(
            sink=wb.sinks.iceberg("sales.out", properties(tmp_path))).wait(PATIENCE_S)


def test_what_a_sink_cannot_use_is_named(tmp_path: Path) -> None:
    with pytest.raises(SinkError, match=r"The name of a table needs catalog="):
        wb.sinks.iceberg("sales.out")
    with pytest.raises(SinkError, match=r"table must be a name or a table of pyiceberg, got 5"):
        wb.sinks.iceberg(5)
    with pytest.raises(SinkError, match=r"partition_by must name columns of the result, got 'day'"):
        opened(tmp_path, partition_by=["day"])


def test_a_table_of_a_bucket_is_written_read_and_followed_without_showing_its_key(tmp_path: Path) -> None:
    with s3_server() as server:
        server.client.create_bucket(Bucket="lake")
        catalog = properties(tmp_path) | {
            "warehouse": "s3://lake/w", "s3.endpoint": f"http://{server.endpoint}", "s3.access-key-id": "ann",
            "s3.secret-access-key": SECRET, "s3.region": "us-east-1"}
        run = wb.from_arrow({"at": [1, 2], "x": [3, 4]}, time="at").start(
            sink=wb.sinks.iceberg("s.t", catalog), checkpoints=wb.Checkpoints(tmp_path / "state"))
        assert run.wait(PATIENCE_S)
        log = wb.read_iceberg("s.t", catalog, time="at")
        assert log.select("x").collect()["x"].to_pylist() == [3, 4]
        feed = wb.feeds.iceberg("s.t", catalog, time="start", end="end", every=0.02)
        with feed.start() as followed:
            until(lambda: followed.metrics.rows == 2)
        assert SECRET not in repr(log.node.op.paths) + str(log.explain()) + str(log.node.op.stamp()) + feed.explain()
        assert not any(SECRET.encode() in path.read_bytes() for path in (tmp_path / "state").rglob("*")
                       if path.is_file())


def test_a_table_without_rows_is_an_empty_log(tmp_path: Path) -> None:
    catalog = load_catalog("c", **properties(tmp_path))
    catalog.create_namespace_if_not_exists("s")
    table = catalog.create_table("s.t", schema=pa.schema({"at": pa.timestamp("us"), "x": pa.int64()}))
    for _ in range(2):  # without a snapshot, and with one
        assert wb.read_iceberg("s.t", catalog, time="at").collect().schema.names == ["start", "end", "at", "x"]
        table.append(table.scan().to_arrow())
