"""PIPELINE: leaks of a pipe, found by the reflections of a pressure wave in a wavelet's details."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pywt

from bench.compare import Row
from bench.figure import Figure
from bench.signal_sides import Array, in_blocks, signal
from whimbrel import Stream, col

SIZE, HOP = 8192, 7692
"""Windows overlap by 500 samples."""
LEVEL = 4
LEAKS_BELOW = 0.32
"""Ratio of the fourth peak to the first, below which there is a leak. The paper's constant."""
PULSE = 8
"""Coefficients of a wave; its samples are 16 times as many."""


def pressure(samples: int) -> tuple[Array, Array]:
    """Vibration with four reflections in each window, and whether a leak weakens the fourth."""
    chance = np.random.default_rng(12)
    windows = (samples - SIZE) // HOP + 1
    leaks = chance.random(windows) < 0.3
    values = chance.normal(size=samples, scale=4.0)
    step = 2 ** LEVEL
    for window, leak in enumerate(leaks.tolist()):
        last = chance.normal(0.215, 0.02) if leak else chance.normal(0.42, 0.02)
        for number, height in enumerate((-1.0, 0.8, -0.6, last)):
            at = window * HOP + (40 + 90 * number) * step
            wave = np.repeat(np.tile([1.0, -1.0], PULSE), step // 2)[:PULSE * step]
            values[at:at + len(wave)] += 100 * height * wave * np.repeat(np.hanning(PULSE), step)
    return values.astype(np.int16), leaks


def peaks(pipe: Stream) -> Stream:
    """The least detail of each window, and in turn the greatest and least after the one before."""
    details = pipe.rewindow(SIZE, HOP).select(d=col.x.seg.wavelet("haar", level=LEVEL))
    first = details.select(p1=col.d.seg.min(), rest=col.d.seg.since(col.d.seg.argmin()))
    second = first.select("p1", p2=col.rest.seg.max(), rest=col.rest.seg.since(col.rest.seg.argmax()))
    third = second.select("p1", "p2", p3=col.rest.seg.min(), rest=col.rest.seg.since(col.rest.seg.argmin()))
    return third.select("p1", "p2", "p3", p4=col.rest.seg.max())


def peaks_of(samples: Array) -> Array:
    """The same with PyWavelets and NumPy, all windows at once."""
    windows = np.lib.stride_tricks.sliding_window_view(samples, SIZE)[::HOP]
    detail = pywt.wavedec(windows.astype(np.float64), "haar", level=LEVEL, axis=1)[1]
    found = []
    for row in detail:
        one = row[row.argmin():]
        two = one[one.argmax():]
        three = two[two.argmin():]
        found.append((one[0], two[0], three[0], three.max()))
    return np.array(found)


def leaks(samples: int) -> Iterator[Row | Figure]:
    """Peaks against PyWavelets; and which windows have a leak, against the truth."""
    values, truth = pressure(samples)

    def same(ours: pa.Table, theirs: Array) -> bool:
        return np.array_equal(np.stack([ours[name].to_numpy() for name in ("p1", "p2", "p3", "p4")], axis=1), theirs)

    yield from in_blocks("F PIPELINE", "int16", len(values), lambda: peaks(signal(x=values)), Stream.collect,
                         {"PyWavelets whole": lambda: peaks_of(values)}, same)
    ratio = peaks(signal(x=values)).select(leak=abs(col.p4 / col.p1) < LEAKS_BELOW).collect()
    found = np.array(ratio["leak"].to_pylist())
    right = float(np.mean(found == truth))
    assert right >= 0.99, f"only {right:.1%} of the windows are judged rightly"
    yield Figure("F leaks", f"{int(truth.sum())} of {len(truth)} windows; right", "%", 100 * right, "at least 99")


