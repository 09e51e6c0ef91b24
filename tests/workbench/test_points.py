"""Points are taken over once, and are always those of the result."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whimbrel_workbench.frames import FrameBuilder, Options, Result, Scatter
from whimbrel_workbench.frames import points as store
from whimbrel_workbench.frames.points import OTHERS, Points, PointStore

moments = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=12)


def rows_of(numbers: range) -> pa.Table:
    y = [None if number % 7 == 3 else number * 0.5 for number in numbers]
    return pa.table({"start": list(numbers), "end": [number + 1 for number in numbers], "v": pa.array(y, pa.float64()),
                     "k": pa.array([f"k{number % 4}" for number in numbers], pa.string())})


def settled(points: Points) -> list[tuple[float, float]]:
    return [(x, y) for xs, ys, _ in points.pieces for x, y in zip(xs.tolist(), ys.tolist(), strict=True)]


@settings(deadline=None, max_examples=60)
@given(moments, st.sampled_from((1, 4, 7)))
def test_the_points_are_those_of_the_result_however_it_grew(steps: list[tuple[int, int, int]], segment: int) -> None:
    kept = store._SEGMENT_ROWS
    store._SEGMENT_ROWS = segment
    try:
        taken, done, forgotten = PointStore(None, "v", ("k",), 2), 0, 0
        for new, open_, forget in steps:
            done += new
            forgotten = min(done, forgotten + forget)
            table = rows_of(range(forgotten, done + open_))
            points = taken.take(Result(table, (done - forgotten,), forgotten=forgotten, rearranged=0))
            expected = [(float(number), np.nan if number % 7 == 3 else number * 0.5)
                        for number in range(forgotten, done)]
            assert np.array_equal(settled(points) or np.empty((0, 2)), expected or np.empty((0, 2)), equal_nan=True)
            assert points.tail[0].tolist() == list(range(done, done + open_))
            assert (points.number, len(points)) == (done, done - forgotten + open_)
    finally:
        store._SEGMENT_ROWS = kept


def test_rows_are_read_once_while_they_stay_where_they_are() -> None:
    taken = PointStore(None, "v", (), 6)
    first = taken.take(Result(rows_of(range(10)), (10,), rearranged=0))
    lies = rows_of(range(10)).set_column(2, "v", pa.array([99.0] * 10))
    again = taken.take(Result(pa.concat_tables([lies, rows_of(range(10, 12))]), (12,), rearranged=0))
    assert settled(again)[0] == settled(first)[0] == (0.0, 0.0)
    assert taken.take(Result(lies, (10,), rearranged=1)).pieces[0][1].tolist() == [99.0] * 10


def test_earlier_moments_are_not_written_to() -> None:
    taken = PointStore(None, "v", (), 6)
    first = taken.take(Result(rows_of(range(5)), (5,), rearranged=0))
    before = settled(first)
    taken.take(Result(rows_of(range(9)), (9,), rearranged=0))
    assert np.array_equal(settled(first), before, equal_nan=True)


def test_only_so_many_keys_have_a_colour() -> None:
    taken = PointStore(None, "v", ("k",), 2)
    points = taken.take(Result(rows_of(range(4)), (4,), rearranged=0))
    assert points.pieces[0][2].tolist() == [0, 1, OTHERS, OTHERS]
    assert (taken.names, taken.others) == (["k0", "k1"], {"k2", "k3"})


@pytest.mark.parametrize("in_order", (True, False))
def test_a_range_gives_all_points_that_are_in_it(in_order: bool) -> None:
    x = np.arange(20.0) if in_order else np.random.default_rng(3).permutation(20).astype(float)
    points = Points(((x, x, np.zeros(20, np.uint8)),), (x[:0], x[:0], np.zeros(0, np.uint8)), 20, in_order)
    found = np.concatenate([piece[0] for piece in points.between(4.0, 8.0)])
    assert {4.0, 5.0, 6.0, 7.0, 8.0} <= set(found.tolist())
    assert len(found) == (5 if in_order else 20)
    assert in_order is False or list(points.between(30.0, 40.0)) == []


def test_raw_events_are_points_unless_something_else_is_asked_for() -> None:
    result = Result(rows_of(range(5)), (5,))
    picture = FrameBuilder(Options(), raw=True).picture(result)
    assert isinstance(picture, Scatter)
    assert (picture.along, picture.value, picture.keys) == ("start", "v", ())
    assert not isinstance(FrameBuilder(Options(kind="table"), raw=True).picture(result), Scatter)


def test_values_that_a_logarithmic_axis_cannot_show_are_left_out() -> None:
    framer = FrameBuilder(Options.of(kind="scatter", logy=True))
    table = pa.table({"start": [0, 1, 2], "end": [1, 2, 3], "v": [-5.0, 0.0, 30.0]})
    picture = framer.picture(Result(table, (3,)))
    assert np.isnan(picture.points.pieces[0][0]).tolist() == [True, True, False]
    assert (picture.y.low, picture.y.high) == (10.0, 100.0)
