"""asof_join: the right row whose start is nearest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import whimbrel as wb
from tests.engine.operators.twosided import ROWS, Row, answer, in_order, stream, thorough
from whimbrel import col
from whimbrel.batch import Batch
from whimbrel.errors import WhimbrelError
from whimbrel.operators import Direction
from whimbrel.operators.joins.asof_kernel import AsofKernel
from whimbrel.optimize import optimize
from whimbrel.run import Pipeline

LEFT: list[Row] = [(5, 8, "a", 1)]
DIRECTIONS: tuple[Direction, ...] = ("backward", "forward", "nearest")


def reference(left: list[Row], right: list[Row], tolerance: float, direction: Direction) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for start, end, key, x in left:
        near = [(abs(s - start), s, y) for s, _, k, y in right if key is not None and k == key
                and abs(s - start) <= tolerance
                and (s <= start or direction != "backward") and (s >= start or direction != "forward")]
        nearest = [y for away, s, y in near if (away, s) == min(near)[:2]]
        rows += [(start, end, key, x, y) for y in nearest or [None]]
    return in_order(rows)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("strict", [False, True])
def test_the_last_of_several_at_one_time(direction: Direction, strict: bool) -> None:
    theirs: list[Row] = [(5, 9, "b", 0), *((start, start + 1, "a", y) for start in (4, 5, 6) for y in (9, 7, 8))]
    joined = stream([(5, 6, "a", 1), (5, 7, "a", 2)], "x").asof_join(
        stream(theirs, "y").with_columns(at=wb.start_time()), on="key", tolerance=3, direction=direction,
        strict=strict, ties="last").collect()
    at = 5 if not strict else 6 if direction == "forward" else 4
    assert joined.select(["x", "y", "at"]).to_pylist() == [{"x": x, "y": 8, "at": at} for x in (1, 2)]
    with pytest.raises(WhimbrelError, match="ties must be 'all' or 'last', got 'first'"):
        stream(LEFT, "x").asof_join(stream(theirs, "y"), on="key", ties="first")  # type: ignore[arg-type]


@pytest.mark.parametrize("direction", DIRECTIONS)
@thorough
@given(ROWS, ROWS, st.integers(0, 8))
def test_against_plain_tuples(direction: Direction, left: list[Row], right: list[Row], tolerance: int) -> None:
    mine, theirs = stream(left, "x"), stream(right, "y")
    joined = mine.asof_join(theirs, on="key", tolerance=tolerance, direction=direction)
    assert answer(joined) == reference(left, right, tolerance, direction)
    if direction == "backward":
        assert answer(mine.asof_join(theirs, on="key")) == reference(left, right, np.inf, direction)


@pytest.mark.parametrize(("direction", "right", "values"), [
    ("backward", [(1, 2, "a", 7), (3, 4, "a", 8), (6, 7, "a", 9)], [8]),
    ("backward", [(5, 6, "a", 7)], [7]),
    ("backward", [(1, 2, "a", 7)], [None]),
    ("backward", [(3, 4, "a", 7), (3, 9, "a", 8)], [7, 8]),
    ("backward", [(4, 5, "b", 7)], [None]),
    ("forward", [(4, 5, "a", 7), (7, 8, "a", 8), (8, 9, "a", 9)], [8]),
    ("forward", [(9, 10, "a", 7)], [None]),
    ("nearest", [(3, 4, "a", 7), (6, 7, "a", 8)], [8]),
    ("nearest", [(4, 5, "a", 7), (6, 7, "a", 8)], [7]),
    ("nearest", [(9, 10, "a", 7)], [None]),
], ids=["latest", "equal start", "too old", "simultaneous", "another key", "first", "too late", "nearer after",
        "equally near", "too far"])
def test_which_row_is_taken(direction: Direction, right: list[Row], values: list[int | None]) -> None:
    joined = stream(LEFT, "x").asof_join(stream(right, "y"), on="key", tolerance=3, direction=direction)
    assert answer(joined) == [(5, 8, "a", 1, value) for value in values]


@pytest.mark.parametrize("strategy", DIRECTIONS)
def test_as_polars_does(strategy: Direction) -> None:
    random = np.random.default_rng(5)
    left, right = ({"at": np.sort(random.choice(2000, 300, replace=False)), "k": random.integers(0, 4, 300),
                    name: np.arange(300)} for name in ("x", "y"))
    joined = wb.from_arrow(left, time="at").asof_join(wb.from_arrow(right, time="at").select("k", "y"), on="k",
                                                      tolerance=9, direction=strategy)
    theirs = pl.DataFrame(left).sort("at").join_asof(
        pl.DataFrame(right).sort("at"), on="at", by="k", tolerance=9, strategy=strategy, check_sortedness=False)
    equal = [mine == their for mine, their in zip(joined.collect()["y"].to_pylist(), theirs["y"], strict=True)]
    assert all(equal) if strategy != "nearest" else np.mean(equal) > 0.9  # of two equally near Polars takes the later


def test_an_answer_waits_no_longer_than_it_must() -> None:
    left, right = stream(LEFT, "x"), stream([(4, 5, "a", 7)], "y")
    kernel = Pipeline(left.asof_join(right, on="key", tolerance=4, direction="nearest").node).kernels[-1]
    assert isinstance(kernel, AsofKernel)
    for port, side in enumerate((left, right)):
        pipeline = Pipeline(side.node)
        source = pipeline.sources[0]
        for batch in source.read(source.schema.names):
            assert batch is not None
            for rows in (*pipeline.push(0, batch)[0], *pipeline.finish(0)[0]):
                assert kernel.push(rows, port) == []
    assert kernel.advance(100, 0) == []
    assert kernel.advance(5, 1) == []
    assert kernel.watermark == 5
    (released,) = kernel.advance(6, 1)  # whatever comes at 6 or later is no nearer than what was at 4
    assert (released.sync.tolist(), kernel.watermark) == ([5], 6)


def test_state_is_the_latest_of_each_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whimbrel.operators.joins.asof_kernel._CROWDED", 64)
    times = np.arange(5000)
    ticks = wb.from_arrow({"at": times, "k": times % 3, "y": times}, time="at")
    pipeline = Pipeline(ticks.asof_join(ticks.select("k", "y"), on="k").node)
    most = 0
    batches = list(zip(*(source.read(source.schema.names) for source in pipeline.sources), strict=True))
    for (batch, *_) in batches:
        assert batch is not None
        for begin in range(0, len(batch), 100):
            for number in range(len(pipeline.sources)):
                pipeline.push(number, batch.slice(begin, begin + 100))
            most = max(most, pipeline.kernels[-1].buffered_rows)
    assert 0 < most < 1000


@pytest.mark.parametrize("tolerance", [None, 30])
def test_what_no_left_row_has_passed_is_forgotten_too(tolerance: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A left row comes seldom; meanwhile many right ones do, some of them at one time."""
    monkeypatch.setattr("whimbrel.operators.joins.asof_kernel._CROWDED", 16)
    at = np.arange(3000) // 2
    ticks = wb.from_arrow({"at": at, "k": np.arange(3000) % 7 % 3, "y": np.arange(3000)}, time="at")
    seldom = ticks.where((col.y % 700 == 0) | (col.y > 2_990)).select("k", x=col.y)
    pipeline = Pipeline(optimize(seldom.asof_join(ticks.select("k", "y"), on="k", tolerance=tolerance).node))
    source, = pipeline.sources
    rows = Batch.concat([batch for batch in source.read(source.schema.names) if batch is not None])
    found, most = [], 0
    for first in range(0, len(rows), 50):
        found += pipeline.push(0, rows.slice(first, first + 50))[0]
        most = max(most, pipeline.kernels[-1].buffered_rows)
    found += pipeline.finish(0)[0]
    assert most < 200
    pairs = [(int(x), int(y)) for batch in found for x, y in zip(batch.column("x").values, batch.column("y").values,
                                                                 strict=True)]
    expected = []
    for x in [number for number in range(3000) if number % 700 == 0 or number > 2_990]:
        before = [y for y in range(3000) if y % 7 % 3 == x % 7 % 3 and at[y] <= at[x]]
        expected += [(x, y) for y in before if at[y] == at[before[-1]]]
    assert sorted(pairs) == sorted(expected)


@pytest.mark.parametrize(("wrong", "words"), [
    (lambda s: s.asof_join(s, direction="sideways"), ["got 'sideways'", "asof_join(direction='sideways')"]),
    (lambda s: s.asof_join(s, direction="forward"), ["needs a tolerance", "such as tolerance=10"]),
    (lambda s: s.asof_join(s, tolerance=-1), ["must not be negative", "asof_join(tolerance=-1)"]),
    (lambda s: s.asof_join(s, tolerance="5m"), ["has integer times", "ticks"]),
    (lambda s: s.asof_join(s, on="kye"), ["There is no column 'kye'", "asof_join(on=['kye'])"]),
], ids=["direction", "no tolerance", "negative", "plain ticks", "unknown key"])
def test_errors(wrong: Callable[[wb.Stream], object], words: list[str]) -> None:
    with pytest.raises(WhimbrelError) as caught:
        wrong(stream(LEFT, "x"))
    assert [word for word in words if word not in str(caught.value)] == []
