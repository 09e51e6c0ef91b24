"""Late or on time: decided row by row, whatever the batches."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import whimbrel as wb
from whimbrel.batch import Batch
from whimbrel.clock import INF, round_spans
from whimbrel.disorder import Ingress
from whimbrel.errors import DisorderError

Facts = list[tuple[int, int]]


def ingress(
    times: Sequence[int], cuts: Sequence[int], *, latency: int, late: str, duration: int = 1
) -> tuple[Facts, Ingress]:
    table = pa.table(
        {"at": pa.array(times, pa.int64()), "until": pa.array([time + duration for time in times], pa.int64())}
    )
    source = wb.from_arrow(table, time="at", end="until", reorder_latency=latency, late=late).sources[0]
    kernel = Ingress(source)
    whole = Batch.concat(
        [batch for batch in source.read([]) if batch is not None] or [Batch.empty(source.schema.select([]))]
    )
    out: list[Batch] = []
    edges = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    for start, stop in pairwise(edges):
        out += kernel.push(whole.slice(start, stop))
        assert all(batch.sync.max() <= kernel.watermark for batch in out if len(batch))
    out += kernel.advance(INF)
    return [(int(start), int(end)) for batch in out for start, end in zip(batch.sync, batch.other, strict=True)], kernel


def reference(times: Sequence[int], latency: int, late: str, duration: int) -> tuple[Facts, int, int]:
    """The late policies of docs/semantics.md, a row at a time."""
    current = high = -(10**18)
    kept, dropped, adjusted = [], 0, 0
    for time in times:
        high = max(high, time)
        current = max(current, high - latency)
        if time >= current:
            kept.append((time, time + duration))
        elif late == "adjust" and current < time + duration:
            kept.append((current, time + duration))
            adjusted += 1
        else:
            dropped += 1
    return sorted(kept), dropped, adjusted


@given(
    st.lists(st.integers(-20, 20)),
    st.lists(st.integers(0, 30), max_size=5),
    st.integers(0, 15),
    st.sampled_from(["drop", "adjust"]),
    st.integers(1, 12),
)
def test_the_late_policy_applies_to_each_row(
    times: list[int], cuts: list[int], latency: int, late: str, duration: int
) -> None:
    facts, kernel = ingress(times, cuts, latency=latency, late=late, duration=duration)
    kept, dropped, adjusted = reference(times, latency, late, duration)
    assert sorted(facts) == kept
    assert [start for start, _ in facts] == sorted(start for start, _ in facts)
    assert (kernel.late_dropped, kernel.late_adjusted, kernel.rows) == (dropped, adjusted, len(times))


def test_a_late_row_is_named_with_what_to_do_about_it() -> None:
    table = pa.table({"at": pa.array([10, 20, 5], pa.timestamp("s"))})
    with pytest.raises(DisorderError) as caught:
        wb.from_arrow(table, time="at", name="log").collect()
    text = str(caught.value)
    assert "Row 2 of log is late, with a lateness of 15 s" in text
    assert "1970-01-01 00:00:05 arrived after 1970-01-01 00:00:20, with rows in time order" in text
    assert 'where: time="at"' in text
    assert "reorder_latency" in text
    assert len(text.splitlines()) <= 8
    assert "Use arrival=wb.FILE_ORDER to sort a bounded log in memory." in text
    assert wb.from_arrow(table, time="at", arrival=wb.FILE_ORDER).collect()["at"] == table["at"].take([2, 0, 1])


def test_a_row_exactly_as_late_as_promised_is_on_time() -> None:
    assert ingress([10, 5], [], latency=5, late="drop")[0] == [(5, 6), (10, 11)]
    assert ingress([10, 4], [], latency=5, late="drop")[0] == [(10, 11)]


def test_history_is_read_whole_and_sorted_stably() -> None:
    table = pa.table({"at": [3, 1, 3, 2], "seen": [4, 5, 6, 7], "n": [0, 1, 2, 3]})
    out = wb.from_arrow(table, time="at", arrival="seen").collect()
    assert out.column("n").to_pylist() == [1, 3, 0, 2]


def test_memory_is_what_is_buffered() -> None:
    times = np.arange(0, 100_000, dtype=np.int64)
    _, kernel = ingress(times, range(0, 100_000, 1_000), latency=500, late="drop")
    assert kernel.sorter.rows == 0


def test_a_feed_counts_how_late_its_rows_are_however_they_are_cut() -> None:
    times = [1, 5, 3, 90, 2, 91, 60, 88]
    log = wb.from_arrow(pa.table({"at": pa.array(times, pa.timestamp("s"))}), time="at", name="log")
    source = wb.replay(log, speed=float("inf"), reorder_latency=10, late="drop").sources[0]
    whole = Batch.concat([batch for batch in log.sources[0].read([]) if batch is not None])
    for cuts in ([0, 8], [0, 1, 2, 5, 8]):
        kernel = Ingress(source)
        for start, stop in pairwise(cuts):
            kernel.push(whole.slice(start, stop))
        counted = dict(zip(round_spans("s"), kernel.late_by.tolist(), strict=True))
        assert {span: rows for span, rows in counted.items() if rows} == {0: 4, 2: 1, 5: 1, 60: 1, 120: 1}


def test_a_log_that_can_be_read_again_is_not_measured_on_the_way() -> None:
    assert ingress([3, 1, 2], [1], latency=5, late="drop")[1].late_by is None


def test_a_run_tells_how_late_the_rows_of_its_feeds_are() -> None:
    rows = [{"at": time} for time in (1, 5, 3, 9, 2)]
    feed = wb.feeds.iterator(iter(rows), schema=pa.schema({"at": pa.int64()}), time="at", reorder_latency=3,
                             late="drop", name="feed")
    run = feed.aggregate(n=wb.count()).start()
    assert run.wait(30)
    assert run.metrics.late_by == {"feed": {0: 3, 2: 1, 10: 1}}
    assert run.metrics.late_dropped == 1
