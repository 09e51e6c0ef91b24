"""Partitions: each has its own late rows, one low watermark bounds them all, and nothing depends on batches."""

from __future__ import annotations

from contextlib import closing
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whimbrel as wb
from whimbrel.batch import Batch
from whimbrel.clock import INF as INF_TIME
from whimbrel.clock import MIN_TIME
from whimbrel.disorder import EdgeIngress
from whimbrel.errors import DisorderError
from whimbrel.kernels import Tier, tier
from whimbrel.run import Execution
from whimbrel.run.checkpoint import load, save
from whimbrel.testing.oracle import INF, Event, Ingested, Punctuation, differences, partitioned_ingress

Arrival = Event | Punctuation
Late = Literal["raise", "drop", "adjust"]

POLICIES = st.sampled_from(("drop", "adjust", "drop", "adjust", "raise"))
PARTITIONS = st.sampled_from(("a", "b", "c", None))
TIMES = st.integers(-20, 60)


@st.composite
def arrivals(draw: st.DrawFn, *, marks: bool) -> list[Arrival]:
    """Rows of a few partitions in any order, with punctuations of some and of all of them in between."""
    row = st.tuples(TIMES, st.integers(1, 9) | st.just(None), PARTITIONS)
    mark = st.tuples(TIMES, st.just(0), PARTITIONS)
    found = draw(st.lists(st.one_of(row, row, row, mark) if marks else row, max_size=25))
    return [Punctuation(time, partition) if length == 0
            else (time, INF if length is None else time + length, {"part": partition, "n": number})
            for number, (time, length, partition) in enumerate(found)]


def stream(rows: list[Arrival], cuts: list[int], partition: wb.PartitionWatermarks, **options: Any) -> wb.Stream:
    """The rows, cut into batches, as a user would read them."""
    punctuation = [isinstance(row, Punctuation) for row in rows]
    plain = [(row.time, None, row.partition, -1) if isinstance(row, Punctuation)
             else (row[0], None if row[1] == INF else row[1], row[2]["part"], row[2]["n"]) for row in rows]
    starts, ends, parts, numbers = ([row[column] for row in plain] for column in range(4))
    table = pa.table({"at": pa.array(starts, pa.int64()), "until": pa.array(ends, pa.int64()),
                      "part": pa.array(parts, pa.string()), "n": pa.array(numbers, pa.int64()),
                      "punctuation": pa.array(punctuation, pa.bool_())})
    edges = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    cut = pa.concat_tables([table.slice(start, stop - start) for start, stop in pairwise(edges)])
    if any(punctuation):
        return wb.from_edges(cut, sync="at", other="until", punctuation="punctuation", partition=partition, **options)
    events = wb.from_arrow(cut.drop("punctuation"), time="at", end="until", partition=partition, **options)
    return events.select("part", "n")


def facts(table: pa.Table) -> list[Event]:
    return [(row.pop("start"), INF if (end := row.pop("end")) is None else end, row) for row in table.to_pylist()]


def expected(rows: list[Arrival], latency: int | None, late: Late, lag: int | None, every: int) -> Ingested | None:
    """None where a row is refused."""
    try:
        return partitioned_ingress(rows, latency, late, by="part", lag=lag, every=every)
    except DisorderError:
        return None


PROMISES = {"latency": st.integers(0, 12), "late": POLICIES, "lag": st.none() | st.integers(0, 25),
            "every": st.integers(1, 9), "cuts": st.lists(st.integers(0, 25), max_size=5)}


def promised(lag: int | None, every: int) -> wb.PartitionWatermarks:
    return wb.PartitionWatermarks("part", max_lag=lag, every=None if lag is None else every)


