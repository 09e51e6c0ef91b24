"""Feeds of Delta and Iceberg tables: each row once, and versions that are gone are named."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog import load_catalog
from pyiceberg.types import IntegerType, LongType, StringType

import whimbrel as wb
from tests.engine.connect.feeds.listen import PATIENCE_S, reading, rows, until, values
from tests.engine.connect.s3_server import SECRET, s3_server
from tests.engine.ended import ended
from whimbrel.errors import PlanError, SourceError


def part(first: int, stop: int, **more: Any) -> pa.Table:
    at = list(range(first, stop))
    return pa.table({"at": pa.array(at, pa.int64()), "x": pa.array(at, pa.int64()),
                     "day": pa.array([f"day {first}"] * len(at), pa.string()),
                     **{name: [value] * len(at) for name, value in more.items()}})


class Delta:
    """A Delta table, partitioned by day."""

    kind = "delta"

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "t"
        write_deltalake(self.folder, part(0, 0), partition_by=["day"])

    def add(self, table: pa.Table) -> None:
        write_deltalake(self.folder, table, mode="append", schema_mode="merge")

    def feed(self, **options: Any) -> wb.Stream:
        return wb.feeds.delta(self.folder, **{"time": "at", "every": 0.02, **options})

    def delete(self, condition: str) -> None:
        DeltaTable(self.folder).delete(condition)

    def compact(self) -> None:
        DeltaTable(self.folder).optimize.compact()

    def forget(self) -> str:
        """Remove all versions but the newest."""
        table = DeltaTable(self.folder)
        table.create_checkpoint()
        for file in sorted((self.folder / "_delta_log").glob("*.json"))[:-1]:
            file.unlink()
        return "Version 2 of .* was removed from the log before it was read"

    def lose_files(self) -> None:
        for file in self.folder.rglob("*.parquet"):
            if "_delta_log" not in file.parts:  # a checkpoint of the log
                file.unlink()


class Iceberg:
    """An Iceberg table of a SQL catalog."""

    kind = "iceberg"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.catalog = load_catalog("default", type="sql", uri=f"sqlite:///{folder}/catalog.db",
                                    warehouse=f"file://{folder}/lake")
        self.catalog.create_namespace("s")
        with self.catalog.create_table_transaction("s.t", part(0, 0).schema) as made, made.update_spec() as spec:
            spec.add_identity("day")

    @property
    def table(self) -> Any:
        return self.catalog.load_table("s.t")

    def add(self, table: pa.Table) -> None:
        if "note" in table.column_names:
            with self.table.update_schema() as changed:
                changed.add_column("note", StringType())
        self.table.append(table)

    def feed(self, **options: Any) -> wb.Stream:
        return wb.feeds.iceberg("s.t", self.catalog, **{"time": "at", "every": 0.02, **options})

    def delete(self, condition: str) -> None:
        self.table.delete(condition)

    def forget(self) -> str:
        table = self.table
        table.maintenance.expire_snapshots().by_ids([each.snapshot_id for each in table.snapshots()[:-1]]).commit()
        return r"was rolled back, or snapshots after snapshot \d+ expired before they were read"

    def lose_files(self) -> None:
        for file in (self.folder / "lake").rglob("*.parquet"):
            file.unlink()


@pytest.fixture(params=[Delta, Iceberg], ids=lambda kind: kind.kind)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return request.param(tmp_path)


def test_rows_of_the_table_come_first_and_then_those_of_new_versions(table: Any) -> None:
    table.add(part(10, 20))
    table.add(part(0, 10))
    with reading(table.feed()) as found:
        assert values(found, 20, "at") == list(range(20))
        for first in (20, 40):
            table.add(part(first, first + 5))
            assert values(found, 5, "x") == list(range(first, first + 5))
        assert (found.state.connection, found.state.rows) == ("live", 30)
    with reading(table.feed()) as found:
        assert values(found, 30, "day")[:1] == ["day 0"]


def test_only_new_rows_are_read_from_the_latest_version_on(table: Any) -> None:
    table.add(part(0, 10))
    with reading(table.feed(start_from="latest")) as found:
        until(lambda: next(found) is None and found.state.connection == "live")
        table.add(part(10, 12))
        assert values(found, 2, "at") == [10, 11]


def test_a_table_without_rows_is_waited_for(table: Any) -> None:
    with reading(table.feed()) as found:
        assert next(found) is None
        table.add(part(3, 5))
        assert values(found, 2, "at") == [3, 4]


@pytest.mark.fault("delta", "client gone meanwhile")
@pytest.mark.fault("iceberg", "client gone meanwhile")
def test_a_feed_resumes_at_each_of_its_offsets(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whimbrel.connect.feeds.tables.table_feed.BATCH_ROWS", 3)
    for first in (0, 10):
        table.add(part(first, first + 10))
    offsets: list[Any] = []
    with reading(table.feed(queue_rows=1)) as found:
        seen, later = 0, [20, 30]
        while seen < 40:
            if (batch := next(found)) is not None:
                seen += len(batch)
                offsets.append((seen, found.offset))
            if seen == 20 and later:
                for first in later:
                    table.add(part(first, first + 10))
                later = []
    assert len(offsets) > 12
    for count, offset in offsets:
        with reading(table.feed(), offset) as again:
            assert values(again, 40 - count, "at") == list(range(count, 40)), offset


def test_a_run_resumes_from_its_checkpoint_and_has_each_row_once(table: Any, tmp_path: Path) -> None:
    asked = table.feed().tumbling_window(5).aggregate(total=wb.sum(wb.col.x), n=wb.count())
    for first in range(0, 60, 10):
        table.add(part(first, first + 10))
        run = asked.start(sink=wb.sinks.parquet(tmp_path / "out"),
                          checkpoints=wb.Checkpoints(tmp_path / "state", every="10ms"))
        until(lambda first=first, run=run: run.metrics.rows == first + 10)  # type: ignore[misc]
        run.stop()
        assert run.wait(PATIENCE_S)
    found = wb.read_parquet(tmp_path / "out", time="start", end="end").collect()
    assert (found["start"].to_pylist(), found["n"].to_pylist()) == ([*range(0, 55, 5)], [5] * 11)


@pytest.mark.parametrize("table", [Delta], indirect=True)  # pyiceberg makes no such snapshots
def test_files_that_are_only_rewritten_give_no_rows(table: Any) -> None:
    for first in (0, 1, 2):
        table.add(part(first, first + 1).set_column(2, "day", pa.array(["one"])))
    with reading(table.feed()) as found:
        rows(found, 3)
        table.compact()
        table.add(part(7, 8))
        assert values(found, 1, "at") == [7]
    with reading(table.feed()) as found:
        assert sorted(map(str, values(found, 4, "at"))) == ["0", "1", "2", "7"]


def test_rows_that_are_deleted_are_an_error_or_left_out(table: Any) -> None:
    table.add(part(0, 10))
    run = table.feed().start()  # leaving a run that failed would raise its error
    with reading(table.feed(rewrites="skip")) as found:
        rows(found, 10)
        until(lambda: run.metrics.rows == 10)
        table.delete("at > 5 AND at < 8")
        table.add(part(20, 22))
        assert values(found, 2, "at") == [20, 21]
        assert ended(run, PATIENCE_S)
        assert "deletes or changes rows, which a feed cannot remove" in str(run.error)
    with reading(table.feed()) as found:
        assert values(found, 10, "at") == [*range(6), 8, 9, 20, 21]


def test_versions_that_were_removed_before_they_were_read_are_named(table: Any) -> None:
    table.add(part(0, 10))
    with reading(table.feed()) as found:
        rows(found, 10)
        next(found)
        until(lambda: next(found) is None and "after" in found.offset)
        offset = found.offset
    for first in (10, 20, 30):
        table.add(part(first, first + 10))
    words = table.forget()
    with reading(table.feed(), offset) as found, pytest.raises(SourceError, match=words) as caught:
        rows(found, 1)
    assert "start again" in caught.value.hint
    table.lose_files()
    with reading(table.feed()) as found, pytest.raises(SourceError, match=r"lost the file '.*' before it was read"):
        rows(found, 1)


def test_columns_that_are_added_later_are_not_read(table: Any) -> None:
    table.add(part(0, 2))
    with reading(table.feed()) as found:
        rows(found, 2)
        table.add(part(2, 4, note="new"))
        assert values(found, 2, "at") == [2, 3]
    with reading(table.feed()) as found:
        assert values(found, 4, "note") == [None, None, "new", "new"]


@pytest.mark.parametrize("table", [Iceberg], indirect=True)
def test_a_renamed_column_is_named_and_integers_may_have_become_longer(table: Any) -> None:
    with table.table.update_schema() as changed:
        changed.add_column("n", IntegerType())
    table.table.append(part(0, 2).append_column("n", pa.array([5, 6], pa.int32())))
    with table.table.update_schema() as changed:
        changed.update_column("n", LongType())
    feed = table.feed()
    with reading(feed) as found:
        assert values(found, 2, "n") == [5, 6]
    with table.table.update_schema() as changed:
        changed.rename_column("x", "y")
    with reading(table.feed()) as found, pytest.raises(SourceError, match=r"Column 'y' of 's\.t' was renamed"):
        rows(found, 2)
    table.table.append(part(2, 4).rename_columns(["at", "y", "day"]))
    with reading(feed) as found, pytest.raises(SourceError, match=r"Column 'x' of 's\.t' was renamed .* it as 'y'"):
        rows(found, 4)


def test_a_table_that_is_gone_ends_the_feed(table: Any, tmp_path: Path) -> None:
    table.add(part(0, 2))
    run = table.feed().start()
    until(lambda: run.metrics.rows == 2)
    if isinstance(table, Delta):
        table.folder.rename(tmp_path / "elsewhere")
    else:
        table.catalog.drop_table("s.t")
    assert ended(run, PATIENCE_S)
    assert "any more" in str(run.error)


def test_wrong_options_are_named(table: Any) -> None:
    with pytest.raises(PlanError, match="start_from must be one of 'earliest', 'latest', got 'soon'"):
        table.feed(start_from="soon")
    with pytest.raises(PlanError, match="rewrites must be one of 'raise', 'skip', got 'no'"):
        table.feed(rewrites="no")
    if isinstance(table, Iceberg):
        with pytest.raises(SourceError, match="is the metadata of one snapshot"):
            wb.feeds.iceberg(table.table.metadata_location, time="at")


def test_values_of_partitions_have_the_types_of_their_columns(tmp_path: Path) -> None:
    days = [dt.date(2024, 1, 1), dt.date(2024, 1, 2), None]
    schema = pa.schema({"at": pa.int64(), "day": pa.date32(), "k": pa.int32()})
    write_deltalake(tmp_path / "t", pa.table({"at": [1, 2, 3], "day": days, "k": [7, None, 8]}, schema),
                    partition_by=["day", "k"])
    feed = wb.feeds.delta(tmp_path / "t", time="at", every=0.02)
    with reading(feed) as found:
        first = sorted(zip(*(values(found, 3, "day"),), strict=True), key=str)
        write_deltalake(tmp_path / "t", pa.table({"at": [4, 5, 6], "day": days, "k": [7, None, 8]}, schema),
                        mode="append")
        assert sorted(zip(values(found, 3, "day"), strict=True), key=str) == first == sorted(zip(days), key=str)


@pytest.mark.long
def test_a_table_of_a_bucket_is_followed_without_showing_its_key() -> None:
    with s3_server() as server:
        server.client.create_bucket(Bucket="lake")
        options = {"AWS_ENDPOINT_URL": f"http://{server.endpoint}", "AWS_ALLOW_HTTP": "true",
                   "AWS_ACCESS_KEY_ID": "ann", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1"}
        write_deltalake("s3://lake/t", part(0, 3), storage_options=options)
        feed = wb.feeds.delta("s3://lake/t", time="at", every=0.02, storage_options=options)
        with reading(feed) as found:
            assert values(found, 3, "at") == [0, 1, 2]
            write_deltalake("s3://lake/t", part(3, 5), mode="append", storage_options=options)
            assert values(found, 2, "at") == [3, 4]
            assert SECRET not in repr(found.offset) + str(feed.explain())
