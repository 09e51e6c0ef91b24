"""How users say by which column a source is in order, and what becomes of that column."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whimbrel as wb
from whimbrel.connect import ArrowSource, EdgeSource
from whimbrel.errors import CheckpointError, PlanError, SchemaError
from whimbrel.optimize import optimize
from whimbrel.plan import OrderingSpec

TABLE = pa.table({"at": pa.array([60, 10, 70, 20], pa.timestamp("s", "UTC")), "device": ["a", "b", "a", "b"],
                  "x": [1, 2, 3, 4], "y": [0, 0, 0, 0]})
INFINITE = float("inf")


def ordering(stream: wb.Stream) -> OrderingSpec:
    source, = stream.sources
    return source.disorder


def values(stream: wb.Stream) -> list[int]:
    return stream.select("x").collect().column("x").to_pylist()


@pytest.mark.parametrize(("partition", "disorder"), [
    ("device", OrderingSpec(0, "raise", "device")),
    (wb.PartitionWatermarks("device"), OrderingSpec(0, "raise", "device")),
    (wb.PartitionWatermarks(by="device", max_lag="1m", every="10s"), OrderingSpec(0, "raise", "device", 60, 10)),
    (wb.PartitionWatermarks(by="device", max_lag=timedelta(minutes=1)), OrderingSpec(0, "raise", "device", 60)),
    (wb.PartitionWatermarks(by="x", max_lag=0, every=5), OrderingSpec(0, "raise", "x", 0, 5)),
])
def test_partitions_in_ticks(partition: Any, disorder: OrderingSpec) -> None:
    assert ordering(wb.from_arrow(TABLE, time="at", partition=partition)) == disorder


def test_every_reader_takes_partitions(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "log.parquet")
    slow = wb.PartitionWatermarks("device", max_lag="1m")
    readers = [wb.read_parquet(tmp_path / "log.parquet", time="at", partition=slow),
               wb.from_arrow(TABLE, time="at", partition=slow),
               wb.from_pandas(pd.DataFrame(TABLE.to_pydict()), time="at", partition=slow)]
    assert [values(stream) for stream in readers] == [[2, 4, 1, 3]] * 3
    by_index = pd.DataFrame(TABLE.to_pydict()).set_index("device")
    assert values(wb.from_pandas(by_index, time="at", partition=slow)) == [2, 4, 1, 3]


def test_the_column_is_read_though_the_query_does_not_need_it() -> None:
    query = wb.from_arrow(TABLE, time="at", partition="device").where(wb.col.x > 1).select("x")
    source, = optimize(query.node).sources()
    assert source.schema.names == ("device", "x")
    assert query.collect().column_names == ["start", "end", "x"]
    assert values(query) == [2, 4, 3]


def test_a_column_that_is_read_for_its_partitions_only_disturbs_no_join() -> None:
    left = wb.from_arrow(TABLE, time="at", partition="device").set_duration("1m")
    right = wb.from_arrow(TABLE.sort_by("at"), time="at").set_duration("1m")
    joined = left.join(right, on="y").where(wb.col.x < 3).select("x", "device_right")
    found = sorted((row["x"], row["device_right"]) for row in joined.collect().to_pylist())
    assert found == [(1, "a"), (1, "a"), (1, "b"), (1, "b"), (2, "a"), (2, "b"), (2, "b")]


@pytest.mark.parametrize(("partition", "error", "what"), [
    ("devise", SchemaError, "partition must be a column of the payload, got 'devise'"),
    (7, PlanError, "partition must be a column name or wb.PartitionWatermarks, got 7"),
    (wb.PartitionWatermarks("device", max_lag="-1s"), PlanError, "max_lag must be at least 0, got '-1s'"),
    (wb.PartitionWatermarks("device", max_lag="1s", every=0), PlanError, "every must be positive, got 0"),
    (wb.PartitionWatermarks("device", every="1s"), PlanError, "every='1s' needs max_lag: without it"),
    (wb.PartitionWatermarks("device", max_lag="1ms"), PlanError, "whole number of ticks (s), got '1ms'"),
])
def test_mistakes_are_named(partition: Any, error: type[Exception], what: str) -> None:
    with pytest.raises(error) as caught:
        wb.from_arrow(TABLE, time="at", partition=partition)
    assert what in str(caught.value)
    assert "from_arrow(..., time='at')" in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 8


def test_a_list_is_no_partition() -> None:
    with pytest.raises(SchemaError, match=r"must hold numbers, strings, times or booleans; 'p' is list<.*>"):
        wb.from_arrow({"t": [1], "p": [[1]]}, time="t", partition="p")


def test_edges_are_partitioned_by_their_payload() -> None:
    rows = {"sync": [5, 1], "other": [7, 3], "x": [1, 2]}
    assert EdgeSource(rows, sync="sync", other="other", partition="x").disorder.partition == "x"
    with pytest.raises(SchemaError, match="partition must be a column of the payload, got 'other'"):
        wb.from_edges(rows, sync="sync", other="other", partition="other")


def test_a_replay_keeps_the_partitions_of_its_log_or_has_its_own() -> None:
    rows = TABLE.append_column("seen", pa.array([1, 2, 3, 4], pa.timestamp("s", "UTC")))
    log = wb.from_arrow(rows, time="at", arrival="seen", partition=wb.PartitionWatermarks("device", max_lag="1m"))
    assert ordering(wb.replay(log, INFINITE)) == OrderingSpec(None, "raise", "device", 60)
    assert values(wb.replay(log, INFINITE)) == [2, 4, 1, 3]
    hasty = wb.replay(log, INFINITE, late="drop", partition=wb.PartitionWatermarks("device", max_lag="45s"),
                      reorder_latency="1s")
    assert ordering(hasty) == OrderingSpec(1, "drop", "device", 45)
    assert values(hasty) == [1, 3]


def test_a_replay_of_partitions_needs_max_lag() -> None:
    source = ArrowSource(TABLE, time="x", partition="device")
    with pytest.raises(PlanError) as caught:
        wb.replay(source)
    assert "A partitioned replay needs max_lag" in str(caught.value)
    assert "partition=wb.PartitionWatermarks(by='device', max_lag=" in str(caught.value)


def test_a_checkpoint_is_of_its_partitions(tmp_path: Path) -> None:
    run = wb.from_arrow(TABLE, time="at", partition="device").start()
    run.wait()
    run.checkpoint(tmp_path / "run")
    other = wb.from_arrow(TABLE, time="at", partition=wb.PartitionWatermarks("device", max_lag="1m"))
    with pytest.raises(CheckpointError, match=r"by device, lag=None, every=1, not .* by device, lag=60, every=1"):
        wb.restore(tmp_path / "run", other)


def test_late_rows_by_partitions_of_other_types() -> None:
    days = pa.array([datetime(2024, 1, 2, tzinfo=UTC), None, datetime(2024, 1, 2, tzinfo=UTC), None],
                    pa.timestamp("us", "UTC"))
    query = wb.from_arrow({"t": [5, 9, 3, 2], "day": days}, time="t", partition="day", late="drop")
    assert list(query.progressive())[-1].metrics.late_by_partition == {
        "table": {datetime(2024, 1, 2, tzinfo=UTC): 1, None: 1}}