@pytest.mark.parametrize("marks", [False, True])
@settings(deadline=None)
@given(data=st.data(), **PROMISES)
def test_rows_are_late_exactly_if_they_are_for_the_oracle(marks: bool, data: st.DataObject, latency: int, late: Late,
                                                          lag: int | None, every: int, cuts: list[int]) -> None:
    rows = data.draw(arrivals(marks=marks))
    reference = expected(rows, latency, late, lag, every)
    query = stream(rows, cuts, promised(lag, every), reorder_latency=latency, late=late)
    if reference is None:
        with pytest.raises(DisorderError):
            query.collect()
        return
    with closing(Execution(query.node)) as session:
        while session.reader.rows < len(rows):
            session.step()
        metrics = session.answers[0].metrics()
        assert metrics.watermark == (None if reference.low == -INF else reference.low)
        while not session.finished:
            session.step()
        metrics, answer = session.answers[0].metrics(), facts(session.answers[0].settled())
    assert differences(reference.facts, answer) == ([], [])
    assert [start for start, _, _ in answer] == sorted(start for start, _, _ in answer)
    assert (metrics.late_dropped, metrics.late_adjusted) == (reference.dropped, reference.adjusted)
    assert metrics.late_by_partition == {query.sources[0].name: reference.late}


@settings(deadline=None)
@given(data=st.data(), at=st.integers(0, 25), **PROMISES)
def test_a_run_resumes_from_a_checkpoint(data: st.DataObject, at: int, latency: int, late: Late, lag: int | None,
                                         every: int, cuts: list[int]) -> None:
    rows = data.draw(arrivals(marks=data.draw(st.booleans())))
    reference = expected(rows, latency, late, lag, every)
    if reference is None:
        return
    query = stream(rows, cuts, promised(lag, every), reorder_latency=latency, late=late)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        with closing(Execution(query.node)) as session:
            for _ in range(at):
                session.step()
            save(session, path)
            before = session.answers[0].settled()
        with closing(Execution(query.node)) as session:
            load(session, path)
            while not session.finished:
                session.step()
            after, metrics = session.answers[0].settled(), session.answers[0].metrics()
    assert differences(reference.facts, facts(before) + facts(after)) == ([], [])
    assert metrics.late_by_partition == {query.sources[0].name: reference.late}


Edge = tuple[int, int | None, str | None, str]
"""Sync, other (as sync for a punctuation), partition, payload."""


@st.composite
def edges(draw: st.DrawFn) -> list[Edge]:
    """Starts and their ends, whole events, and punctuations of one or all partitions; times often meet."""
    rows: list[tuple[int, Edge]] = []
    for start, length, partition, payload in draw(st.lists(
            st.tuples(st.integers(0, 16), st.integers(1, 6), PARTITIONS, st.sampled_from("xy")), max_size=14)):
        kind = draw(st.sampled_from(("edges", "edges", "edges", "start", "whole", "mark")))
        came = start + draw(st.integers(0, 14))
        if kind == "mark":
            rows.append((came, (start, start, partition, payload)))
        elif kind == "whole":
            rows.append((came, (start, start + length, partition, payload)))
        else:
            rows.append((came, (start, None, partition, payload)))
        if kind == "edges":
            rows.append((max(came, start + length) + draw(st.integers(0, 6)),
                         (start + length, start, partition, payload)))
    return [row for _, row in sorted(rows, key=lambda row: row[0])]


def edge_stream(rows: list[Edge], cuts: list[int], **options: Any) -> wb.Stream:
    table = pa.table({"at": pa.array([row[0] for row in rows], pa.int64()),
                      "of": pa.array([row[1] for row in rows], pa.int64()),
                      "part": pa.array([row[2] for row in rows], pa.string()),
                      "n": pa.array([row[3] for row in rows], pa.string()),
                      "punctuation": pa.array([row[0] == row[1] for row in rows], pa.bool_())})
    bounds = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    cut = pa.concat_tables([table.slice(start, stop - start) for start, stop in pairwise(bounds)])
    return wb.from_edges(cut, sync="at", other="of", punctuation="punctuation", **options)


EDGE_PROMISES = {"latency": st.integers(0, 6), "late": st.sampled_from(("drop", "adjust")),
                 "lag": st.none() | st.integers(0, 12), "every": st.integers(1, 5),
                 "cuts": st.lists(st.integers(0, 30), max_size=5)}


