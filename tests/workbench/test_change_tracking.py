"""Values that changed since the reader last saw them are marked, steadily, and no others."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.workbench.results import hourly
from tests.workbench.test_frame_builder import whole
from whimbrel_workbench.frames import Frame, FrameBuilder, Options, Result, Status
from whimbrel_workbench.frames.change_tracking import LINGER_S, ChangeTracker
from whimbrel_workbench.views.static_html import still_html


def flights(*values: float) -> Result:
    return Result(hourly(JFK=values), (0,))


def changed(framer: FrameBuilder, result: Result, at_s: float) -> list[bool]:
    [line] = framer.picture(result, at_s)
    return line.changed.tolist()


def test_nothing_is_marked_at_the_first_look() -> None:
    assert changed(FrameBuilder(Options()), flights(1, 2), 0.0) == [False, False]


def test_a_value_that_became_another_is_marked_and_a_new_one_is_not() -> None:
    framer = FrameBuilder(Options())
    framer.seen(framer.picture(flights(1, 2), 0.0), 0.0)
    assert changed(framer, flights(1, 5, 7), 0.3) == [False, True, False]


def test_a_mark_stays_for_a_while_and_then_goes() -> None:
    framer = FrameBuilder(Options())
    framer.seen(framer.picture(flights(1, 2), 0.0), 0.0)
    for at_s in (0.5, 1.0, 1.5):
        assert changed(framer, flights(1, 5), at_s) == [False, True]
        framer.seen(framer.picture(flights(1, 5), at_s), at_s)
    framer.seen(framer.picture(flights(1, 5), 2.6), 2.6)
    assert changed(framer, flights(1, 5), 2.6) == [False, False]


def test_who_comes_back_sees_all_that_changed_meanwhile() -> None:
    framer = FrameBuilder(Options())
    framer.seen(framer.picture(flights(1, 2, 3), 0.0), 0.0)
    for at_s in (1.0, 30.0, 60.0):
        framer.picture(flights(at_s, 2, 9), at_s)
    assert changed(framer, flights(8, 2, 9), 90.0) == [True, False, True]


def test_few_pictures_are_remembered_however_often_one_looks() -> None:
    tracker = ChangeTracker()
    for number in range(2_000):
        tracker.record(number, number * 0.05)
    assert len(tracker._seen) < 12
    assert tracker.before(99.95) <= 1_999 - LINGER_S / 0.05


def test_bars_cells_numbers_and_rows_are_marked_too() -> None:
    bars = FrameBuilder(Options())
    bars.seen(bars.picture(Result(whole(k=["a", "b"], n=[1, 2]), (0,)), 0.0), 0.0)
    assert [bar.changed for bar in bars.picture(Result(whole(k=["a", "b"], n=[1, 3]), (0,)), 1.0).bars] == [True, False]
    heat = FrameBuilder(Options(kind="heatmap"))
    heat.seen(heat.picture(Result(hourly(a=[1, 2], b=[3, 4]), (0,)), 0.0), 0.0)
    assert heat.picture(Result(hourly(a=[1, 2], b=[3, 9]), (0,)), 1.0).changed.tolist() == [False, False, False, True]
    number = FrameBuilder(Options())
    number.seen(number.picture(Result(whole(n=[3]), (0,)), 0.0), 0.0)
    assert number.picture(Result(whole(n=[5]), (0,)), 1.0).figures[0].moved == "+2"


def test_in_a_table_new_rows_and_changed_cells_are_marked_unless_all_is_new() -> None:
    framer = FrameBuilder(Options(kind="table"))
    framer.seen(framer.picture(Result(hourly(JFK=[1, 2]), (0,)), 0.0), 0.0)
    rows = framer.picture(Result(hourly(JFK=[1, 7, 3]), (0,)), 1.0)
    value = rows.names.index("flights")
    assert [(row.fresh, row.changed) for row in rows.table] == [(True, frozenset()), (False, {value}), (False, set())]
    assert not any(row.fresh for row in framer.picture(Result(hourly(LGA=[5, 6]), (0,)), 1.0).table)


@pytest.mark.parametrize(("kind", "before", "now"), [
    ("table", {"k": ["a", "b"], "n": [2, 2]}, {"k": ["a", "b"], "n": [1, 3]}),
    ("table", {"k": ["a"], "n": [1]}, {"k": ["a", "b"], "n": [1, 3]}), ("number", {"n": [2]}, {"n": [3]})])
def test_what_is_saved_has_no_marks(kind: str, before: dict[str, list[object]], now: dict[str, list[object]]) -> None:
    """A file that was saved while they faded differed from one that was saved after that."""
    framer = FrameBuilder(Options(kind=kind))
    framer.seen(framer.picture(Result(whole(**before), (0,)), 0.0), 0.0)
    result = Result(whole(**now), (0,))
    marked, plain = framer.picture(result, 1.0), FrameBuilder(Options(kind=kind)).picture(result, 0.0)
    assert marked != plain
    saved = [still_html(Frame(1, picture, None, Status("finished", 1.0, ()), "query")) for picture in (marked, plain)]
    assert saved[0] == saved[1]


def test_rows_that_cannot_be_distinguished_are_not_compared() -> None:
    framer = FrameBuilder(Options(kind="table"))
    twice = pa.table({"start": [0, 0], "end": [1, 1], "n": [1, 2]})
    framer.seen(framer.picture(Result(twice, (0,)), 0.0), 0.0)
    assert not any(row.changed for row in framer.picture(Result(twice.slice(0, 2), (0,)), 1.0).table)
