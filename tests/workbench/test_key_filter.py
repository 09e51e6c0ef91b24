"""Chosen keys narrow every picture that knows them, and nothing else of it."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from tests.workbench.results import hourly
from whimbrel_workbench.frames import Bars, FrameBuilder, Lines, Options, Result
from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.frames.frame_builder import Picture
from whimbrel_workbench.frames.key_colors import KeyColors
from whimbrel_workbench.frames.key_filter import narrowed, on_one_axis, sharing, values_of
from whimbrel_workbench.views import view_of
from whimbrel_workbench.views.legend import legend_html
from whimbrel_workbench.views.overlay import holoviews_of
from whimbrel_workbench.views.palette import COLOURS, MARKERS
from whimbrel_workbench.views.svg_cells import scatter_svg

TABLE = hourly(JFK=[5, 6, 7], LGA=[1, 2], EWR=[8])


def drawn(table: pa.Table, settled: int = 2, **options: object) -> Picture:
    return FrameBuilder(Options(**options), ()).picture(Result(table, (settled,)))


def test_values_are_those_that_are_shown_in_their_order() -> None:
    assert values_of(drawn(TABLE)) == {"origin": ("JFK", "LGA", "EWR")}
    assert values_of(drawn(TABLE, kind="bars")) == {"origin": ("EWR", "JFK", "LGA")}
    assert values_of(drawn(TABLE, kind="table")) == {}
    assert values_of(None) == {}


@pytest.mark.parametrize("kind", ("lines", "bars", "table"))
def test_nothing_chosen_is_everything(kind: str) -> None:
    picture = drawn(TABLE, kind=kind)
    assert narrowed(picture, {}) is picture


def test_chosen_lines_keep_their_colours_and_axes() -> None:
    whole = drawn(TABLE)
    left = narrowed(whole, {"origin": frozenset({"LGA"})})
    assert isinstance(left, Lines)
    assert [(line.label, line.slot) for line in left] == [("LGA", 1)]
    assert (left.x, left.y) == (whole.x, whole.y)
    assert left.others == ("JFK", "EWR")


def test_chosen_bars_keep_value_and_state() -> None:
    whole = drawn(TABLE, kind="bars")
    left = narrowed(whole, {"origin": frozenset({"LGA", "JFK"})})
    assert isinstance(left, Bars)
    assert left.names == ("JFK", "LGA")
    assert left.bars == tuple(bar for bar in whole.bars if bar.name in left.names)
    assert [bar.length for bar in left.bars] == [7, 2]


def test_chosen_rows() -> None:
    left = narrowed(drawn(TABLE, kind="table"), {"origin": frozenset({"LGA"})})
    assert [row.cells[left.names.index("origin")] for row in left.table] == ["LGA", "LGA"]


def test_chosen_rows_are_found_among_all_and_then_cut() -> None:
    """The newest fifteen rows of three origins had five of one, and no more were shown when it was chosen."""
    many = hourly(**{name: list(range(40)) for name in ("EWR", "JFK", "LGA")})
    whole = drawn(many, settled=60, kind="table")
    left = narrowed(whole, {"origin": frozenset({"JFK"})})
    values = left.names.index(next(name for name in many.column_names if name not in ("start", "end", "origin")))
    assert [row.cells[values] for row in left.table] == [str(value) for value in range(39, 24, -1)]
    assert left.rows == 40
    first = drawn(many, settled=len(many), kind="table").only({"origin": frozenset({"JFK"})})
    assert first.settled_rows == 40


def test_a_key_has_one_colour_in_all_charts_and_keeps_it_when_others_are_hidden() -> None:
    """Each chart gave the first colour to the key that came first in it: JFK was blue in one, EWR in the other."""
    colouring = KeyColors()
    one = drawn(hourly(JFK=[1, 2], EWR=[3, 4]))
    other = drawn(hourly(EWR=[5, 6], LGA=[1, 1], JFK=[7, 8]))
    alike = colouring.alike({"one": one, "other": other, "none": None})
    slots = [{line.label: line.slot for line in alike[name]} for name in ("one", "other")]
    assert slots == [{"JFK": 0, "EWR": 1}, {"EWR": 1, "LGA": 2, "JFK": 0}]
    later = colouring.alike({"one": narrowed(one, {"origin": frozenset({"EWR"})})})
    assert [(line.label, line.slot) for line in later["one"]] == [("EWR", 1)]


def test_keys_of_one_chart_differ_in_colour_though_others_were_there_before() -> None:
    """Of six lines two were blue: a seventh key had been seen."""
    colouring = KeyColors()
    for keys in ("ABC", "DEF"):
        colouring.alike({"chart": drawn(hourly(**{key: [1, 2] for key in keys}))})
    six = colouring.alike({"chart": drawn(hourly(**{key: [1, 2] for key in "ABCDGH"}))})["chart"]
    slots = {line.label: line.slot for line in six}
    assert {key: slots[key] for key in "ABCD"} == {"A": 0, "B": 1, "C": 2, "D": 3}
    assert len({COLOURS[slot % len(COLOURS)] for slot in slots.values()}) == 6
    assert len(set(slots.values())) == 6
    many = drawn(hourly(**{f"K{number:02}": [1, 2] for number in range(14)}), top=14)
    assert len({line.slot for line in colouring.alike({"chart": many})["chart"]}) == 14


def test_points_have_the_colours_and_markers_of_the_lines_of_their_keys() -> None:
    """Points began with the first colour in every chart, whatever the colour of the line of the same key."""
    colouring = KeyColors()
    lines = drawn(hourly(JFK=[1, 2], EWR=[3, 4]))
    points = drawn(hourly(EWR=[5, 6], LGA=[1, 1], JFK=[7, 8]), settled=6, kind="scatter", by="origin")
    points = colouring.alike({"lines": lines, "points": points})["points"]
    expected = {"EWR": (COLOURS[1], MARKERS[1]), "LGA": (COLOURS[2], MARKERS[2]), "JFK": (COLOURS[0], MARKERS[0])}
    [marks] = [each.data_source.data for each in view_of(points).panel[0].object.renderers
               if "fullness" in each.data_source.data]
    assert dict(zip(marks["key"], zip(marks["colour"], marks["marker"], strict=True), strict=True)) == expected
    shown = legend_html(points)
    assert [shown.index(expected[name][0]) for name in ("EWR", "LGA", "JFK")] == sorted(
        shown.index(expected[name][0]) for name in expected)
    for name, (tint, _) in expected.items():
        assert f'stroke="{tint}"' in scatter_svg(points), name
    saved = holoviews_of(points).Points.I
    assert set(saved.dimension_values("colour")) == {tint for tint, _ in expected.values()}


@pytest.mark.parametrize("kind", ("lines", "bars", "table"))
def test_a_key_that_is_not_there_leaves_nothing_and_an_unknown_column_everything(kind: str) -> None:
    picture = drawn(TABLE, kind=kind)
    assert narrowed(picture, {"origin": frozenset({"SFO"})}) is None
    assert narrowed(picture, {"carrier": frozenset({"UA"})}) == picture or kind == "lines"


def test_one_key_of_two_is_found_in_the_label_of_both() -> None:
    rows = {"start": [0, 0, 0], "end": [1, 1, 1], "a": ["x", "y", "x"], "b": ["p", "p", "q"], "n": [3, 2, 1]}
    picture = drawn(pa.table(rows), kind="bars", by=("a", "b"))
    assert values_of(picture) == {"a": ("x", "y"), "b": ("p", "q")}
    assert narrowed(picture, {"b": frozenset({"p"})}).names == ("x, p", "y, p")
    assert narrowed(picture, {"a": frozenset({"x"}), "b": frozenset({"q"})}).names == ("x, q",)


def together(pictures: dict[str, Picture | None]) -> dict[str, Picture | None]:
    return on_one_axis(pictures, sharing(pictures))


def test_charts_over_time_get_one_range() -> None:
    short, long = drawn(hourly(JFK=[1, 2])), drawn(hourly(LGA=[1, 2, 3, 4]))
    bars = drawn(TABLE, kind="bars")
    found = together({"short": short, "long": long, "bars": bars, "none": None})
    assert found["short"].x == found["long"].x
    assert found["short"].x.low <= short.x.low
    assert found["long"].x.high >= long.x.high
    assert found["bars"] is bars
    assert found["none"] is None


def test_a_chart_of_one_window_does_not_stretch_the_others() -> None:
    """A window of a day squeezed a chart of ten minutes into its left edge until the day was over."""
    short, day = drawn(hourly(JFK=[1, 2])), drawn(hourly(JFK=[3]), kind="line")
    day = replace(day, x=Extent(day.x.low, day.x.high + 86_400e3))
    found = together({"short": short, "day": day})
    assert found["short"].x == found["day"].x == short.x
    assert together({"day": day})["day"].x == day.x


@pytest.mark.parametrize(("other", "shared"), (
    ((0.0, 40.0), True), ((0.0, 40.1), False), ((0.0, 2.5), True), ((0.0, 2.4), False),
    ((30.0, 40.0), True), ((31.0, 41.0), False), ((1e9, 1e9 + 10.0), False)))
def test_charts_share_a_range_of_which_each_fills_a_quarter(other: tuple[float, float], shared: bool) -> None:
    """A chart of a year squeezed one of an hour into one column of pixels, and so did two days years apart."""
    one = replace(drawn(hourly(JFK=[1, 2])), x=Extent(0.0, 10.0))
    two = replace(one, x=Extent(*other))
    found = together({"one": one, "two": two})
    whole = Extent(min(0.0, other[0]), max(10.0, other[1]))
    assert [found["one"].x, found["two"].x] == ([whole, whole] if shared else [one.x, two.x])


def test_charts_that_do_not_fit_the_longest_share_among_themselves() -> None:
    hour = replace(drawn(hourly(JFK=[1, 2])), x=Extent(0.0, 1.0))
    year, two_hours = (replace(hour, x=Extent(0.0, high)) for high in (9_000.0, 2.0))
    spans = {"hour": hour, "year": year, "two hours": two_hours}
    assert sharing(spans) == {"hour": "hour", "year": "year", "two hours": "hour"}
