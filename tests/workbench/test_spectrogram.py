"""Spectrograms: which frames are read, their maximum, gaps and the words on the picture."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from whimbrel.errors import PlanError
from whimbrel.plan import Sampling
from whimbrel_workbench.frames import FrameBuilder, Options, Result, Spectrogram
from whimbrel_workbench.frames.spectrum_columns import SpectrumColumns
from whimbrel_workbench.frames.style import PLAIN
from whimbrel_workbench.views import view_of
from whimbrel_workbench.views.caption import caption
from whimbrel_workbench.views.overlay import holoviews_of
from whimbrel_workbench.views.spectrogram import frames_words
from whimbrel_workbench.views.svg_spectrogram import spectrogram_svg

RATE = 1_000
TONE = (1_000 * np.sin(2 * np.pi * 125 * np.arange(200_000) / RATE)).astype(np.int16)


def spectrogram(values: np.ndarray, settled: int | None = None, missing: slice = slice(0)) -> Spectrogram:
    at = np.delete(np.arange(len(values)), missing)
    start = pa.array(at * 1_000).cast(pa.timestamp("us"))
    table = pa.table({"start": start, "end": start, "x": pa.array(np.delete(values, missing))})
    framer = FrameBuilder(Options(kind="spectrogram"), sampling=Sampling(Fraction(1_000)))
    return framer.picture(Result(table, (len(at) if settled is None else settled,), rearranged=0))


def columns(picture: Spectrogram, first: int, stop: int, most: int = 100) -> SpectrumColumns:
    found = SpectrumColumns(picture.channel)
    found.show(picture.channel, first, stop, most)
    return found


def test_a_tone_stands_at_its_frequency_with_its_power() -> None:
    found = columns(spectrogram(TONE), 0, 200_000)
    image = found.image(10_000)
    assert found.frame == 1_024
    assert np.abs(np.nanargmax(image[:, 5]) * RATE / found.frame - 125) < 1
    assert np.nanmax(image) == pytest.approx(20 * np.log10(1_000 / 2), abs=0.5)


def test_at_first_one_frame_a_column_is_read_and_then_the_maximum_of_all() -> None:
    values = np.zeros(200_000, np.int16)
    values[101_500:101_520] = 9_000  # between the first frames of all columns
    found = columns(spectrogram(values), 0, 200_000, 40)
    assert (found.frames_read, found.frames) == (40, 40 * 9)
    assert frames_words(found) == "Sample of frames: 40 of 360, 1,024 samples each."
    assert np.nanmax(found.image(256)) < -100
    steps = 1
    while found.refine(0.0):
        steps += 1
    assert steps > 1
    assert found.frames_read == found.frames
    image = found.image(256)
    assert np.flatnonzero(np.nanmax(image, axis=0) > 0).tolist() == [20]
    assert "All 360 frames" in frames_words(found)


def test_columns_stay_while_the_range_moves_over_them() -> None:
    found = columns(spectrogram(TONE), 0, 100_000, 50)
    while found.refine(1.0):
        pass
    read = found.frames_read
    found.show(found.channel, 2_000, 102_000, 50)
    assert found.frames_read == read - found.frames_of_column + 1


def test_frames_with_missing_samples_are_left_out() -> None:
    found = columns(spectrogram(TONE, missing=slice(80_000, 120_000)), 0, 200_000, 50)
    while found.refine(1.0):
        pass
    empty = np.flatnonzero(np.isnan(found.image(256)).all(axis=0))
    assert empty.tolist() == list(range(20, 30))


def test_few_samples_have_short_frames() -> None:
    found = columns(spectrogram(TONE), 0, 900, 500)
    assert found.frame == 32
    assert found.frames_read == found.frames  # a frame a column is all there is


def test_the_page_asks_for_frames_until_all_are_read() -> None:
    view = view_of(spectrogram(np.tile(TONE, 10), settled=1_999_000))
    asked = 0
    while view._figure.name:
        view._asked.value = view._figure.name
        asked += 1
    assert asked > 0
    assert "All" in view._note.object
    assert view._open.data == {"left": [1_999_000.0], "right": [2_000_000.0]}
    assert view._cells.data["image"][0].dtype == np.uint8


def test_a_spectrogram_is_a_still_picture_and_says_what_it_shows() -> None:
    picture = spectrogram(np.tile(TONE, 10))
    assert "data:image/png" in spectrogram_svg(picture)
    assert "Sample of frames" in spectrogram_svg(picture)
    assert len(holoviews_of(picture, PLAIN)) == 1
    assert caption(picture) == "Power of x by frequency."
    with pytest.raises(PlanError, match="A spectrogram needs a stream of samples"):
        FrameBuilder(Options(kind="spectrogram")).columns(pa.schema({"start": pa.int64(), "x": pa.int64()}))
