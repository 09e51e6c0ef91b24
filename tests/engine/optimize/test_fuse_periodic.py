"""What runs on a beat answers as the same steps do with a timeline."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import Stream, WhimbrelError, col
from whimbrel.errors import KernelError
from whimbrel.kernels import Tier, tier
from whimbrel.optimize import optimize
from whimbrel.plan import Node
from whimbrel.run import Pipeline, time_partitions
from whimbrel.run.time_partitions import in_ranges
from whimbrel.temporal import periodic_kernel
from whimbrel.testing.conformance.restart import Halting

ROWS = 400

Query = Callable[[Stream], Stream]


def means(log: Stream, width: int) -> Stream:
    return log.sliding_window(width).aggregate(m=wb.mean(col.x), n=wb.count())


def normalised(log: Stream) -> Stream:
    whole = log.tumbling_window(50).aggregate(m=wb.mean(col.x), sd=wb.std(col.x))
    return log.cross_join(whole, allow_lookahead=True).select("x", z=(col.x - col.m) / col.sd)


def imputed(log: Stream) -> Stream:
    whole = log.tumbling_window(50).aggregate(m=wb.mean(col.x))
    return whole.cross_join(log.select(v=col.x), allow_lookahead=True)


def slopes(log: Stream) -> Stream:
    """Means, and differences of means, each used several times, as in the detection of heart beats."""
    low = means(log, 4)
    passed = low.shift(5).cross_join(low.sliding_window(6).aggregate(s=wb.sum(col.m))).select(d=col.m - col.s)
    near = passed.cross_join(passed.select(later=col.d).shift(-2), allow_lookahead=True)
    return near.cross_join(passed.where(col.d > 0).select(before=col.d).shift(3), allow_lookahead=True).select(
        d=col.later - col.before)


def whole_of_means(log: Stream) -> Stream:
    joined = means(log, 5).cross_join(log.tumbling_window(20).aggregate(t=wb.sum(col.k)), allow_lookahead=True)
    return joined.cross_join(joined.select(b=col.m + col.t).shift(4), allow_lookahead=True)


QUERIES: dict[str, Query] = {
    "used several times": slopes,
    "used twice, with windows": whole_of_means,
    "sums": lambda log: log.sliding_window(20).aggregate(total=wb.sum(col.k), n=wb.count(col.x)),
    "extremes": lambda log: log.sliding_window(7).aggregate(low=wb.min(col.x), high=wb.max(col.k)),
    "one row": lambda log: log.sliding_window(1).aggregate(total=wb.sum(col.k)),
    "longer than all": lambda log: log.sliding_window(1_000).aggregate(total=wb.sum(col.k)),
    "moments": lambda log: log.sliding_window(9).aggregate(sd=wb.std(col.x), v=wb.var(col.k)),
    "first and last": lambda log: log.sliding_window(9).aggregate(f=wb.first(col.x), l=wb.last(col.k)),
    "conditions": lambda log: log.where(col.k > 3).sliding_window(9).aggregate(
        n=wb.count().where(col.x > 0), total=wb.sum(col.x).where(col.k < 8)),
    "computed": lambda log: log.sliding_window(9).aggregate(share=wb.sum(col.x) / wb.count()),
    "aggregate of aggregates": lambda log: means(log, 5).sliding_window(10).aggregate(high=wb.max(col.m)),
    "two means": lambda log: means(log, 5).cross_join(means(log, 20)).select(d=col.m - col.m_right).where(col.d > 0),
    "condition of a join": lambda log: means(log, 5).cross_join(means(log, 20), where=col.m > col.m_right),
    "difference": lambda log: log.cross_join(log.select(before=col.x).shift(1)).select(d=col.x - col.before)
    .sliding_window(14).aggregate(up=wb.sum(col.d).where(col.d > 0)),
    "left without partners": lambda log: log.cross_join(log.where(col.k > 4).select(y=col.x), how="left"),
    "window of a left join": lambda log: log.cross_join(means(log.where(col.k > 4), 3), how="left").sliding_window(
        9).aggregate(t=wb.sum(col.m), n=wb.count()),
    "left join of windows": lambda log: means(log, 5).cross_join(
        log.where(col.k > 4).select(y=col.x).shift(3), how="left").select(z=col.m * col.y),
    "earlier": lambda log: log.cross_join(log.select(after=col.x).shift(-3), allow_lookahead=True),
    "normalised": normalised,
    "tumbling and imputed": imputed,
    "offset": lambda log: log.cross_join(log.tumbling_window(30, offset=7).aggregate(n=wb.count()),
                                         allow_lookahead=True),
    "user's own": lambda log: log.sliding_window(5).aggregate(total=wb.aggregate(
        init=0, accumulate=lambda s, x: s + 3 * x, merge=lambda s, t: s + t, result=lambda s: s)(col.k)),
    "outer": lambda log: log.tumbling_window(30).aggregate(n=wb.count()).cross_join(
        log.where(col.k > 4), allow_lookahead=True).select("n", "x"),
}


def table(times: np.ndarray[Any, Any]) -> pa.Table:
    random = np.random.default_rng(len(times))
    nulls = random.random(len(times)) < 0.1
    return pa.table({"at": times, "x": pa.array(random.normal(size=len(times)).round(3), mask=nulls),
                     "k": random.integers(0, 10, len(times))})


def regular() -> np.ndarray[Any, Any]:
    return np.arange(-37, ROWS - 37)


def irregular() -> np.ndarray[Any, Any]:
    return np.flatnonzero(np.random.default_rng(3).random(2 * ROWS) < 0.6) - 100


def with_gaps() -> np.ndarray[Any, Any]:
    parts = [np.arange(10), np.arange(500, 700), np.arange(10**9, 10**9 + 100), np.array([10**15])]
    return np.concatenate(parts)


TIMES = {"regular": regular, "irregular": irregular, "gaps": with_gaps, "one": lambda: np.array([5]),
         "none": lambda: np.empty(0, np.int64)}


def rows(answer: pa.Table) -> list[tuple[Any, ...]]:
    exact = zip(*(column.to_pylist() for column in answer.columns), strict=True)
    return sorted((tuple(round(value, 9) if isinstance(value, float) else value for value in row) for row in exact),
                  key=repr)


def both(name: str, times: np.ndarray[Any, Any]) -> tuple[Stream, Stream]:
    """The query over a stream that is known to have one event at a time, and over one that just has."""
    log = wb.from_arrow(table(times), time="at", name="log")
    return QUERIES[name](log.assume(non_overlapping=True)), QUERIES[name](log)


@pytest.mark.share(6)
@pytest.mark.parametrize("block", [3, 64, 65_536])
@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("name", QUERIES)
def test_the_answer_is_the_same(name: str, times: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(periodic_kernel, "RANGE", block)
    fused, plain = both(name, TIMES[times]())
    assert "periodic_loop" in fused.explain()
    assert "periodic_loop" not in plain.explain()
    assert rows(fused.collect()) == rows(plain.collect())


@pytest.mark.parametrize("by", ["interpreted", "primitives", "fused"])
@pytest.mark.parametrize("name", ["sums", "extremes", "moments", "normalised", "two means"])
def test_on_all_tiers(name: str, by: Tier) -> None:
    fused, plain = both(name, irregular())
    with tier(by):
        assert rows(fused.collect()) == rows(plain.collect())


@pytest.mark.share(3)
@pytest.mark.parametrize("size", [1, 7, 100])
@pytest.mark.parametrize("name", QUERIES)
def test_batches_change_nothing_to_the_last_bit(name: str, size: int) -> None:
    fused, _ = both(name, irregular())
    whole = rows(fused.collect())
    pieces = table(irregular()).to_batches(max_chunksize=size)
    log = wb.from_arrow(pa.Table.from_batches(pieces), time="at", name="log").assume(non_overlapping=True)
    assert rows(QUERIES[name](log).collect()) == whole


@pytest.mark.parametrize("name", ["two means", "normalised", "difference", "aggregate of aggregates",
                                  "used several times"])
def test_early_answers_are_those_of_a_stream_that_ends(name: str) -> None:
    fused, plain = both(name, irregular())
    early = [rows(snapshot.table) for snapshot in fused.progressive(every=50, order="time")]
    assert early == [rows(snapshot.table) for snapshot in plain.progressive(every=50, order="time")]


@pytest.mark.parametrize("times", [regular, irregular])
@pytest.mark.parametrize("name", QUERIES)
def test_two_threads_take_ranges_of_time(name: str, times: Callable[[], np.ndarray[Any, Any]],
                                         monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_partitions, "_FEWEST_ROWS", 40)
    monkeypatch.setattr(time_partitions, "_HALO_SHARE", 3.0)
    fused, _ = both(name, times())
    assert name == "longer than all" or len(in_ranges(fused.node, 2)) > 1
    assert rows(fused.collect(threads=2)) == rows(fused.collect(threads=1))


@pytest.mark.parametrize("rows_before", [1, 150, 350])
@pytest.mark.parametrize("name", ["two means", "normalised", "difference", "used several times"])
def test_before_and_after_a_checkpoint(name: str, rows_before: int, tmp_path: Path) -> None:
    fused, _ = both(name, irregular())
    halting = Stream(Node(Halting(fused.sources[0], rows_before))).assume(non_overlapping=True)
    run = QUERIES[name](halting).start()
    while run.snapshot().metrics.rows < rows_before:
        pass
    run.pause()
    run.checkpoint(tmp_path / "run")
    later = wb.restore(tmp_path / "run", fused)
    assert later.wait(30)
    shot = run.snapshot()
    assert rows(pa.concat_tables([shot.table.slice(0, shot.settled), later.snapshot().table])) == rows(fused.collect())
    run.stop()


def test_a_longer_period() -> None:
    times = 3 + 10 * np.arange(200)
    log = wb.from_arrow({"at": times, "until": times + 10, "x": np.arange(200)}, time="at", end="until", name="log")

    def query(s: Stream) -> Stream:
        return s.cross_join(s.select(y=col.x).shift(20)).sliding_window(50).aggregate(t=wb.sum(col.y))

    fused = query(log.assume(periodic=10, duration=10))
    assert "periodic_loop(10:" in fused.explain()
    assert rows(fused.collect()) == rows(query(log).collect())


TWO_BEATS: dict[str, Callable[[Stream, Stream], Stream]] = {
    "on the line between": lambda points, steps: points.cross_join(steps).select(z=col.x + (col.to - col.x) / 4),
    "the other way": lambda points, steps: steps.cross_join(points).select("k", z=col.x * col.to),
    "selected first": lambda points, steps: points.where(col.k > 3).cross_join(steps.select(d=col.to - col.x)),
    "condition": lambda points, steps: points.cross_join(steps.where(col.x > 0), where=col.k > col.to),
    "later": lambda points, steps: points.cross_join(steps).shift(10).cross_join(points.select(now=col.k)),
    "earlier": lambda points, steps: points.cross_join(steps).shift(-10).cross_join(
        points.select(now=col.k), allow_lookahead=True),
    "window": lambda points, steps: points.cross_join(steps).sliding_window(35).aggregate(m=wb.mean(col.x)),
    "with a window": lambda points, steps: points.cross_join(points.sliding_window(15).aggregate(
        n=wb.sum(col.k))).cross_join(steps),
}


def two_beats(every: int, other: int, known: bool, size: int = ROWS) -> tuple[Stream, Stream]:
    """Points of one tick, and steps that begin earlier or later and last until the next."""
    random = np.random.default_rng(every)
    at, begins = 7 + every * np.arange(300), -41 + other * np.arange(300)
    given = pa.table({"at": at, "k": random.integers(0, 10, 300)})
    x = random.normal(size=301).round(3)
    held = pa.table({"at": begins, "until": begins + other, "x": x[:-1], "to": pa.array(
        x[1:], mask=random.random(300) < 0.1)})
    points, steps = (wb.from_arrow(pa.Table.from_batches(table.to_batches(max_chunksize=size)), time="at", end=end,
                                   name=name)
                     for table, end, name in ((given, None, "points"), (held, "until", "steps")))
    if not known:
        return points, steps
    return points.assume(periodic=every), steps.assume(periodic=other, duration=other)


@pytest.mark.share(4)
@pytest.mark.parametrize("block", [3, 65_536])
@pytest.mark.parametrize(("every", "other"), [(5, 4), (5, 5), (5, 25), (5, 1), (1, 3)])
@pytest.mark.parametrize("name", TWO_BEATS)
def test_two_beats(name: str, every: int, other: int, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(periodic_kernel, "RANGE", block)
    fused, plain = (TWO_BEATS[name](*two_beats(every, other, known)) for known in (True, False))
    plan = fused.explain().split("runs as")[1]
    assert "periodic_loop" in plan
    assert "─ cross_join" not in plan
    assert rows(fused.collect()) == rows(plain.collect())


@pytest.mark.parametrize("size", [1, 7])
@pytest.mark.parametrize("name", TWO_BEATS)
def test_two_beats_in_batches(name: str, size: int) -> None:
    assert rows(TWO_BEATS[name](*two_beats(5, 4, True, size)).collect()) == rows(
        TWO_BEATS[name](*two_beats(5, 4, True)).collect())


@pytest.mark.parametrize("name", TWO_BEATS)
def test_two_beats_early(name: str) -> None:
    fused, plain = ({shot.metrics.rows: rows(shot.table) for shot in TWO_BEATS[name](
        *two_beats(5, 4, known, 50)).progressive(every=50, order="time")} for known in (True, False))
    both_times = fused.keys() & plain.keys()  # a slow machine looks less often
    assert len(both_times) > 2
    assert all(fused[at] == plain[at] for at in both_times)


@pytest.mark.parametrize("rows_before", [1, 30, 250])
@pytest.mark.parametrize("name", ["later", "window"])
def test_two_beats_before_and_after_a_checkpoint(name: str, rows_before: int, tmp_path: Path) -> None:
    points, steps = two_beats(5, 4, True, 20)
    halting = Stream(Node(Halting(points.sources[0], rows_before))).assume(periodic=5)
    whole = TWO_BEATS[name](points, steps)
    run = TWO_BEATS[name](halting, steps).start()
    while run.snapshot().metrics.rows < rows_before:
        pass
    run.pause()
    run.checkpoint(tmp_path / "run")
    later = wb.restore(tmp_path / "run", whole)
    assert later.wait(30)
    shot = run.snapshot()
    assert rows(pa.concat_tables([shot.table.slice(0, shot.settled), later.snapshot().table])) == rows(whole.collect())
    run.stop()


def test_two_beats_of_which_one_is_empty() -> None:
    points, steps = two_beats(5, 4, True)
    for query in (points.where(col.k > 100), points):
        assert query.cross_join(steps.where(col.x > 100)).collect().num_rows == 0
    nothing = np.empty(0, np.int64)
    empty = wb.from_arrow({"at": nothing, "until": nothing, "x": nothing}, time="at", end="until", name="none")
    fused = points.cross_join(empty.assume(periodic=4, duration=4))
    assert "periodic_loop" in fused.explain()
    assert fused.collect().num_rows == 0


def test_little_is_remembered_of_another_beat_while_there_are_no_points() -> None:
    points, steps = two_beats(5, 4, True)
    pipeline = Pipeline(optimize(TWO_BEATS["later"](points, steps).node))
    names = [source.name for source in pipeline.sources]
    first, second = names.index("points"), names.index("steps")
    source = pipeline.sources[second]
    for batch in source.read(source.schema.names):
        assert batch is not None
        pipeline.push(second, batch)
    assert sum(kernel.buffered_rows for kernel in pipeline.kernels) == 300
    pipeline.advance(second, 1_000)
    pipeline.advance(first, 1_000)
    assert sum(kernel.buffered_rows for kernel in pipeline.kernels) < 60


@pytest.mark.parametrize("name", TWO_BEATS)
def test_two_beats_by_two_threads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_partitions, "_FEWEST_ROWS", 30)
    monkeypatch.setattr(time_partitions, "_HALO_SHARE", 3.0)
    fused = TWO_BEATS[name](*two_beats(5, 4, True, 20))
    assert len(in_ranges(fused.node, 2)) > 1
    assert rows(fused.collect(threads=2)) == rows(fused.collect(threads=1))


@pytest.mark.parametrize("query", [
    lambda _, steps: steps.cross_join(steps.select(y=col.x)),  # the same points after all
    lambda points, steps: steps.cross_join(points.sliding_window(10).aggregate(n=wb.count())),
    lambda points, steps: points.cross_join(steps.sliding_window(8).aggregate(s=wb.sum(col.x))),
    lambda points, steps: points.shift(3).cross_join(steps),
    lambda points, _: points.cross_join(points.select(l=col.k).shift(1)),
    lambda points, _: points.sliding_window(7).aggregate(n=wb.count(), t=wb.sum(col.k)),
    lambda points, _: points.cross_join(points.tumbling_window(10).aggregate(n=wb.count()), allow_lookahead=True),
])
def test_what_does_not_meet_at_points(query: Callable[[Stream, Stream], Stream]) -> None:
    fused, plain = (query(*two_beats(5, 4, known)) for known in (True, False))
    assert rows(fused.collect()) == rows(plain.collect())


@pytest.mark.parametrize("query", [
    lambda log: log.group_by("k").sliding_window(5).aggregate(n=wb.count()),
    lambda log: log.sliding_window(5).aggregate(m=wb.median(col.x)),
    lambda log: log.where(col.x > 0).select("k"),
    lambda log: log.select(t=wb.start_time()).sliding_window(5).aggregate(f=wb.last(col.t)).select(s=wb.start_time()),
])
def test_what_needs_a_timeline_keeps_it(query: Query) -> None:
    log = wb.from_arrow(table(irregular()), time="at", name="log")
    assert rows(query(log.assume(non_overlapping=True)).collect()) == rows(query(log).collect())


def test_points_that_are_rare_are_places() -> None:
    log = wb.from_arrow({"at": 3 + 10_000 * np.arange(200), "x": np.arange(200)}, time="at", name="log")

    def query(s: Stream) -> Stream:
        before = s.sliding_window(50_000).aggregate(m=wb.mean(col.x)).shift(10_000)
        return s.cross_join(before, where=col.x > col.m)

    fused = query(log.assume(periodic=10_000))
    assert "periodic_loop(10000:" in fused.explain()
    assert rows(fused.collect()) == rows(query(log).collect())


@pytest.mark.parametrize(("query", "fused"), [
    (lambda log: means(log, 1 << 14), [1 << 14]),
    (lambda log: means(log, (1 << 14) + 1), []),
    (lambda log: means(log, 9).cross_join(means(log, 1 << 15).select(later=col.m)), [9]),
])
def test_a_long_window_over_points_anywhere_needs_a_timeline(query: Query, fused: list[int]) -> None:
    """A loop visits every tick in reach: one event in 1,000 ticks ran 27 times as slowly."""
    log = wb.from_arrow({"at": 1_000 * np.arange(60), "x": np.arange(60)}, time="at", name="log")

    def widths(known: Stream) -> list[int]:
        loops = "".join(line for line in query(known).explain().splitlines() if "periodic_loop(" in line)
        return sorted(map(int, re.findall(r"sliding_window\((\d+)\)", loops)))

    assert widths(log.assume(non_overlapping=True)) == fused
    assert widths(log.assume(periodic=1))[-1] >= 1 << 14
    if 1 << 14 not in fused:
        assert rows(query(log.assume(non_overlapping=True)).collect()) == rows(query(log).collect())


def test_two_inputs() -> None:
    left, right = (wb.from_arrow(table(times), time="at", name=name).assume(non_overlapping=True)
                   for name, times in (("left", irregular()), ("right", regular())))
    fused = left.cross_join(right.select(y=col.x)).sliding_window(9).aggregate(d=wb.sum(col.x - col.y))
    assert "periodic_loop" in fused.explain()
    again, other = (wb.from_arrow(table(times), time="at", name=name)
                    for name, times in (("left", irregular()), ("right", regular())))
    plain = again.cross_join(other.select(y=col.x)).sliding_window(9).aggregate(d=wb.sum(col.x - col.y))
    assert rows(fused.collect()) == rows(plain.collect())


def test_an_overflow_is_reported_as_elsewhere() -> None:
    log = wb.from_arrow({"at": [1, 2, 3], "x": [2**62, 2**62, 2**62]}, time="at").assume(non_overlapping=True)
    with pytest.raises(WhimbrelError, match="leaves int64"):
        log.sliding_window(2).aggregate(t=wb.sum(col.x)).collect()
    assert log.sliding_window(1).aggregate(t=wb.sum(col.x)).collect().num_rows == 3


@pytest.mark.parametrize("by", ["interpreted", "fused"])
def test_an_expression_that_overflows_is_not_called_a_sum(by: Tier) -> None:
    log = wb.from_arrow({"at": [1, 2], "x": [1, 2**62]}, time="at").assume(non_overlapping=True)
    query = log.with_columns(y=col.x * 4).where(col.x < 9).sliding_window(2).aggregate(t=wb.sum(col.y))
    assert "periodic_loop" in query.explain()
    with tier(by), pytest.raises(WhimbrelError, match=r"(?s)integer leaves int64.*where:.*col\.x \* 4"):
        query.collect()


@pytest.mark.parametrize("by", ["interpreted", "fused"])
def test_what_a_window_leaves_out_cannot_overflow(by: Tier) -> None:
    log = wb.from_arrow({"at": [1, 2], "x": [1, 2**62]}, time="at").assume(non_overlapping=True)
    query = log.where(col.x < 9).sliding_window(2).aggregate(t=wb.sum(col.x * 4))
    assert "periodic_loop" in query.explain()
    with tier(by):
        assert query.collect()["t"].to_pylist() == [4]


def test_a_row_is_emitted_when_the_watermark_has_passed_it() -> None:
    log, other = (wb.from_arrow({"at": [1, 2, 5], name: [1, 2, 3]}, time="at").assume(non_overlapping=True)
                  for name in "xy")
    pipeline = Pipeline(optimize(log.cross_join(other).select(z=col.x + col.y).node))
    batches = [batch for source in pipeline.sources for batch in source.read(source.schema.names)]
    outs = [pipeline.push(port, batch.slice(0, 2)) for port, batch in enumerate(batches) if batch is not None]
    outs += [pipeline.advance(port, 3) for port in (0, 1)]
    assert [start for out in outs for rows in out[0] for start in rows.sync.tolist()] == [1, 2]


def test_a_window_that_is_used_several_times_slides_once() -> None:
    fused, _ = both("used several times", regular())
    loop = fused.kernels().split("import numpy")[1]
    assert loop.count("# windows of 4") == loop.count("# windows of 6") == 1


def test_little_is_remembered() -> None:
    fused, _ = both("two means", np.arange(100_000))
    pipeline = Pipeline(optimize(fused.node))
    source, = pipeline.sources
    for batch in source.read(source.schema.names):
        assert batch is not None
        for first in range(0, len(batch), 1_000):
            pipeline.push(0, batch.slice(first, first + 1_000))
    assert sum(kernel.buffered_rows for kernel in pipeline.kernels) < 100


@pytest.mark.parametrize("first", (-2**63, -2**63 + 40, 2**63 - 10))
def test_the_ends_of_time_are_refused_in_words(first: int) -> None:
    log = wb.from_arrow({"at": [first, first + 1], "x": [1, 2]}, time="at").assume(periodic=1)
    with pytest.raises(KernelError, match=f"The time {first} is too close to the limit of int64:"):
        means(log, 50).collect()


def test_events_with_ends_run_on_a_beat_where_their_duration_is_known() -> None:
    at = np.arange(50) * 5
    log = wb.from_arrow({"at": at, "until": at + 5, "x": at}, time="at", end="until").select("x")
    known = means(log.assume(periodic=5, duration=5), 15)
    assert "periodic_loop" in known.explain()
    assert "periodic_loop" not in means(log.assume(periodic=5), 15).explain()
    assert known.collect().equals(means(log.assume(periodic=5), 15).collect())


def test_rows_are_worked_on_part_by_part() -> None:
    x = np.random.default_rng(5).normal(size=40_001)
    log = wb.from_arrow({"at": np.arange(len(x)), "x": x}, time="at").assume(periodic=1).select("x")
    few, many = (log.sliding_window(width).aggregate(m=wb.mean(col.x)) for width in (3, 10))
    above = few.cross_join(many, where=col.m > col.m_right)
    steps = log.cross_join(log.select(before=col.x).shift(1)).select(d=col.x - col.before)
    with tier("fused"):
        rows = above.collect()
        sums = steps.sliding_window(4).aggregate(s=wb.sum(col.d)).collect()
    short, long = (np.convolve(x, np.ones(width), "valid") / width for width in (3, 10))
    block = np.flatnonzero(short[7:] > long) + 9
    inside = (rows["start"].to_numpy() >= 9) & (rows["start"].to_numpy() <= 40_000)
    assert np.array_equal(rows["start"].to_numpy()[inside], block)
    np.testing.assert_allclose(rows["m"].to_numpy()[inside], short[block - 2])
    np.testing.assert_allclose(sums["s"].to_numpy()[3:40_000], x[4:] - x[:-4], atol=1e-12)


def test_the_bounds_of_windows_are_no_part_of_a_loop() -> None:
    windows = wb.from_arrow({"at": [5]}, time="at").hopping_window(2, 1)
    found = windows.aggregate(n=wb.count() * 2, begins=wb.window_start(), long=wb.window_end() - wb.window_start())
    assert found.collect().to_pylist() == [{"start": start, "end": start + 1, "n": 2, "begins": start - 1, "long": 2}
                                           for start in (5, 6)]


@pytest.mark.parametrize("query", [
    lambda log: log.where(col.x.is_null()).sliding_window(2).aggregate(s=wb.sum(col.y)),
    lambda log: log.sliding_window(2).aggregate(s=wb.sum(col.y).where(col.x.is_not_null()))])
def test_of_a_column_only_the_nulls_are_read(query: Query) -> None:
    log = wb.from_arrow({"at": [0, 1, 2, 3], "x": [1, None, 3, None], "y": [1, 2, 3, 4]}, time="at")
    known = query(log.assume(periodic=1))
    assert "periodic_loop" in known.explain()
    assert rows(known.collect()) == rows(query(log).collect())
