"""Heat maps: a row for each key, cells that say how final they are, few enough to be painted."""

from __future__ import annotations

import re

import numpy as np
import panel as pn
import pyarrow as pa
import pytest
from bokeh.models import LinearColorMapper, Quad

from tests.workbench.results import hourly
from whimbrel_workbench.frames import FrameBuilder, Heat, Lines, Options, Result, Stages, Style
from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.frames.heat import MAX_CELLS
from whimbrel_workbench.views import view_of
from whimbrel_workbench.views.caption import caption
from whimbrel_workbench.views.color_scales import palette_of

GATES = {f"gate {number}": [number, number + 1] for number in range(13)}


def draw(table: pa.Table, *reached: int, **options: object) -> Heat:
    names = Stages(tuple(f"{band}m" for band in range(len(reached))) if len(reached) > 1 else ("",))
    picture = FrameBuilder(Options(**{"kind": "heatmap", **options})).picture(Result(table, reached or (0,), names))
    assert isinstance(picture, Heat)
    return picture


def test_more_keys_than_lines_can_show_are_a_heat_map() -> None:
    assert isinstance(FrameBuilder(Options()).picture(Result(hourly(**GATES), (0,))), Heat)
    few = dict(list(GATES.items())[:12])
    assert isinstance(FrameBuilder(Options()).picture(Result(hourly(**few), (0,))), Lines)


def test_rows_are_in_the_order_in_which_people_count() -> None:
    assert draw(hourly(**GATES)).names[:3] == ("gate 0", "gate 1", "gate 2")
    assert draw(hourly(**GATES)).names[-1] == "gate 12"


def test_each_result_is_a_cell_as_wide_as_its_lifetime() -> None:
    picture = draw(hourly(b=[1, 2], a=[3, None]), 1)
    cells = sorted(zip(picture.row.tolist(), picture.left.tolist(), picture.right.tolist(), picture.values.tolist(),
                       picture.stage.tolist(), strict=True))
    first = cells[0][1]
    assert [(row, left - first, right - left, value) for row, left, right, value, _ in cells] == [
        (0, 0, 3_600_000, 3), (1, 0, 3_600_000, 1), (1, 3_600_000, 3_600_000, 2)]
    assert [stage for *_, stage in cells] == [0, 1, 0]


def test_overlapping_lifetimes_end_where_the_next_begins() -> None:
    table = pa.table({"start": [0, 10, 20], "end": [30, 40, 50], "k": ["a"] * 3, "n": [1, 2, 3]})
    assert draw(table).right.tolist() == [10, 20, 50]


def test_what_has_no_end_lasts_as_far_as_anything_is_known() -> None:
    table = pa.table({"start": [0, 5], "end": [9, None], "k": ["a", "b"], "n": [1, 2]})
    assert draw(table).right.tolist() == [9, 9]


def test_a_new_key_goes_below_and_makes_the_order_stale() -> None:
    framer = FrameBuilder(Options(kind="heatmap"))
    first = framer.picture(Result(hourly(b=[1], c=[2]), (0,)))
    framer.seen(first)
    second = framer.picture(Result(hourly(b=[1], c=[2], a=[3]), (0,)))
    assert (first.stale, second.names, second.stale) == (False, ("b", "c", "a"), True)
    framer.resort()
    third = framer.picture(Result(hourly(b=[1], c=[2], a=[3]), (0,)))
    assert (third.names, third.stale) == (("a", "b", "c"), False)


def test_too_many_results_share_cells_that_are_as_final_as_their_least_final() -> None:
    rows = 3 * MAX_CELLS
    table = pa.table({"start": range(rows), "end": range(1, rows + 1), "k": ["a"] * rows, "n": [4.0] * rows})
    picture = draw(table, rows - 1)
    assert len(picture.row) <= MAX_CELLS
    assert picture.per_cell >= 3
    assert set(picture.values.tolist()) == {4.0}
    assert picture.stage.tolist() == [1] * (len(picture.row) - 1) + [0]


def test_a_sentence_says_how_long_a_cell_is() -> None:
    """It said "the mean of 3:00:00"."""
    hours = np.datetime64("2024-01-01", "h") + np.arange(3 * MAX_CELLS) * np.timedelta64(1, "h")
    table = pa.table({"start": hours.astype("datetime64[s]"), "end": (hours + 1).astype("datetime64[s]"),
                      "k": ["a"] * len(hours), "n": [4.0] * len(hours)})
    assert re.search(r" Each cell is the mean over \d+ (h|d)( \d+ (min|h))?\.", caption(draw(table, len(hours))))


