"""Samples that are no longer in memory, or never were, are read from their source again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel_workbench.frames import Options, Result, ScopeFrame, Spectrogram
from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.frames.sample_trace import SampleTrace
from whimbrel_workbench.frames.spectrum_columns import SpectrumColumns
from whimbrel_workbench.sessions import LiveSession
from whimbrel_workbench.sessions.dropped_samples import DroppedSamples
from whimbrel_workbench.sessions.result_shape import frame_builder
from whimbrel_workbench.views import NOBODY, view_of
from whimbrel_workbench.views.spectrogram import frames_words
from whimbrel_workbench.views.visible_samples import dropped, visible_samples

SAMPLES = 600_000
X = np.random.default_rng(4).integers(-999, 999, SAMPLES).astype(np.int16)


def signal(missing: slice = slice(0)) -> wb.Stream:
    x = np.ma.masked_array(X, np.isin(np.arange(SAMPLES), np.arange(SAMPLES)[missing]))
    return wb.from_samples({"x": x}, rate=1_000, start="2024-05-01", unit="us")


def taken(stream: wb.Stream, *parts: slice, keep_rows: int = SAMPLES) -> ScopeFrame:
    """The picture of a view that sees only some of the rows before they are evicted."""
    table, framer = stream.collect(), frame_builder(stream, Options.of())
    for part in parts:
        shown = table.slice(part.start, part.stop - part.start)
        picture = framer.picture(Result(shown, (len(shown),), forgotten=part.start, rearranged=0), keep_rows=keep_rows)
    assert isinstance(picture, ScopeFrame)
    return picture


def values(picture: ScopeFrame, first: int = 0, stop: int = SAMPLES) -> np.ndarray:
    found = np.full(stop - first, np.nan)
    for place, piece in picture.channels[0].trace.pieces(first, stop):
        found[place - first:place - first + len(piece)] = piece
    return found


@pytest.mark.parametrize("missing", [slice(0), slice(150_000, 220_000)])
def test_rows_that_a_run_evicted_unread_are_read_again(missing: slice) -> None:
    stream = signal(missing)
    rows = SAMPLES - len(range(SAMPLES)[missing])
    picture = taken(stream, slice(100_000, 120_000), slice(400_000, rows))
    store = picture.store
    assert store.unread == 380_000
    assert [hole.rows for hole in store.holes] == [100_000, 280_000]
    while store.fill():
        pass
    assert (store.unread, store.holes) == (0, [])
    known = X.astype(float)
    known[missing] = np.nan
    assert np.array_equal(values(picture), known, equal_nan=True)
    assert picture.missing == SAMPLES - rows


def test_a_hole_is_read_in_portions_and_its_values_are_dropped_but_not_its_extremes() -> None:
    picture = taken(signal(), slice(590_000, SAMPLES), keep_rows=20_000)
    store = picture.store
    store.holes[0].portion = 70_000_000  # ticks
    steps = 0
    while store.fill():
        steps += 1
    assert steps == 9
    trace = picture.channels[0].trace
    assert trace.seen == [[0, SAMPLES]]
    assert trace.runs[0][0] >= SAMPLES - 20_000 - 65_536
    columns = trace.columns(0, SAMPLES, 10)
    for place, (low, high) in enumerate(zip(columns.low, columns.high, strict=True)):
        part = X[place * columns.size:(place + 1) * columns.size]
        assert (low, high) == (part.min(), part.max())


def test_dropped_values_of_a_range_come_back_and_stay_while_others_are_dropped() -> None:
    picture = taken(signal(), slice(0, SAMPLES), keep_rows=20_000)
    x = Extent(*picture.channels[0].axis.positions(np.array([200_000, 201_000])).tolist())
    assert dropped(picture, x)
    [before] = visible_samples(picture, x, 4_000)
    assert before.coarse
    shown: list[bool] = []
    DroppedSamples(lambda show: show()).read(picture, x, lambda: shown.append(True))
    deadline = time.monotonic() + 30
    while not shown and time.monotonic() < deadline:
        time.sleep(0.01)
    assert shown == [True]
    assert not dropped(picture, x)
    picture.store._drop()
    [after] = visible_samples(picture, x, 4_000)
    assert after.single
    assert not after.coarse
    assert np.concatenate([low for _, low, _ in after.settled])[1:-1].tolist() == X[200_000:201_001].tolist()
    table = signal().between("2024-05-01T00:01:00", "2024-05-01T00:01:01").collect()
    base = 1_714_521_600_000_000
    picture.store.restore(table, base + 60_000_000, base + 61_000_000)
    assert dropped(picture, x)  # the last range is kept, and no other one
    assert np.array_equal(values(picture, 60_000, 61_000), X[60_000:61_000])


def test_a_view_asks_for_dropped_samples_when_its_reader_zooms_and_only_then() -> None:
    picture = taken(signal(), slice(0, SAMPLES), keep_rows=20_000)
    asked: list[Extent] = []
    for view in (view_of(picture, replace(NOBODY, read_samples=lambda _picture, x, _show: asked.append(x))),):
        low, high = picture.channels[0].axis.positions(np.array([200_000, 201_000])).tolist()
        view._viewport._look(f"[true, {low}, {high}, 0, 1, 800, 200]")
        assert asked == [Extent(low, high)]
        view.draw(picture)
        view._draw_again()
        newest = picture.channels[0].axis.positions(np.array([599_000, 599_900])).tolist()
        view._viewport._look(f"[true, {newest[0]}, {newest[1]}, 0, 1, 800, 200]")
        assert len(asked) == 1


def test_a_spectrogram_of_dropped_samples_has_a_frame_of_each_column() -> None:
    tone = np.rint(1_000 * np.sin(np.arange(SAMPLES) * np.pi / 4)).astype(np.int16)
    stream = wb.from_samples({"x": tone}, rate=1_000, start="2024-05-01", unit="us")
    scope = taken(stream, slice(0, SAMPLES), keep_rows=20_000)
    known, there = SpectrumColumns(scope.channels[0]), SpectrumColumns(scope.channels[0])
    seen, trace = [[580_000, SAMPLES]], scope.channels[0].trace
    trace.seen, seen = seen, trace.seen
    known.show(scope.channels[0], 0, SAMPLES, 100)
    assert known.lost == []  # the others were evicted unread
    trace.seen = seen
    known.show(scope.channels[0], 0, SAMPLES, 100)
    lost = len(known.lost)
    assert 60 < lost < 100
    while known.refine(0.0):
        pass
    assert np.isnan(known.image(256)).all(axis=0).sum() == lost
    taken_in: list[int] = []

    def take(frames: Mapping[int, np.ndarray]) -> None:
        known.put(frames)
        taken_in.extend(frames)

    DroppedSamples(lambda show: show()).read_frames(scope, known.lost, take)
    wait_until(lambda: len(taken_in) == lost)
    assert known.lost == []
    assert not known.more
    assert known.frames_read < known.frames
    assert frames_words(known).startswith("Sample of frames: ")
    there.show(taken(stream, slice(0, SAMPLES)).channels[0], 0, SAMPLES, 100)
    assert np.allclose(known.image(2_000)[:, :lost - 1], there.image(2_000)[:, :lost - 1], atol=1e-3)


def test_a_spectrogram_asks_for_frames_of_dropped_samples_once() -> None:
    asked: list[int] = []
    host = replace(NOBODY, read_frames=lambda _scope, ranges, _take: asked.append(len(ranges)))
    picture = Spectrogram(taken(signal(), slice(0, SAMPLES), keep_rows=20_000))
    view = view_of(picture, host)
    for _ in range(100):
        view._refine()
    assert len(asked) == 1
    assert asked[0] > 100


def wait_until(true: Callable[[], bool], timeout_s: float = 30) -> None:
    deadline = time.monotonic() + timeout_s
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_feeds_are_not_read_again() -> None:
    log = wb.from_arrow(pa.table({"at": np.arange(50), "x": np.arange(50.0)}), time="at", name="log")
    assert frame_builder(log.assume(periodic=1), Options.of()).read is not None
    live = wb.replay(log, speed=100, reorder_latency=0)
    assert frame_builder(live.assume(periodic=1), Options.of()).read is None


def test_a_session_shows_all_samples_of_a_log_that_its_run_read_faster_than_it_looked() -> None:
    stream = signal().where(col.x > -2_000)
    frames: list[int] = []
    session = LiveSession(stream, Options.of(kind="scope", keep_rows=50_000), lambda frame: bool(frames.append(
        frame.version)) or True, redraws_per_s=0.5)
    session.start()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        picture = session.picture
        if picture is not None and session.run.state == "finished" and not picture.store.unread and (
                picture.channels[0].trace.samples == SAMPLES):
            break
        time.sleep(0.05)
    session.close()
    assert picture.channels[0].trace.samples == SAMPLES


def test_parts_of_a_range_that_were_dropped() -> None:
    trace = SampleTrace(np.dtype("i2"))
    for first, stop in ((0, 200_000), (300_000, 500_000)):
        trace.add(first, X[first:stop])
    assert trace.dropped(0, SAMPLES) == []
    trace.spare(70_000, 80_000)
    trace.drop(400_000)
    assert trace.runs == [[70_000, 80_000], [393_216, 500_000]]
    assert trace.dropped(0, SAMPLES) == [(0, 70_000), (80_000, 200_000), (300_000, 393_216)]
    assert trace.dropped(72_000, 79_000) == []
