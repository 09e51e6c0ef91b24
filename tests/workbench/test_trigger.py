"""Triggered scopes: which windows are counted, which are provisional, and what is drawn of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from bokeh.models import Image, MultiLine

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import PlanError
from whimbrel.plan import Sampling
from whimbrel_workbench.frames import FrameBuilder, Options, Result, TriggerFrame
from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.frames.mark import Mark
from whimbrel_workbench.sessions import LiveSession
from whimbrel_workbench.views import still_html, view_of
from whimbrel_workbench.views.caption import caption
from whimbrel_workbench.views.legend import legend_html
from whimbrel_workbench.views.overlay import holoviews_of
from whimbrel_workbench.views.persistence import passes

SAMPLES = 2_000
X = np.sin(np.arange(SAMPLES) / 16)


def signal(samples: int = SAMPLES, missing: slice = slice(0)) -> pa.Table:
    at = np.delete(np.arange(samples), missing)
    return pa.table({"start": pa.array(at * 1_000).cast(pa.timestamp("us")), "x": X[at],
                     "end": pa.array(at * 1_000 + 1).cast(pa.timestamp("us"))})


def hits(*at_ms: float) -> pa.Table:
    start = pa.array([int(at * 1_000) for at in at_ms])
    return pa.table({"start": start.cast(pa.timestamp("us")), "end": pa.array(
        [each + 1 for each in start.to_pylist()]).cast(pa.timestamp("us")), "n": list(range(len(at_ms)))})


def builder(**options: object) -> FrameBuilder:
    asked = {"trigger": wb.from_arrow(hits(1), time="start"), "before": "10ms", "after": "30ms"} | options
    return FrameBuilder(Options.of(**asked), sampling=Sampling(Fraction(1_000)))


def drawn(picture: TriggerFrame, kind: type) -> list[dict]:
    figure = view_of(picture).panel[0].object
    return [each.data_source.data for each in figure.renderers if isinstance(each.glyph, kind)]


def picture_of(settled: int, events: pa.Table, settled_events: int, table: pa.Table | None = None,
               **options: object) -> TriggerFrame:
    framer = builder(**options)
    marks = Result(events, (settled_events,), rearranged=0)
    picture = framer.picture(Result(signal() if table is None else table, (settled,), rearranged=0), marks=marks)
    assert isinstance(picture, TriggerFrame)
    return picture


def test_windows_with_all_of_their_samples_are_counted_and_others_are_provisional() -> None:
    picture = picture_of(1_000, hits(0, 100, 969.5, 970, 990, 1_500, 2_005, 3_000), 6)
    assert [each.number for each in picture.settled] == [0, 100, 970, 970]
    assert [each.number for each in picture.provisional] == [990, 1_500, 2_005]
    assert (picture.triggers, picture.older) == (8, 0)
    [channel] = picture.channels
    [first, second, *_] = picture.samples(channel, picture.settled)
    assert np.isnan(first[:10]).all()  # before the signal
    assert second.tolist() == X[90:130].tolist()
    assert "4 settled windows counted, 3 provisional drawn, of 8 triggers." in caption(picture)
    assert "10 samples before its trigger and 30 from it on" in caption(picture)


def test_only_the_newest_windows_are_counted_and_new_ones_are_marked() -> None:
    framer = builder(windows=3)
    table = signal()
    pictures = [framer.picture(Result(table, (SAMPLES,), rearranged=0), marks=Result(events, (len(events),)))
                for events in (hits(100, 200), hits(100, 200, 300, 400))]
    assert [[each.number for each in picture.settled] for picture in pictures] == [[100, 200], [200, 300, 400]]
    assert pictures[1].compared(pictures[0]).fresh == 2
    view = view_of(pictures[1].compared(pictures[0]))
    assert len(view._halo.data["xs"]) == 1
    view.draw(pictures[1].compared(pictures[1]))
    assert view._halo.data["xs"] == []


def test_cells_have_the_number_of_windows_and_the_newest_is_a_line() -> None:
    picture = picture_of(SAMPLES, hits(100, 500, 900), 3)
    [cells] = drawn(picture, Image)
    [image] = cells["image"]
    assert image.dtype == np.uint8
    assert image.sum(axis=0).min() >= 3  # each window passes each column
    assert image.max() <= 3
    [_, provisional, newest] = drawn(picture, MultiLine)
    assert provisional["xs"] == []
    [x], [y] = newest["xs"], newest["ys"]
    assert (x[0], x[-1], len(x)) == (-10.0, 29.0, 40)
    assert y.min() >= 0
    assert newest["words"] == ["n 2"]
    assert picture.unit == "ms"


def test_a_zoom_counts_the_visible_part_again() -> None:
    view = view_of(picture_of(SAMPLES, hits(100, 500, 900), 3))
    view._viewport._look("[true, 0.0, 4.0, 0.0, 1.0, 800, 200]")
    assert (view._cells.data["x"], view._cells.data["dw"]) == ([0.0], [4.0])
    assert view._cells.data["image"][0].shape == (84, 400)
    assert view._cells.data["image"][0].sum(axis=0).min() >= 3


def test_a_window_passes_a_cell_once_and_never_crosses_a_gap() -> None:
    wave = np.where(np.arange(400) % 2, 1.0, 0.0)[None]
    counts = passes(wave, Extent(0.0, 399.0), Extent(-0.5, 1.5), 10, 4)
    assert counts.max() == 1
    assert counts[[1, 2]].min() == 1
    apart = wave.copy()
    apart[0, 100:300] = np.nan
    assert passes(apart, Extent(0.0, 399.0), Extent(-0.5, 1.5), 20, 4)[:, 6:14].max() == 0
    loop = np.random.default_rng(3).normal(size=(7, 50))
    found = passes(loop, Extent(0.0, 49.0), Extent(-4.0, 4.0), 500, 80)
    assert (found.sum(axis=0) >= 7).all()
    for place in range(1, 49):  # samples are more than a column apart: each stands where it is
        rows = np.floor((loop[:, place] + 4.0) * 10).astype(int)
        assert (found[rows, int(place / 49 * 500)] > 0).all()


def test_a_missing_sample_is_a_gap_of_its_window() -> None:
    picture = picture_of(1_900, hits(100, 500), 2, signal(missing=slice(105, 110)))
    [channel] = picture.channels
    [first, second] = picture.samples(channel, picture.settled)
    assert np.flatnonzero(np.isnan(first)).tolist() == list(range(15, 20))
    assert not np.isnan(second).any()


def test_without_a_trigger_the_picture_is_empty_and_says_so() -> None:
    picture = picture_of(SAMPLES, hits().slice(0, 0), 0)
    assert drawn(picture, Image)[0]["image"][0].max() == 0
    assert "0 triggers so far" in caption(picture)
    still = still_html_of(picture)
    assert "0 triggers so far" in still


def still_html_of(picture: TriggerFrame) -> str:
    from whimbrel_workbench.views.svg_trigger import trigger_svg

    assert trigger_svg(picture).startswith("<svg")
    return caption(picture)


def test_the_legend_and_holoviews_show_what_the_view_shows() -> None:
    picture = picture_of(1_000, hits(100, 500, 990), 3)
    words = legend_html(picture)
    assert all(each in words for each in ("lighter: more windows", "dashed: provisional", "solid: newest window"))
    layers = holoviews_of(picture)
    assert [type(each).__name__ for each in layers] == ["Image", "Curve", "Curve"]


@pytest.mark.parametrize(("options", "words"), [
    ({"before": "-1ms"}, "before must not be negative"), ({"before": 0, "after": 0}, "A window must have 2 to"),
    ({"after": "1h"}, "A window must have 2 to"), ({"kind": "spectrogram"}, "has no kind='spectrogram'"),
    ({"trigger": None, "after": "1ms"}, "after belongs to a triggered scope"), ({"windows": 2_000}, "at most 1,000"),
    ({"trigger": 3}, "trigger must be a stream"), ({"windows": 0}, "windows must be an integer")])
def test_wrong_options_are_refused_before_a_row(options: dict, words: str) -> None:
    stream = wb.from_samples({"x": X}, rate=1_000, start="2024-05-01", unit="us")
    with pytest.raises(PlanError, match=words):
        LiveSession(stream, Options.of(**{"trigger": stream.where(col.x > 0.9)} | options), lambda _frame: True)


def test_a_trigger_needs_samples() -> None:
    rows = wb.from_arrow({"at": [1, 2], "x": [1.0, 2.0]}, time="at")
    with pytest.raises(PlanError, match="needs a stream of samples"):
        LiveSession(rows, Options.of(trigger=rows), lambda _frame: True)


@pytest.mark.parametrize("keyed", [False, True])
def test_the_trigger_is_any_query_and_has_its_source_events(keyed: bool) -> None:
    at = np.datetime64("2024-05-01", "us") + np.arange(SAMPLES) * np.timedelta64(1_000, "us")
    both = pa.table({"at": np.repeat(at, 2), "run": np.tile(["a", "b"], SAMPLES), "x": np.repeat(X, 2)})
    stream = wb.from_arrow(both if keyed else pa.table({"at": at, "x": X}), time="at").assume(
        rate=1_000, per="run" if keyed else ())
    events = (stream.where(col.run == "b") if keyed else stream).above(col.x, on=0.9)
    session = LiveSession(stream, Options.of(trigger=events, before="20ms", after="60ms"), lambda _frame: True)
    session.start()
    assert session.run.wait(60)
    session._marks.run.wait(60)
    session.refresh()
    picture = session.picture
    session.close()
    assert isinstance(picture, TriggerFrame)
    assert len(picture.settled) >= 18
    assert {each.key for each in picture.settled} == {"b" if keyed else ""}
    known = np.flatnonzero((X[1:] > 0.9) & (X[:-1] <= 0.9)) + 1
    assert {each.number for each in picture.settled} <= set(known.tolist())
    instant = picture.marks.instants(np.array([picture.settled[-1].event]))[0]
    row = session.row_of(Mark(layer="marks", instant=instant))
    assert row is not None
    assert session.lineage(row).state == "found"
    assert "Last frame" in still_html(session.present())