def test_means_of_cells_are_those_of_their_results() -> None:
    rows = 2 * MAX_CELLS
    values = np.random.default_rng(1).normal(size=rows)
    picture = draw(pa.table({"start": range(rows), "end": range(1, rows + 1), "k": ["a"] * rows, "n": values}))
    for left, right, mean in list(zip(picture.left, picture.right, picture.values, strict=True))[::500]:
        assert mean == pytest.approx(values[int(left):int(right)].mean())


def test_another_column_can_run_along_the_x_axis() -> None:
    table = pa.table({"start": [0] * 4, "end": [9] * 4, "hour": [7, 7, 10, 9], "day": ["Mo", "Tu", "Mo", "Mo"],
                      "n": [1, 2, 3, 4]})
    for options in ({"x": "hour", "y": "day", "C": "n"}, {"x": "hour", "by": "day", "y": "n"}):
        picture = draw(table, **options)
        assert (picture.columns, picture.names, picture.value) == (("7", "9", "10"), ("Mo", "Tu"), "n")
        assert sorted(zip(picture.row.tolist(), picture.left.tolist(), picture.values.tolist(), strict=True)) == [
            (0, 0, 1), (0, 1, 4), (0, 2, 3), (1, 0, 2)]


def test_only_some_rows() -> None:
    picture = draw(hourly(a=[1, 2], b=[3, 4], c=[5, 6]))
    left = picture.only([True, False, True])
    assert (left.names, left.row.tolist(), left.values.tolist()) == (("a", "c"), [0, 1, 0, 1], [1, 5, 2, 6])
    assert picture.only([False] * 3) is None


@pytest.mark.parametrize(("low", "high"), ((-20.0, 10.0), (-1.0, 400.0), (-3.0, 3.0)))
@pytest.mark.parametrize("cmap", (None, "RdBu"))
def test_colours_of_two_kinds_turn_at_zero(low: float, high: float, cmap: str | None) -> None:
    colours = palette_of(Style(cmap=cmap), Extent(low, high))
    lightness = [sum(int(each[at:at + 2], 16) for at in (1, 3, 5)) for each in colours]
    assert len(colours) == 256
    assert abs(int(np.argmax(lightness)) - 255 * -low / (high - low)) <= 1


def test_a_heat_map_that_turns_negative_shows_it() -> None:
    framer = FrameBuilder(Options(kind="heatmap"))
    view = view_of(framer.picture(Result(hourly(**GATES), (0,))))
    [growing] = {each.palette[0] for each in view.panel[0].object.select({"type": LinearColorMapper})}
    view.draw(framer.picture(Result(hourly(**GATES, z=[-30]), (0,))))
    [around_zero] = {each.palette[0] for each in view.panel[0].object.select({"type": LinearColorMapper})}
    assert growing != around_zero


def test_neighbours_that_changed_have_one_frame() -> None:
    """Of hundreds of narrow cells that had changed one saw the frames, and no colours."""
    framer = FrameBuilder(Options(kind="heatmap"))
    framer.seen(framer.picture(Result(hourly(a=[1, 2, 3, 4, 5], b=[1, 1, 1, 1, 1]), (0,)), 0.0), 0.0)
    changed = framer.picture(Result(hourly(a=[1, 9, 9, 4, 9], b=[9, 1, 1, 1, 1]), (0,)), 1.0)
    frames = view_of(changed)._changed.data
    hours = (frames["right"] - frames["left"]) / 3_600_000
    assert list(zip(np.floor(frames["top"]).tolist(), hours.tolist(), strict=True)) == [(0, 2), (0, 1), (1, 1)]


def test_cells_that_are_not_settled_are_hatched_and_no_cell_has_a_pattern_of_its_own() -> None:
    """The page makes a canvas for each pattern that it is given."""
    picture = draw(hourly(b=[1, 2], a=[3, None]), 1)
    chart = view_of(picture).panel.select(pn.pane.Bokeh)[0].object
    assert {each.glyph.hatch_pattern for each in chart.renderers if isinstance(each.glyph, Quad)} == {None, "/"}
    hatches = [each for each in chart.renderers if isinstance(each.glyph, Quad) and each.glyph.hatch_pattern]
    hatched = [(left, top) for each in hatches
               for left, top in zip(*(each.data_source.data[name] for name in ("left", "top")), strict=True)]
    cells = zip(picture.stage, picture.left, picture.row + 0.04, strict=True)
    assert sorted(hatched) == sorted((left, top) for stage, left, top in cells if stage == 0)
