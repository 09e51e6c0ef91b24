"""What is drawn says what is settled, on the page, in HoloViews and in the saved notebook."""

from __future__ import annotations

import base64
import re
from typing import Any
from xml.etree import ElementTree as ET

import holoviews as hv
import pyarrow as pa
import pytest
from bokeh.models import ColumnDataSource, MultiLine, Scatter, Text

import whimbrel as wb
from tests.workbench.results import hourly
from tests.workbench.test_frame_builder import whole
from whimbrel.errors import PlanError
from whimbrel_workbench.frames import Failure, Frame, FrameBuilder, Options, Result, Stages, Status
from whimbrel_workbench.view_panel import ViewPanel
from whimbrel_workbench.views import failure_html, still_html, view_of
from whimbrel_workbench.views.caption import caption
from whimbrel_workbench.views.legend import legend_html
from whimbrel_workbench.views.overlay import holoviews_of
from whimbrel_workbench.views.palette import COLOURS, MARKERS, colour, marker
from whimbrel_workbench.views.svg_cells import heat_svg
from whimbrel_workbench.views.svg_charts import bars_svg
from whimbrel_workbench.views.table import mark_of

STATUS = Status("stopped", 0.4321, (("rows", "1,000"), ("watermark", "2013-12-01 05:00")))
TABLE = hourly(JFK=[1, 2, 3, 4], LGA=[5, 6, 7, 8])


def picture(table=TABLE, settled=4, **options):
    return FrameBuilder(Options(**options)).picture(Result(table, (settled,)))


def chart_of(view):
    return view.panel[0].object


def drawn_by(view, kind, *columns):
    """The data of the glyphs of a kind that have these columns."""
    return [renderer.data_source.data for renderer in chart_of(view).renderers
            if isinstance(renderer.glyph, kind) and set(columns) <= set(renderer.data_source.data)]


def test_lines_and_points_differ_by_dash_lightness_and_fill() -> None:
    result = Result(hourly(JFK=[1, 2, 3, 4, 5, 6]), (4, 2), Stages(("1m", "1h")))
    view = view_of(FrameBuilder(Options()).picture(result))
    paths = [renderer.glyph for renderer in chart_of(view).renderers if isinstance(renderer.glyph, MultiLine)]
    assert [path.line_dash for path in paths] == ["solid", [5, 4]]
    solid, dashed = drawn_by(view, MultiLine)
    assert list(zip(map(len, solid["xs"]), solid["strength"], solid["state"], strict=True)) == [
        (3, 0.5, "early result after 1m"), (2, 1.0, "settled after 1h")]
    assert list(zip(map(len, dashed["xs"]), dashed["strength"], strict=True)) == [(3, 0.9)]
    [marks] = drawn_by(view, Scatter, "state")
    assert marks["fullness"] == [1, 1, 0.45, 0.45, 0, 0]
    assert marks["state"] == ["settled after 1h"] * 2 + ["early result after 1m"] * 2 + ["provisional"] * 2


def test_a_redraw_keeps_every_glyph_and_replaces_its_data() -> None:
    view = view_of(picture(settled=0))
    before = [renderer.id for renderer in chart_of(view).renderers]
    view.draw(picture(settled=8))
    assert [renderer.id for renderer in chart_of(view).renderers] == before
    assert set(drawn_by(view, Scatter, "state")[0]["state"]) == {"settled"}


def test_nothing_is_drawn_with_webgl() -> None:
    assert chart_of(view_of(picture())).output_backend == "canvas"


def test_bars_differ_by_hatch_and_by_fill() -> None:
    three = Result(whole(k=["a", "b", "c"], n=[5, 4, 3]), (2, 1), Stages(("1m", "1h")))
    [bars] = drawn_by(view_of(FrameBuilder(Options()).picture(three)), Text)
    assert list(zip(bars["key"], bars["fullness"], bars["hatch"], strict=True)) == [
        ("a", 1, " "), ("b", 0.45, " "), ("c", 0, "/")]


