"""The picture fits the shape of the result, and does not flip back."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute
import pytest

from tests.workbench.results import hourly
from whimbrel.errors import PlanError, SchemaError
from whimbrel_workbench.frames import Bars, BigNumbers, FrameBuilder, Heat, Lines, Options, Result, TableFrame
from whimbrel_workbench.frames.bars import MAX_BARS
from whimbrel_workbench.frames.columns import roles
from whimbrel_workbench.frames.table import MAX_ROWS


def whole(**columns: list[object]) -> pa.Table:
    """A result that speaks of one time."""
    rows = len(next(iter(columns.values())))
    return pa.table({"start": [0] * rows, "end": [10] * rows, **columns})


@pytest.mark.parametrize(
    ("table", "kind"),
    (
        (hourly(JFK=[1, 2], LGA=[3, 4]), Lines),
        (hourly(JFK=[1, 2]).drop_columns("origin"), Lines),
        (whole(carrier=["UA", "DL"], n=[3, 4]), Bars),
        (whole(n=[3], mean=[2.5]), BigNumbers),
        (whole(name=["x", "y"]), TableFrame),
        (whole(a=["x"], b=["y"], c=["z"], d=["w"], n=[1]), TableFrame),
    ),
)
def test_the_kind_follows_from_the_shape(table: pa.Table, kind: type) -> None:
    assert isinstance(FrameBuilder(Options()).picture(Result(table, (0,))), kind)


def test_words_of_one_row_are_shown_as_large_as_numbers() -> None:
    """A first text was taken for a key: one bar with its name, or a table of one row."""
    for columns, shown in (({"first": ["UA 17"]}, {"first": "UA 17"}),
                           ({"first": ["UA 17"], "n": [3]}, {"n": "3", "first": "UA 17"})):
        framer, table = FrameBuilder(Options(), alone=True), whole(**columns)
        picture = framer.picture(Result(table, (0,)))
        assert isinstance(picture, BigNumbers)
        assert {figure.name: figure.text for figure in picture.figures} == shown
        framer.seen(picture, 0.0)
        other = table.set_column(table.column_names.index("first"), "first", pa.array(["DL 4"]))
        later = {figure.name: figure.moved for figure in framer.picture(Result(other, (0,)), 1.0).figures}
        assert later == {**dict.fromkeys(shown, ""), "first": "changed"}
    over_time = hourly(JFK=[1, 2]).rename_columns(["start", "end", "first", "n"])
    assert isinstance(FrameBuilder(Options(), alone=True).picture(Result(over_time, (2,))), Lines)
    without = Result(over_time.drop_columns("n"), (2,))
    assert isinstance(FrameBuilder(Options(), alone=True).picture(without), TableFrame)


@pytest.mark.parametrize(("kind", "expected"), (("table", TableFrame), ("bars", Bars), ("lines", Lines), ("number",
                                                                                                          BigNumbers)))
def test_the_user_may_choose_the_kind(kind: str, expected: type) -> None:
    assert isinstance(FrameBuilder(Options(kind=kind)).picture(Result(hourly(JFK=[1, 2], LGA=[3, 4]), (4,))), expected)


def test_an_empty_result_has_no_picture_yet() -> None:
    assert FrameBuilder(Options()).picture(Result(hourly(JFK=[1]).slice(1), (0,))) is None


@pytest.mark.parametrize("kind", ("line", "bar", "heatmap"))
def test_rows_without_a_value_that_can_be_drawn_are_counted(kind: str) -> None:
    table = hourly(JFK=[1, float("nan"), float("inf"), -4], LGA=[3, 4, 5, 6])
    assert FrameBuilder(Options(kind=kind)).picture(Result(table, (8,))).undrawn == 2
    assert FrameBuilder(Options.of(kind=kind, logy=True, logz=True)).picture(Result(table, (8,))).undrawn == 3


def test_a_picture_that_was_seen_stays_of_its_kind() -> None:
    """Bars became lines with the second window, in front of the reader."""
    framer, table = FrameBuilder(Options()), hourly(JFK=[1, 2], LGA=[3, 4])
    first = framer.picture(Result(table.slice(0, 2), (0,)))
    assert isinstance(first, Bars)
    framer.seen(first)
    assert isinstance(framer.picture(Result(table, (0,))), Bars)
    framer.forget()
    assert isinstance(framer.picture(Result(table, (0,))), Lines)


def test_the_kind_of_a_picture_that_nobody_has_seen_still_follows_the_rows() -> None:
    framer, table = FrameBuilder(Options()), hourly(**{f"sensor {number}": [number, 1] for number in range(14)})
    assert isinstance(framer.picture(Result(table.slice(0, 2), (0,))), Bars)
    assert isinstance(framer.picture(Result(table.filter(pa.compute.less(pa.compute.utf8_length(table["origin"]), 9)),
                                            (0,))), Lines)
    heat = framer.picture(Result(table, (0,)))
    assert isinstance(heat, Heat)
    framer.seen(heat)
    assert isinstance(framer.picture(Result(table.slice(0, 2), (0,))), Heat)


def test_a_first_window_alone_waits_until_it_is_known_whether_others_will_come() -> None:
    table, single = hourly(JFK=[1, 2], LGA=[3, 4]), hourly(JFK=[1]).drop_columns("origin")
    for expected, kinds in ((True, [Lines, Lines]), (False, [Bars, BigNumbers])):
        for first, kind in zip((table.slice(0, 2), single), kinds, strict=True):
            framer = FrameBuilder(Options())
            assert framer.picture(Result(first, (0,)), more=lambda: None) is None
            assert framer.undecided
            assert isinstance(framer.picture(Result(first, (0,)), more=lambda expected=expected: expected), kind)
            assert not framer.undecided
    assert isinstance(FrameBuilder(Options()).picture(Result(table, (0,)), more=lambda: None), Lines)
    assert isinstance(FrameBuilder(Options(kind="bar")).picture(Result(single, (0,)), more=lambda: None), Bars)


def test_one_row_for_each_key_is_a_bar_wherever_in_time() -> None:
    """A session of each key was a chart of single dots."""
    table = hourly(JFK=[1, 2, 3]).set_column(2, "origin", pa.array(["EWR", "JFK", "LGA"]))
    assert isinstance(FrameBuilder(Options()).picture(Result(table, (3,))), Bars)
    assert isinstance(FrameBuilder(Options()).picture(Result(table, (3,)), more=lambda: True), Lines)


def test_bars_show_the_newest_value_of_each_key_and_keep_their_order() -> None:
    framer = FrameBuilder(Options())
    first = framer.picture(Result(whole(k=["a", "b", "a"], n=[1, 5, 9]), (2,)))
    assert [(bar.name, bar.length, bar.stage) for bar in first.bars] == [("a", 9.0, 0), ("b", 5.0, 1)]
    framer.seen(first)
    second = framer.picture(Result(whole(k=["a", "b", "c"], n=[1, 5, 7]), (3,)))
    assert second.names == ("a", "b", "c")
    framer.fit()
    assert framer.picture(Result(whole(k=["a", "b", "c"], n=[1, 5, 7]), (3,))).names == ("c", "b", "a")


def test_bars_that_nobody_has_seen_have_no_order_to_keep() -> None:
    framer = FrameBuilder(Options())
    framer.picture(Result(whole(k=["a", "b"], n=[9, 5]), (2,)))
    later = framer.picture(Result(whole(k=["a", "b", "c"], n=[1, 5, 7]), (3,)))
    assert (later.names, later.stale) == (("c", "b", "a"), False)


def test_bars_beyond_the_page_are_named() -> None:
    names = [f"k{number}" for number in range(MAX_BARS + 3)]
    picture = FrameBuilder(Options()).picture(Result(whole(k=names, n=list(range(len(names)))), (0,)))
    assert len(picture.names) == MAX_BARS
    framer = FrameBuilder(Options())  # the first bars were kept, however short they were compared with later ones
    framer.seen(framer.picture(Result(whole(k=names[:MAX_BARS], n=list(range(MAX_BARS))), (0,))))
    later = framer.picture(Result(whole(k=names, n=list(range(len(names)))), (0,)))
    assert set(later.names) == set(names[-MAX_BARS:])
    assert set(picture.others) == {"k0", "k1", "k2"}


def test_a_table_shows_its_newest_rows_first_and_marks_open_ones() -> None:
    table = hourly(JFK=list(range(40)))
    picture = FrameBuilder(Options(kind="table")).picture(Result(table, (38,)))
    assert len(picture.table) == MAX_ROWS
    assert picture.table[0].cells == ("2013-12-02 15:00", "2013-12-02 16:00", "JFK", "39")
    assert [row.stage for row in picture.table[:3]] == [0, 0, 1]
    assert (picture.rows, picture.settled_rows) == (40, 38)


def test_points_in_time_show_no_end() -> None:
    table = pa.table({"start": [3, 5], "end": [4, 6], "x": ["a", None]})
    picture = FrameBuilder(Options()).picture(Result(table, (2,)))
    assert picture.names == ("start", "x")
    assert [row.cells for row in picture.table] == [("5", "-"), ("3", "a")]


def test_an_unknown_end_is_open_and_not_an_accident() -> None:
    instants = pa.array([0], pa.timestamp("ns")), pa.array([None], pa.timestamp("ns"))
    result = Result(pa.table({"start": instants[0], "end": instants[1]}), (0,))
    picture = FrameBuilder(Options(kind="table")).picture(result)
    assert [row.cells for row in picture.table] == [("1970-01-01 00:00", "open")]


@pytest.mark.parametrize("kind", ("line", "bar", "heatmap", "scatter", "density", "table", "number"))
def test_integers_beyond_the_exact_floats_are_drawn(kind: str) -> None:
    table = pa.table({"start": [2**60, 2**60 + 1], "end": [2**60 + 1, 2**60 + 2], "n": [2**60 + 1, -(2**60)]})
    assert FrameBuilder(Options(kind=kind)).picture(Result(table, (1,))) is not None


def test_the_value_can_be_changed_while_it_runs() -> None:
    table = hourly(JFK=[1, 2]).append_column("delay", pa.array([100.0, 200.0]))
    framer = FrameBuilder(Options())
    assert framer.picture(Result(table, (2,))).value == "flights"
    framer.choose_value("delay")
    changed = framer.picture(Result(table, (2,)))
    assert (changed.value, changed.y.high) == ("delay", 206.0)


def test_numeric_group_keys_are_keys_and_not_values() -> None:
    schema = pa.schema({"start": pa.int64(), "end": pa.int64(), "hour": pa.int64(), "n": pa.int64()})
    assert roles(schema, grouped=("hour",)).keys == ("hour",)
    assert roles(schema, grouped=("hour",)).value == "n"
    assert roles(schema, Options(by="n")).value == "hour"


@pytest.mark.parametrize(
    ("options", "hint"),
    (
        ({"y": "fligths"}, "Use 'flights'"),
        ({"by": "orgin"}, "Use 'origin'"),
        ({"y": "origin"}, "flights"),
    ),
)
def test_a_wrong_column_is_an_error_with_the_near_match(options: dict[str, str], hint: str) -> None:
    with pytest.raises(SchemaError) as error:
        FrameBuilder(Options(**options)).picture(Result(hourly(JFK=[1]), (0,)))
    assert hint in error.value.hint


def test_a_wrong_kind_is_an_error_with_the_near_match() -> None:
    with pytest.raises(PlanError, match="Unknown kind of view: 'lin'") as error:
        Options(kind="lin")
    assert "Use 'line'" in error.value.hint
