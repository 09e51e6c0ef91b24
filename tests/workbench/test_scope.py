"""Scopes: channels, gaps, provisional samples, events, and what is drawn at which zoom."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from bokeh.models import MultiLine, Patches, Quad
from bokeh.models import Scatter as Markers

import whimbrel as wb
from whimbrel import col
from whimbrel.clock import Timebase
from whimbrel.errors import PlanError
from whimbrel.plan import Sampling
from whimbrel_workbench.frames import FrameBuilder, Options, Result, ScopeFrame
from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.frames.mark import Mark
from whimbrel_workbench.frames.sample_axis import SampleAxis
from whimbrel_workbench.frames.style import PLAIN
from whimbrel_workbench.sessions import LiveSession
from whimbrel_workbench.views import still_html, view_of
from whimbrel_workbench.views.caption import caption
from whimbrel_workbench.views.legend import legend_html
from whimbrel_workbench.views.overlay import holoviews_of
from whimbrel_workbench.views.visible_samples import visible_samples

DRAW = np.random.default_rng(5)


def rows(samples: int = 5_000, first: int = 0, missing: slice = slice(0)) -> pa.Table:
    """Two channels, a sample each millisecond."""
    at = np.delete(np.arange(first, first + samples), missing)
    start = pa.array(at * 1_000).cast(pa.timestamp("us"))
    return pa.table({"start": start, "end": pa.array(at * 1_000 + 1).cast(pa.timestamp("us")),
                     "left": pa.array((np.sin(at / 40) * 1_000).astype(np.int16)),
                     "right": pa.array(DRAW.normal(size=len(at)).astype(np.float32))})


def builder(**options: object) -> FrameBuilder:
    return FrameBuilder(Options.of(**options), sampling=Sampling(Fraction(1_000)))


def drawn(picture: ScopeFrame, kind: type) -> list[dict]:
    figure = view_of(picture).panel[0].object
    return [each.data_source.data for each in figure.renderers if isinstance(each.glyph, kind)]


def test_a_stream_of_samples_is_a_scope_and_others_are_not() -> None:
    framer = builder()
    table = rows()
    picture = framer.picture(Result(table, (4_000,), rearranged=0))
    assert isinstance(picture, ScopeFrame)
    assert [channel.name for channel in picture.channels] == ["left", "right"]
    assert [channel.trace.runs for channel in picture.channels] == [[[0, 4_000]]] * 2
    assert picture.channels[0].tail.runs == [[4_000, 5_000]]
    assert not isinstance(FrameBuilder(Options()).picture(Result(table, (4_000,))), ScopeFrame)


def test_samples_are_taken_over_once_and_however_results_are_cut() -> None:
    table, framer = rows(3_000), builder()
    for settled, seen in ((0, 10), (7, 500), (1_900, 2_000), (3_000, 3_000)):
        picture = framer.picture(Result(table.slice(0, seen), (settled,), rearranged=0))
    trace = picture.channels[0].trace
    assert trace.runs == [[0, 3_000]]
    assert np.concatenate([values for _, values in trace.pieces(0, 3_000)]).tolist() == table["left"].to_pylist()
    assert trace.dtype == np.int16


def test_samples_outlive_the_rows_that_a_run_evicts() -> None:
    table, framer = rows(3_000), builder()
    framer.picture(Result(table.slice(0, 2_000), (2_000,), rearranged=0))
    picture = framer.picture(Result(table.slice(1_500), (1_500,), forgotten=1_500, rearranged=0))
    assert picture.channels[0].trace.runs == [[0, 3_000]]
    picture = framer.picture(Result(table.slice(2_990), (10,), forgotten=3_500, rearranged=0))
    assert picture.store.unread == 500
    assert "500 rows were evicted before this view read them." in caption(picture)


def test_a_clock_that_goes_back_starts_the_samples_again() -> None:
    framer = builder()
    framer.picture(Result(rows(3_000), (3_000,), rearranged=0))
    picture = framer.picture(Result(rows(200), (200,), rearranged=1))
    assert picture.channels[0].trace.runs == [[0, 200]]


def test_gaps_stay_gaps_at_each_zoom() -> None:
    picture = builder().picture(Result(rows(5_000, missing=slice(2_000, 3_000)), (4_000,), rearranged=0))
    assert picture.missing == 2 * 1_000
    assert "samples are missing" in caption(picture)
    [fill, _] = drawn(picture, Patches)
    assert len(fill["xs"]) == 4  # before and after the gap, of two channels
    for channel in visible_samples(picture, Extent(1_990.0, 3_010.0), 4_000):
        assert channel.single
        assert [len(x) for x, _, _ in channel.settled] == [11, 12]


def test_columns_have_the_extremes_of_their_samples_and_single_samples_their_values() -> None:
    table = rows(5_000)
    picture = builder().picture(Result(table, (5_000,), rearranged=0))
    values = table["left"].to_numpy()
    [columns, _] = visible_samples(picture, picture.x, 100)
    assert not columns.single
    [(_, low, high)] = columns.settled
    assert len(low) <= 101
    assert (low.min(), high.max()) == (values.min(), values.max())
    [single, _] = visible_samples(picture, Extent(100.0, 110.0), 100)
    [(x, low, high)] = single.settled
    assert single.single
    assert x.tolist() == list(range(99, 112))
    assert low.tolist() == high.tolist() == values[99:112].tolist()


@pytest.mark.parametrize(("width_px", "single"), [(194, False), (199, True)])
def test_samples_more_than_two_pixels_apart_are_drawn_one_by_one(width_px: int, single: bool) -> None:
    picture = builder().picture(Result(rows(5_000), (5_000,), rearranged=0))
    assert [each.single for each in visible_samples(picture, Extent(1_001.0, 1_099.0), width_px)] == [single] * 2


def test_provisional_samples_are_hatched_or_dashed_and_hollow() -> None:
    picture = builder().picture(Result(rows(5_000), (4_000,), rearranged=0))
    figure = view_of(picture).panel[0].object
    [settled, provisional] = [each for each in figure.renderers if isinstance(each.glyph, Patches)]
    assert (settled.glyph.hatch_pattern, provisional.glyph.hatch_pattern) == (None, "/")
    assert (settled.glyph.line_dash, provisional.glyph.line_dash) == ("solid", [4, 3])
    assert len(provisional.data_source.data["xs"]) == 2
    few = builder().picture(Result(rows(40), (30,), rearranged=0))
    [solid, dashed] = drawn(few, MultiLine)
    assert [len(x) for x in solid["xs"]] == [30, 30]
    assert [len(x) for x in dashed["xs"]] == [11, 11]  # they begin at the last settled sample
    markers = next(each for each in drawn(few, Markers) if "fullness" in each and "column" in each)
    assert set(markers["fullness"]) == {0.0, 1.0}
    assert "hatched, dashed: provisional" in legend_html(few)


def test_nulls_and_infinite_values_are_not_drawn() -> None:
    table = rows(100)
    left = [None if at in (10, 11) else at for at in range(100)]
    right = [float("inf") if at == 20 else float("nan") if at == 30 else float(at) for at in range(100)]
    table = table.set_column(2, "left", pa.array(left, pa.int16())).set_column(3, "right", pa.array(right))
    picture = builder().picture(Result(table, (100,), rearranged=0))
    assert picture.channels[0].trace.runs == [[0, 10], [12, 100]]
    assert picture.channels[1].trace.pyramid.ends == (0.0, 99.0)
    assert len(visible_samples(picture, picture.x, 4_000)[1].settled) == 3


def test_each_key_has_channels_of_its_own() -> None:
    table = pa.concat_tables([rows(50).append_column("run", pa.array(["a"] * 50)),
                              rows(50, first=7).append_column("run", pa.array(["b"] * 50))])
    framer = FrameBuilder(Options.of(top=3), sampling=Sampling(Fraction(1_000), None, frozenset({"run"})))
    picture = framer.picture(Result(table, (100,), rearranged=0))
    assert [channel.name for channel in picture.channels] == ["a · left", "a · right", "b · left"]
    assert picture.others == ("b · right",)
    assert picture.channels[2].axis.timebase.phase == 7_000
    assert "Not shown: b · right." in caption(picture)


def test_the_picture_of_a_reader_who_zoomed_stays_while_samples_come() -> None:
    framer = builder()
    picture = framer.picture(Result(rows(5_000), (5_000,), rearranged=0))
    view = view_of(picture)
    view._viewport._look('[true, 1000.5, 1010.5, 0, 2, 900, 300]')
    before = [each.tolist() for each in view._strokes[0].data["xs"]]
    view.draw(framer.picture(Result(rows(50_000), (50_000,), rearranged=0)))
    assert [each.tolist() for each in view._strokes[0].data["xs"]] == before
    assert before[0] == [float(at) for at in range(1_000, 1_013)]


def test_axes_fit_again_and_new_samples_have_a_ground() -> None:
    framer = builder()
    framer.seen(framer.picture(Result(rows(5_000), (5_000,), rearranged=0)), 0.0)
    picture = framer.picture(Result(rows(5_500), (5_500,), rearranged=0), 3.0)
    assert picture.fresh == 4_999.0
    assert drawn(picture, Quad)[0] == {"left": [4_999.0], "right": [5_499.0]}
    framer.fit()
    assert framer.picture(Result(rows(5_500), (5_500,), rearranged=0)).channels[0].trace.runs == [[0, 5_500]]


LOG = wb.from_arrow(rows(5_000).drop_columns(["end"]), time="start", name="talk")
TALK = LOG.select("left", "right").assume(rate=1_000, phase="1970-01-01", gaps=True)


def test_events_of_another_query_are_drawn_and_have_their_sources() -> None:
    loud = TALK.where(col.left > 900).tumbling_window("100ms").aggregate(n=wb.count())
    session = LiveSession(TALK, Options.of(marks=loud), lambda _frame: True)
    session.start()
    assert session.run.wait(30)
    frame = session.present()
    marks = frame.picture.marks
    assert len(marks) == loud.collect().num_rows > 5
    assert marks.settled.all()
    events = view_of(frame.picture)._events.data
    assert events["words"][0].startswith("n ")
    row = session.row_of(Mark.read(f'{{"instant": "{events["instant"][1]}", "layer": "marks"}}'))
    found = session.lineage(row)
    assert found.same is True
    assert row["n"][0].as_py() <= found.origins[0].rows <= 101
    assert session.row_of(Mark(at=3.0))["start"][0].value == 3_000
    assert "rect" in still_svg(frame)
    session.close()


def still_svg(frame: object) -> str:
    import base64
    import re

    return base64.b64decode(re.search(r"svg\+xml;base64,([^\"]+)", still_html(frame))[1]).decode()


def test_a_failed_query_of_events_shows_its_error() -> None:
    late = TALK.where(col.left > 900).select(n=col.left).assume(periodic="1ms")
    session = LiveSession(TALK, Options.of(marks=late), lambda _frame: True)
    session.start()
    session.run.wait(30)
    assert "assume" in session.present().status.failure.where
    session.close()


def test_a_scope_needs_samples() -> None:
    events = wb.from_arrow({"at": [1, 2], "x": [1.0, 2.0]}, time="at")
    for options, words in (({"kind": "scope"}, "rate"), ({"marks": TALK}, "rate")):
        with pytest.raises(PlanError, match=words):
            LiveSession(events, Options.of(**options), lambda _frame: True)
    with pytest.raises(PlanError, match="Marks need a scope"):
        LiveSession(TALK, Options.of(kind="line", marks=TALK), lambda _frame: True)
    with pytest.raises(PlanError, match="marks must be a stream"):
        Options.of(marks=3)


def test_a_scope_is_a_still_picture_and_a_holoviews_object() -> None:
    picture = builder().picture(Result(rows(5_000), (4_000,), rearranged=0))
    assert len(holoviews_of(picture, PLAIN)) == 4
    x = picture.x
    assert len(holoviews_of(picture, PLAIN, (x.low, (x.low + x.high) / 20))) == 2


@pytest.mark.parametrize("missing", [[], [70_000], [65_535, 65_536, 90_000], list(range(10, 65_600))])
def test_numbers_of_samples_are_the_nearest_whether_they_follow_or_not(missing: list[int]) -> None:
    axis = SampleAxis(Timebase(Fraction(1_000, 3), Fraction(0), ""), pa.timestamp("us"))
    numbers = np.delete(np.arange(140_000), missing)
    ticks = axis.timebase.times(numbers)
    assert axis.nearest(ticks).tolist() == numbers.tolist()
    assert axis.nearest(ticks[::-1].copy()).tolist() == numbers[::-1].tolist()


def test_a_zoom_ends_at_a_few_samples() -> None:
    picture = builder().picture(Result(rows(5_000), (5_000,), rearranged=0))
    assert view_of(picture).panel[0].object.x_range.min_interval == 4.0
    fast = SampleAxis(Timebase(Fraction(100), Fraction(0), ""), pa.timestamp("ns"))
    assert fast.min_visible == 1e-3  # below a microsecond positions are not told apart
    assert SampleAxis(Timebase(Fraction(5), Fraction(0), ""), pa.int64()).min_visible == 20.0