def test_words_stand_beyond_the_end_of_a_bar_on_either_side() -> None:
    view = view_of(picture(whole(k=["a", "b"], n=[50, -40])))
    [bars] = drawn_by(view, Text)
    assert list(zip(bars["reach"], bars["side"], bars["shift"], strict=True)) == [(50, "left", 6), (-40, "right", -6)]
    axis = chart_of(view).x_range
    assert axis.start < -40 < 50 < axis.end
    assert (-40 - axis.start) / (axis.end - axis.start) * 600 > 24
    axis = chart_of(view_of(picture(whole(k=["a"], n=[100])))).x_range  # once its last digit was cut
    assert (axis.end - 100) / axis.end * 600 > 6 + 3 * 7.7


def test_bars_of_several_windows_say_so() -> None:
    rows = picture(hourly(JFK=[1, 2, 3], LGA=[5]), kind="bar")
    assert "newest row of its key, which starts between 2013-12-01 00:00 and 2013-12-01 02:00." in caption(rows)
    assert "newest" not in caption(picture(whole(k=["a"], n=[3])))


def test_long_names_fit_a_saved_picture() -> None:
    table = whole(k=["a name that is far too long for " * 3, "b"], n=[3, 4])
    for drawn in (bars_svg(picture(table)), heat_svg(picture(table, kind="heatmap"))):
        assert "a name that" in drawn
        assert max(map(len, re.findall(r">([^<]*)</text>", drawn))) < 50


def test_every_slot_has_its_own_colour_and_marker() -> None:
    glyphs = {(colour(number), marker(number)) for number in range(len(COLOURS) * len(MARKERS))}
    assert len(glyphs) == len(COLOURS) * len(MARKERS)


def test_the_legend_says_in_words_what_marks_mean() -> None:
    lines, bars = legend_html(picture()), legend_html(picture(whole(k=["a"], n=[3])))
    assert "solid, filled: settled" in lines
    assert "dashed, hollow: provisional" in lines
    assert "hatched: provisional" in bars
    assert "JFK" in lines
    points = legend_html(picture(kind="scatter"))
    assert "hollow: provisional" in points
    assert "more points" not in points  # each of the few is drawn
    assert "more points" in legend_html(picture(kind="density"))


@pytest.mark.parametrize("kind", ["line", "bar", "heatmap", "table"])
@pytest.mark.parametrize("latencies", [2, 3, 4])
def test_every_latency_looks_and_is_called_otherwise(kind: str, latencies: int) -> None:
    """Two early latencies had one appearance in the legend, and one word for it."""
    stages = Stages(("1s", "1m", "1h", "1d")[:latencies])
    rows = tuple(range(latencies, 0, -1))
    frame = FrameBuilder(Options(kind=kind)).picture(Result(hourly(JFK=list(range(1, 7))), rows, stages))
    if kind == "table":
        signs = [mark_of(stage, stages)[0] for stage in range(latencies + 1)]
    else:
        said = re.findall(r"(<svg.*?</svg>)</span> ([^<]*)</span>", legend_html(frame))
        signs = [f"{sign} {words.partition(':')[0]}" for sign, words in said if stages.bands[0] in words
                 or any(words.endswith(band) for band in stages.bands) or "provisional" in words]
        assert len({sign.partition("</svg>")[0] for sign in signs}) == latencies + 1
        assert len({sign.rpartition("</svg>")[2] for sign in signs}) == latencies + 1
    assert len(set(signs)) == latencies + 1


def test_the_caption_says_how_many_revisions_have_no_mark() -> None:
    """Of many revised values a hundred have a whisker; the others were left out without a word."""
    table = hourly(JFK=[float(hour) for hour in range(3_000)])
    for revised, words in ((100, ""), (250, "The 100 largest of 250 revisions are marked.")):
        before = pa.table({"flights": [hour + 1.0 if hour < revised else None for hour in range(3_000)]})
        drawn = FrameBuilder(Options()).picture(Result(table, (3_000, 3_000), Stages(("1m", "1h")), before))
        assert ("revisions" in caption(drawn)) is bool(words)
        assert words in caption(drawn)


def test_the_caption_names_what_is_not_shown() -> None:
    many = picture(hourly(**{f"k{number}": [1, 2] for number in range(9)}), 0, top=6)
    assert "Shown: 6 of 9; not shown: k6, k7, k8." in caption(many)
    assert "0 rows settled, 18 provisional" in caption(many)


