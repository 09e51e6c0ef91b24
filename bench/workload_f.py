"""F. Signals: windows of samples against NumPy, SciPy and PyWavelets on whole arrays, and hand-written loops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pywt
from scipy import fft

import whimbrel as wb
from bench.compare import Row, compare
from bench.figure import Figure
from bench.fixed_costs import rows_of_fixed_costs
from bench.limit_signals import loud_windows, loud_windows_of_floats
from bench.sides import Ours, collected
from whimbrel import Stream, col

SAMPLES, QUICK_SAMPLES = 33_554_432, 4_194_304
WINDOW = 4096
RATE = 48_000

Array = np.ndarray[Any, Any]


def run(*, quick: bool) -> Iterator[Row | Figure]:
    """Rows of figures, in samples of all channels. Memory holds the samples; blocks have 262,144.

    What a batch of few rows costs follows.
    """
    samples = QUICK_SAMPLES if quick else SAMPLES
    sound = recording(samples)
    for dtype in (np.int16, np.float32, np.float64):
        yield from stat_filter(sound.astype(dtype))
    yield from silence_filter(sound.astype(np.int16))
    yield from scores(sound.astype(np.int16))
    yield from leaks(sound.astype(np.float32))
    yield from rows_of_fixed_costs()


def recording(samples: int) -> Array:
    """Noise with quiet and loud parts, which last for some windows each."""
    chance = np.random.default_rng(1)
    levels = np.repeat(chance.choice([20.0, 300.0, 2_000.0], samples // (8 * WINDOW)), 8 * WINDOW)
    return np.asarray(chance.normal(size=samples) * levels)


def signal(**channels: Array) -> Stream:
    return wb.from_samples(channels, rate=RATE, start=0, unit="ns")


def stat_filter(samples: Array) -> Iterator[Row]:
    """Windows with a deviation above the median, and of these a mean below its median; the samples are the result."""
    windows = samples.reshape(-1, WINDOW)
    deviation, mean = float(np.median(windows.std(axis=1))), float(np.median(windows.mean(axis=1)))
    seg = col.x.seg

    def whole() -> Array:
        kept = windows[windows.std(axis=1) > deviation]
        return np.asarray(kept[kept.mean(axis=1) < mean])

    def loop() -> Array:
        find = loud_windows if samples.dtype.kind == "i" else loud_windows_of_floats
        return windows[find(samples, WINDOW, deviation, mean)]

    yield from compare(
        "F STATFILTER", samples.dtype.name, len(samples),
        collected(lambda: signal(x=samples).rewindow(WINDOW).where(seg.std() > deviation).where(seg.mean() < mean)),
        {"NumPy whole": whole, "hand loop": loop}, same_samples, roof="hand loop")


def silence_filter(samples: Array) -> Iterator[Row]:
    """Ranges of loud windows, synced with the sound, samples end to end."""
    windows = samples.reshape(-1, WINDOW)
    loud = 500.0

    def whole() -> Array:
        return windows[windows.std(axis=1) > loud].reshape(-1)

    def build() -> Stream:
        sound = signal(x=samples)
        ranges = sound.rewindow(WINDOW).where(col.x.seg.std() > loud).select(on=wb.lit(True)).stitch()
        return ranges.sync(sound).samples().select("x")

    ours = Ours(build, lambda query: query.collect_samples()["x"])
    yield from compare("F SILENCEFILTER", "int16", len(samples), ours, {"NumPy whole": whole}, np.array_equal)


def scores(samples: Array) -> Iterator[Row]:
    """The first half of DETECTAUDIO: a score of the spectrum of 32 of every 128 samples."""
    hann = np.hanning(32).astype(np.float32)

    def score(windows: Array) -> Array:
        return np.abs(fft.rfft(windows * hann, axis=1)[:, 3:5].sum(axis=1))

    def whole() -> Array:
        return score(np.lib.stride_tricks.sliding_window_view(samples, 32)[::128])

    made = wb.array_function(score, returns="float32")
    yield from compare("F DETECTAUDIO", "scores", len(samples),
                       collected(lambda: signal(x=samples).rewindow(32, 128).select(s=made(col.x))),
                       {"SciPy whole": whole}, lambda ours, theirs: np.array_equal(ours["s"].to_numpy(), theirs))


def leaks(samples: Array) -> Iterator[Row]:
    """PIPELINE: details of a wavelet of overlapping windows, their least, and the greatest after it."""
    size, hop = 8192, 7692

    def whole() -> Array:
        windows = np.lib.stride_tricks.sliding_window_view(samples, size)[::hop]
        detail = pywt.wavedec(windows, "haar", level=4, axis=1)[1]
        least = detail.argmin(axis=1)
        return np.array([[row.min(), row[first:].max()] for row, first in zip(detail, least.tolist(), strict=True)])

    def build() -> Stream:
        details = signal(x=samples).rewindow(size, hop).select(d=col.x.seg.wavelet("haar", level=4))
        rest = details.select(least=col.d.seg.min(), rest=col.d.seg.since(col.d.seg.argmin()))
        return rest.select("least", greatest=col.rest.seg.max())

    def same(ours: pa.Table, theirs: Array) -> bool:
        return np.array_equal(np.stack([ours["least"].to_numpy(), ours["greatest"].to_numpy()], axis=1), theirs)

    yield from compare("F PIPELINE", "float32", len(samples), collected(build), {"PyWavelets whole": whole}, same)


def same_samples(ours: pa.Table, theirs: Array) -> bool:
    """Whether windows have the samples of rows of an array."""
    chunks = [chunk.storage.field("samples").flatten().to_numpy() for chunk in ours["x"].chunks]
    return np.array_equal(np.concatenate(chunks), theirs.reshape(-1))