@settings(deadline=None)
@given(rows=edges(), **EDGE_PROMISES)
def test_a_partition_is_a_source_of_its_own(rows: list[Edge], latency: int, late: Late, lag: int | None, every: int,
                                            cuts: list[int]) -> None:
    """The source of each partition gets a punctuation where the low watermark moves."""
    together = edge_stream(rows, cuts, partition=promised(lag, every), reorder_latency=latency, late=late)
    apart: list[Event] = []
    for partition in ("a", "b", "c", None):
        own: list[Edge] = []
        for sync, other, part, payload in rows:
            if sync == other and part in (partition, None):
                own.append((sync, sync, part, payload))
            elif sync != other:
                if lag is not None:
                    low = (sync - lag) // every * every
                    own.append((low, low, partition, payload))
                if part == partition:
                    own.append((sync, other, part, payload))
        apart += facts(edge_stream(own, [], reorder_latency=latency, late=late).collect())
    assert differences(apart, facts(together.collect())) == ([], [])


@settings(deadline=None)
@given(rows=edges(), **EDGE_PROMISES)
def test_edges_leave_in_order_when_the_low_watermark_has_passed(rows: list[Edge], latency: int, late: Late,
                                                                lag: int | None, every: int, cuts: list[int]) -> None:
    source, = edge_stream(rows, cuts, partition=promised(lag, every), reorder_latency=latency, late=late).sources
    kernel, reached, watermark = EdgeIngress(source), MIN_TIME, MIN_TIME

    def check(out: list[Batch]) -> None:
        nonlocal reached, watermark
        for sync in [int(time) for batch in out for time in batch.sync]:
            assert max(reached, watermark) <= sync <= kernel.watermark
            reached = sync
        watermark = kernel.watermark

    for batch in source.read(source.schema.names):
        assert batch is not None
        check(kernel.push(batch))
        kernel.fork().advance(INF_TIME)
    check(kernel.advance(INF_TIME))
    assert kernel.buffered_rows == sum(map(len, kernel.open.values())) + sum(map(len, kernel.moved.values()))
    assert sum(kernel.time.late_rows(9).values()) == kernel.late_dropped + kernel.late_adjusted


def test_an_event_that_is_moved_to_its_end_lasts_a_tick_in_its_partition_too() -> None:
    rows: list[Edge] = [(9, None, "a", "y"), (1, None, "a", "x"), (4, 1, "a", "x"), (10, None, "a", "z"),
                        (2, None, "b", "x"), (20, 20, None, "")]
    query = edge_stream(rows, [1, 2, 3], partition="part", late="adjust").aggregate(n=wb.count())
    assert [(row["start"], row["end"], row["n"]) for row in query.collect().to_pylist()] == [
        (2, 9, 1), (9, 10, 3), (10, None, 3)]


def test_a_punctuation_is_for_the_partition_that_it_names() -> None:
    rows: list[Edge] = [(9, 12, "a", "x"), (15, 15, "a", ""), (11, 12, "b", "x"), (11, 12, "a", "x")]
    with pytest.raises(DisorderError) as caught:
        edge_stream(rows, [], partition="part", reorder_latency=20).collect()
    assert caught.value.what == ("Row 3 of edges (part = 'a') is late, with a lateness of 4: 11 arrived when the "
                                 "watermark was 15.")


ROWS = {"at": [60, 10, 70, 20, 100, 30], "device": ["a", "b", "a", "b", "c", "b"], "x": [1, 2, 3, 4, 5, 6]}


def values(query: wb.Stream) -> list[int]:
    return query.select("x").collect().column("x").to_pylist()