def test_the_caption_and_an_empty_stage_say_which_rows_cannot_be_drawn() -> None:
    said = caption(picture(hourly(JFK=[1, float("nan"), 3])))
    assert "1 row is not drawn: flights is null, infinite, or not positive on a log axis." in said
    columns = FrameBuilder(Options()).columns(TABLE.schema)
    frame = Frame(1, None, columns, Status("finished", 1.0, ()), "q", undrawn=13)
    screen = ViewPanel()
    screen.draw(frame)
    for said in (still_html(frame), screen.panel[3][0].object):
        assert "13 rows are not drawn: flights is null, infinite, or not positive on a log axis." in said
        assert "no rows" not in said.lower()


@pytest.mark.parametrize("shown", (picture(), picture(whole(k=["a", "b"], n=[3, 4]), 1), picture(kind="table"),
                                   picture(whole(n=[3])), None))
def test_every_picture_is_also_a_holoviews_object_that_draws(shown) -> None:
    # HoloViews applies the theme of a renderer to every page that this process serves, so this one has none.
    renderer = hv.renderer("bokeh").instance(theme=None)
    plot = renderer.get_plot(holoviews_of(shown))
    assert list(plot.state.select({"type": ColumnDataSource}))


@pytest.mark.parametrize("settled", (0, 4, 8))
def test_the_last_frame_carries_picture_share_watermark_and_query(settled: int) -> None:
    html = still_html(Frame(1, picture(settled=settled), None, STATUS, "flights\n  count <all>"))
    assert "43.2% read" in html
    assert "watermark 2013-12-01 05:00" in html
    assert "count &lt;all&gt;" in html
    assert "<script" not in html
    svg = base64.b64decode(re.search(r"base64,([^\"]+)", html)[1]).decode()
    paths = [path for path in ET.fromstring(svg).iter() if path.tag.endswith("path") and path.get("d")]
    dashes = {path.get("stroke-dasharray") for path in paths if path.get("fill") == "none"}
    assert dashes == ({"none"} if settled == 8 else {"5 4"} if settled == 0 else {"none", "5 4"})


@pytest.mark.parametrize("shown", (picture(whole(k=["a<b"], n=[3]), 0), picture(kind="table"), picture(whole(n=[3])),
                                   None))
def test_every_picture_has_a_last_frame(shown) -> None:
    assert "Last frame, stopped" in still_html(Frame(1, shown, None, STATUS, "q"))


def test_a_failure_is_three_lines_and_not_markup() -> None:
    html = failure_html(Failure("SchemaError", "There is no column '<x>'.", "where(col.x > 3)", "Use 'y'"))
    assert "&lt;x&gt;" in html
    assert html.index("There is no column") < html.index("where(col.x") < html.index("Use ")


@pytest.mark.parametrize(("share", "state", "words"), (
    (None, "running", "unbounded"), (0.0, "running", "0.0% read"), (0.0519, "running", "5.1% read"),
    (0.99999, "running", "99.9% read"), (1.0, "finished", "100% read")))
def test_a_share_is_never_rounded_up_to_the_end(share, state, words) -> None:
    assert Status(state, share, ()).fraction_summary == words


@pytest.mark.parametrize(("option", "value", "hint"), [
    ("color", "nvay", "Use 'navy'"), ("color", ["navy", "#12345"], "#rrggbb"),
    ("color", {"a": "no"}, "#rrggbb"), ("cmap", "Virdis", "Use 'Viridis'")])
def test_colours_that_are_not_known_are_refused_where_they_were_typed(option: str, value: Any, hint: str) -> None:
    """A chart stayed empty."""
    query = wb.from_arrow({"at": [1, 2], "x": [1, 2]}, time="at").aggregate(n=wb.count())
    with pytest.raises(PlanError, match=r"Unknown (color|palette)") as at_first:
        query.view(**{option: value})
    view = query.view(color="navy", cmap="viridis")
    with pytest.raises(PlanError, match=r"Unknown (color|palette)") as later:
        view.opts(**{option: value})
    assert all(hint in error.value.hint for error in (at_first, later))
