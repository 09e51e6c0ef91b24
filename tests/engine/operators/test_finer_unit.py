"""finer_unit: streams that meet count time in the finest of their units, exactly or not at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.batch import Batch, Column, Field, Schema
from whimbrel.clock import INF, MIN_TIME
from whimbrel.errors import KernelError, PlanError
from whimbrel.operators.rows.finer_unit import FinerUnit
from whimbrel.optimize import optimize
from whimbrel.plan import Properties, TimeGrid
from whimbrel.run import Pipeline
from whimbrel.run.source_reader import SourceReader


def log(unit: str, *at: int, zone: str | None = None, **columns: Any) -> wb.Stream:
    table = {"at": pa.array(at, pa.timestamp(unit, zone)), "k": pa.array(["a"] * len(at), pa.string()), **columns}
    return wb.from_arrow(table, time="at", end="until" if "until" in columns else None, name=f"in {unit}")


MS = log("ms", 900, 1_000, 1_999)
PLAIN = wb.from_arrow({"at": [1], "k": ["a"]}, time="at")


@pytest.mark.parametrize(("left", "right", "hint"), [
    (log("s", 1), PLAIN, "integers have no unit"),
    (PLAIN, MS, "integers have no unit"),
    (log("s", 1), log("ms", 1, zone="UTC"), "local times are no instants"),
    (log("s", 1, zone="Europe/Oslo"), log("ms", 1, zone="UTC"), "time zone of the other"),
    (log("s", 1, zone="Europe/Oslo"), log("s", 1, zone="UTC"), "time zone of the other"),
])
def test_what_is_not_a_matter_of_units_is_refused(left: wb.Stream, right: wb.Stream, hint: str) -> None:
    for meet in (lambda: left.join(right, on="k"), lambda: left.asof_join(right), lambda: left.union(right),
                 lambda: left.semi_join(right, on="k"), lambda: left.clip_at(right, on="k")):
        with pytest.raises(PlanError, match="must have one type of time") as caught:
            meet()
        assert hint in str(caught.value)


def test_an_error_names_the_number_of_the_stream_that_differs() -> None:
    with pytest.raises(PlanError, match="stream 2 of 2"):
        MS.union(log("s", 1), PLAIN)


@pytest.mark.parametrize("seconds", [2**62, -(2**62), 9_223_372_037, -9_223_372_037])
def test_a_time_that_the_finer_unit_cannot_hold_is_refused(seconds: int) -> None:
    far, near = log("s", *sorted((0, seconds))), log("ns", 0)
    for asked in (far.join(near, on="k"), far.select("k").union(near.select("k")), far.asof_join(near)):
        with pytest.raises(KernelError, match="is outside the range of ns, the time unit of the other"):
            asked.collect()


def test_the_last_second_that_fits_is_kept() -> None:
    edge = log("s", 9_223_372_036, until=pa.array([None], pa.timestamp("s"))).select("k")
    table = edge.union(log("ns", 0).select("k")).collect()
    assert table["start"].cast(pa.int64()).to_pylist() == [0, 9_223_372_036 * 10**9]
    assert table["end"].to_pylist()[1] is None


@pytest.mark.parametrize("until", [9_223_372_037, 2**50])
def test_an_end_that_the_finer_unit_cannot_hold_is_refused(until: int) -> None:
    long = log("s", 1, until=pa.array([until], pa.timestamp("s"))).select("k")
    with pytest.raises(KernelError, match=r"The event at 1970-01-01 00:00:01 is outside the range of ns"):
        long.union(log("ns", 0).select("k")).collect()


def test_rows_that_were_filtered_out_need_not_fit() -> None:
    far = log("s", 1, 2**40, x=[1, 2])
    near = log("ns", 0, x=[3])
    assert far.where(col.x < 2).union(near).collect()["x"].to_pylist() == [3, 1]


def test_a_union_widens_columns_too_or_refuses() -> None:
    first = log("ms", 1, seen=pa.array([None], pa.timestamp("s")), took=pa.array([2], pa.duration("s")))
    other = log("ms", 2, seen=pa.array([5], pa.timestamp("us")), took=pa.array([7], pa.duration("ms")))
    both = first.union(other)
    assert [str(both.schema.type_of(name)) for name in ("seen", "took")] == ["timestamp[us]", "duration[ms]"]
    assert both.collect()["took"].cast(pa.int64()).to_pylist() == [2_000, 7]
    assert "columns=['seen', 'took']" in both.explain()
    far = log("ms", 1, seen=pa.array([2**40], pa.timestamp("s")))
    with pytest.raises(KernelError, match=r"A value of column 'seen' does not fit into timestamp\[ns\]"):
        far.union(log("ms", 2, seen=pa.array([5], pa.timestamp("ns")))).collect()


def test_a_date_meets_a_time() -> None:
    days = wb.from_arrow({"at": pa.array([1], pa.date32()), "k": ["a"]}, time="at", name="days")
    assert days.union(MS).collect()["at"].cast(pa.int64()).to_pylist() == [900, 1_000, 1_999, 86_400_000]


def test_points_stay_points_and_windows_stay_as_long() -> None:
    counts = log("s", 1, 2).tumbling_window(1).aggregate(n=wb.count())
    other = MS.tumbling_window("1s").aggregate(n=wb.count())
    spans = [row["end"] - row["start"] for row in counts.union(other).collect().to_pylist()]
    assert {span.total_seconds() for span in spans} == {1.0}
    spans = [row["end"] - row["start"] for row in log("s", 1, 2).union(MS).collect().to_pylist()]
    assert {span.total_seconds() for span in spans} == {0.001}


def test_other_data_may_have_ends_where_these_are_points() -> None:
    asked = log("s", 1).select("k").join(MS.select("k"), on="k")
    ends = log("s", 1, until=pa.array([3], pa.timestamp("s")))
    assert [len(asked.on({"in s": data}).collect()) for data in (log("s", 1), ends)] == [1, 2]


def test_edges_and_watermarks_are_converted_to_the_finer_unit() -> None:
    schema = Schema((Field("x", pa.int64()),), "s")
    finer = FinerUnit(unit="s", finer="ms")
    kernel = finer.kernel(schema)
    column = Column(pa.int64(), pa.array([1, 2, 3]).to_numpy())
    edges = Batch(schema, np.array([1, 2, 3]), np.array([INF, 1, 5]), (column,), ids=np.array([0, 0, 1]))
    out, = kernel.push(edges)
    assert (out.sync.tolist(), out.other.tolist()) == ([1000, 2000, 3000], [INF, 1000, 5000])
    assert np.array_equal(out.ids, edges.ids)
    for watermark, expected in ((MIN_TIME, MIN_TIME), (7, 7_000), (INF, INF), (2**62, INF - 1)):
        kernel.advance(watermark)
        assert kernel.watermark == expected
    known = finer.properties(Properties(duration=5, time_grid=TimeGrid(5, 2)))
    assert (known.duration, known.time_grid) == (5_000, TimeGrid(5_000, 2_000))


def test_ticks_of_a_tolerance_are_of_the_finer_unit() -> None:
    found = log("s", 2).select("k").asof_join(MS.with_columns(n=1).select("n"), tolerance=1)
    assert found.collect()["n"].to_pylist() == [1]
    assert log("s", 3).select("k").asof_join(MS.with_columns(n=1).select("n"), tolerance=1_000).collect()[
        "n"].to_pylist() == [None]


def test_the_lineage_of_a_result_is_found_through_it() -> None:
    asked = log("s", 1, 2, x=[5, 6]).join(MS.with_columns(y=col.at).drop("at"), on="k")
    found = asked.lineage(start="1970-01-01 00:00:01")
    assert {name: table["start"].cast(pa.int64()).to_pylist() for name, table in found.events.items()} == {
        "in s": [1], "in ms": [1_000]}
    assert found.rerun().to_pylist() == asked.collect().to_pylist()


def late(unit: str, name: str) -> wb.Stream:
    factor = {"s": 1, "ms": 1_000}[unit]
    table = {column: pa.array([factor * value for value in values], pa.timestamp(unit))
             for column, values in (("at", [1, 9, 4, 12, 7]), ("seen", [1, 9, 10, 12, 13]))}
    return wb.from_arrow(table, time="at", arrival="seen", name=name)


@pytest.mark.parametrize("latency", ["1ms", "2s", "4500ms", "5s", "6s"])
def test_several_latencies_are_of_each_sources_own_ticks(latency: str) -> None:
    def answers(unit: str) -> list[list[dict[str, Any]]]:
        both = late(unit, "left").union(late("ms", "right"))
        bands = both.tumbling_window("2s").aggregate(n=wb.count()).at_latencies(0, latency)
        return [stream.collect().to_pylist() for stream in bands]

    assert answers("s") == answers("ms")


def test_metrics_are_in_the_unit_of_the_answer() -> None:
    run = log("s", 10).union(log("ms", 9_000)).start()
    assert run.wait(30)
    assert str(run.metrics.newest) == "1970-01-01 00:00:10"


@pytest.mark.parametrize(("unit", "expected"), [("s", 1), ("us", 1_999_000)])
def test_progress_of_other_sources_is_converted_to_the_ticks_of_a_source(unit: str, expected: int) -> None:
    empty, busy = log(unit), MS
    asked = empty.select("k").union(busy.select("k"))
    reader = SourceReader(Pipeline(optimize(asked.node)))
    numbers = {source.name: number for number, source in enumerate(reader.pipeline.sources)}
    while not reader.finished and reader.pipeline.ingresses[numbers["in ms"]].newest < 1_999:
        reader.step()
    assert reader._met(numbers[f"in {unit}"]) == expected


def test_the_source_with_the_lowest_watermark_is_read_next() -> None:
    asked = log("s", *range(1_000)).select("k").union(log("ms", *range(0, 1_000_000, 1_000)).select("k"))
    reader = SourceReader(Pipeline(optimize(asked.node)))
    while not reader.finished:
        reader.step()
        seconds = [ingress.newest / (1 if ingress.source.schema.unit == "s" else 1_000)
                   for ingress in reader.pipeline.ingresses if ingress.rows]
        assert max(seconds) - min(seconds) <= 512