@pytest.mark.parametrize("name", ["interpreted", "primitives"])
def test_a_slow_partition_is_late_for_the_low_watermark_only(name: Tier) -> None:
    with tier(name):
        assert values(wb.from_arrow(ROWS, time="at", partition="device")) == [2, 4, 6, 1, 3, 5]
        hasty = wb.from_arrow(ROWS, time="at", late="drop", partition=wb.PartitionWatermarks("device", max_lag=60,
                                                                                             every=10))
        assert values(hasty) == [2, 4, 1, 3, 5]


def test_what_all_partitions_have_passed_is_settled_though_one_of_them_is_silent() -> None:
    query = wb.from_arrow(ROWS, time="at", partition=wb.PartitionWatermarks("device", max_lag=25, every=20),
                          late="adjust")
    with closing(Execution(query.node)) as session:
        session.step()
        assert session.answers[0].settled().column("at").to_pylist() == [60]
        assert session.answers[0].metrics().watermark == 60
        assert session.snapshots([0])[0].table.column("start").to_pylist() == [60, 70, 100]
        assert session.answers[0].metrics().late_by_partition == {"table": {"b": 3}}


def test_without_a_lag_nothing_settles_before_the_end() -> None:
    query = wb.from_arrow(ROWS, time="at", partition="device")
    with closing(Execution(query.node)) as session:
        session.step()
        assert (session.answers[0].settled_rows, session.answers[0].metrics().watermark) == (0, None)


def test_a_late_row_is_reported_with_its_partition() -> None:
    late = ROWS | {"at": [60, 10, 70, 5, 100, 30]}
    with pytest.raises(DisorderError) as caught:
        values(wb.from_arrow(late, time="at", partition="device", name="log"))
    assert caught.value.what == ("Row 3 of log (device = 'b') is late, with a lateness of 5: 5 arrived after 10, "
                                 "with rows in time order.")


def test_an_error_of_a_row_before_the_low_watermark_has_a_hint() -> None:
    with pytest.raises(DisorderError) as caught:
        values(wb.from_arrow(ROWS, time="at", partition=wb.PartitionWatermarks("device", max_lag=45, every=10),
                             name="log"))
    assert caught.value.what == ("Row 5 of log (device = 'b') is late, with a lateness of 20: 30 arrived when the "
                                 "watermark was 50.")
    assert "a longer lag" in str(caught.value)


def test_two_sources_of_one_name_are_counted_together() -> None:
    left, right = (wb.from_arrow(ROWS, time="at", partition=wb.PartitionWatermarks("device", max_lag=lag), late="drop")
                   for lag in (35, 60))
    last = list(left.union(right).progressive())[-1].metrics
    assert last.late_by_partition == {"table": {"b": 4}}
    assert last.late_dropped == 4


def test_history_is_read_whole_unless_its_partitions_have_a_lag() -> None:
    rows = ROWS | {"at": [60, 10, 50, 5, 100, 30], "seen": [1, 2, 3, 4, 5, 6]}
    assert values(wb.from_arrow(rows, time="at", arrival="seen", partition="device")) == [4, 2, 6, 3, 1, 5]
    lagging = wb.PartitionWatermarks("device", max_lag=50)
    with pytest.raises(DisorderError, match=r"Row 3 .*lateness of 5: 5 arrived when the watermark was 10"):
        values(wb.from_arrow(rows, time="at", arrival="seen", partition=lagging))
    assert values(wb.from_arrow(rows, time="at", arrival="seen", partition=lagging, late="drop")) == [2, 3, 1, 5]


@pytest.mark.parametrize(("newest", "watermark"), [(-1, None), (5, 1 - 2**63), (8, 8 - 2**63)])
def test_a_low_watermark_at_the_beginning_of_time(newest: int, watermark: int | None) -> None:
    rows = {"at": [-(2**63), newest], "p": ["a", "b"], "x": [1, 2]}
    query = wb.from_arrow(rows, time="at", partition=wb.PartitionWatermarks("p", max_lag=2**63 - 1, every=7))
    with closing(Execution(query.node)) as session:
        session.step()
        assert session.answers[0].metrics().watermark == watermark
    assert values(query) == [1, 2]
