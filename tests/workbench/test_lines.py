"""Lines: where they are solid, where dashed, where they break."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tests.workbench.results import hourly
from whimbrel_workbench.frames import FrameBuilder, Lines, Options, Result
from whimbrel_workbench.frames.lines import MAX_POINTS

NAN = float("nan")


def draw(table: pa.Table, settled: int, **options: object) -> Lines:
    picture = FrameBuilder(Options(**options)).picture(Result(table, (settled,)))
    assert isinstance(picture, Lines)
    return picture


def same(found: np.ndarray, expected: list[float]) -> bool:
    return np.array_equal(found, np.array(expected), equal_nan=True)


def test_open_stretches_with_settled_points_between_are_not_joined() -> None:
    [line] = draw(hourly(JFK=[1, 2, 3, 4, 5, 6, 7]).take([2, 3, 4, 0, 1, 5, 6]), settled=3)
    assert same(line.open_path()[1], [1, 2, 3, NAN, 5, 6, 7])
    assert same(line.settled_path()[1], [3, 4, 5])


def test_settled_stretches_are_solid_and_the_stretch_to_an_open_value_is_dashed() -> None:
    [line] = draw(hourly(JFK=[1, 2, 3, 4]), settled=2)
    assert line.settled.tolist() == [True, True, False, False]
    assert same(line.settled_path()[1], [1, 2])
    assert same(line.open_path()[1], [2, 3, 4])


def test_an_hour_without_events_breaks_the_line() -> None:
    [line] = draw(hourly(JFK=[1, 2, None, 4, 5]), settled=4)
    assert line.joined.tolist() == [False, True, False, True]
    assert same(line.settled_path()[1], [1, 2, NAN, 4, 5])


def test_a_settled_point_between_open_ones_gets_no_solid_stretch() -> None:
    table = hourly(JFK=[1, 2, 3])
    table = pa.concat_tables([table.slice(1, 1), table.slice(0, 1), table.slice(2, 1)])
    [line] = draw(table, settled=1)
    assert line.y.tolist() == [1, 2, 3]
    assert line.settled.tolist() == [False, True, False]
    assert len(line.settled_path()[0]) == 0
    assert same(line.open_path()[1], [1, 2, 3])


def test_a_lonely_point_is_on_no_path() -> None:
    [line] = draw(hourly(JFK=[1, None, 3]), settled=2)
    assert len(line.settled_path()[0]) == 0
    assert len(line.open_path()[0]) == 0


def test_an_axis_of_one_window_is_as_long_as_it_with_room_for_its_marks() -> None:
    picture = draw(hourly(JFK=[1], LGA=[2]), settled=0, kind="line")
    assert picture.x.high - picture.x.low == pytest.approx(1.05 * 3_600_000)
    ticks = pa.table({"start": [1_000_000], "end": [1_000_100], "n": [5]})
    assert 999_990 < draw(ticks, settled=0, kind="line").x.low < 1_000_000


def test_null_values_are_not_drawn() -> None:
    table = hourly(JFK=[1, 2, 3])
    table = table.set_column(3, "flights", pa.array([1.0, None, 3.0]))
    [line] = draw(table, settled=3)
    assert line.y.tolist() == [1, 3]


def test_a_long_line_is_thinned_and_keeps_its_peak() -> None:
    values = [1.0] * 10_000
    values[4_321] = 99.0
    [line] = draw(hourly(JFK=values), settled=10_000)
    assert len(line.x) <= MAX_POINTS
    assert line.y.max() == 99.0
    assert line.joined[1:].all()


def test_a_long_line_still_shows_a_long_pause() -> None:
    values = [1.0] * 5_000 + [None] * 2_000 + [1.0] * 5_000
    [line] = draw(hourly(JFK=values), settled=10_000)
    assert (~line.joined).sum() == 2


def test_only_the_keys_with_most_rows_are_drawn_and_the_rest_is_named() -> None:
    picture = draw(hourly(A=[1], B=[1, 1, 1], C=[1, 1], D=[1, 1, 1]), settled=9, top=2)
    assert [line.label for line in picture] == ["B", "D"]
    assert picture.others == ("A", "C")


def test_colours_and_axes_stay_while_rows_come_in() -> None:
    framer, table = FrameBuilder(Options()), hourly(EWR=[9, 1, 50, 2], JFK=[1, 8, 3, 4])
    seen = [framer.picture(Result(table.slice(0, rows), (rows,))) for rows in (4, 6, 8)]
    assert all(isinstance(picture, Lines) for picture in seen)
    assert {tuple((line.label, line.slot) for line in picture) for picture in seen} == {(("EWR", 0), ("JFK", 1))}
    assert seen[0].y.high < seen[1].y.high == seen[2].y.high
    framer.seen(seen[2])
    assert framer.picture(Result(table.slice(0, 2), (2,))).y == seen[2].y


def test_fit_is_the_one_way_in_which_axes_shrink() -> None:
    framer, table = FrameBuilder(Options()), hourly(JFK=[1, 100, 3, 4])
    wide = framer.picture(Result(table, (4,)))
    framer.fit()
    narrow = framer.picture(Result(table.slice(2), (2,)))
    assert narrow.y.high < wide.y.high
    assert narrow.x.low > wide.x.low


def test_zoned_instants_are_placed_by_the_clock_on_the_wall() -> None:
    zone = pa.timestamp("us", "America/New_York")
    table = hourly(JFK=[1, 2])
    local = table.set_column(0, "start", table["start"].cast(zone)).set_column(1, "end", table["end"].cast(zone))
    [utc], [wall] = draw(table, settled=2), draw(local, settled=2)
    assert (utc.x - wall.x).tolist() == [5 * 3_600_000] * 2
    assert draw(local, settled=2).zone == "America/New_York"


@pytest.mark.parametrize("unit", ("s", "ms", "us", "ns"))
def test_every_unit_of_time_gives_the_same_position(unit: str) -> None:
    kind, table = pa.timestamp(unit), hourly(JFK=[1, 2]).drop_columns(["start", "end"])
    starts = pa.array([0, 3_600], pa.int64())
    per_s = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    ticks = pa.array([start.as_py() * per_s for start in starts]).cast(kind)
    [line] = draw(table.add_column(0, "start", ticks).add_column(1, "end", ticks), settled=2)
    assert line.x.tolist() == [0.0, 3_600_000.0]
