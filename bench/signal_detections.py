"""DETECTAUDIO: calls that four microphones hear, found by their spectra; and from where they come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy import fft

import whimbrel as wb
from bench.compare import Row, compare
from bench.figure import Figure
from bench.limit_signals import triggered
from bench.sides import collected
from bench.signal_sides import RATE, Array, in_blocks, signal
from whimbrel import Stream, col

SIZE, HOP = 32, 128
DEVIATIONS, FORGET, STARTUP, HOLD, PAD_NS, LIMIT_NS = 16.0, 0.999, 300, 40, 50_000_000, 1_000_000_000
SOUND = 343.0
"""Meters a second."""
MICROPHONES = np.array([[0.0, 0.0], [0.5, 0.0], [0.5, 0.5], [0.0, 0.5]])
NAMES = ("m1", "m2", "m3", "m4")
CALL, EVERY = 3_000, 96_000
"""Samples of a call, and from one to the next."""
NOISE, TONE_HZ = 20.0, 5_250.0

_HANN = np.hanning(SIZE).astype(np.float32)


def score(windows: Array) -> Array:
    """Magnitude of the fourth and fifth frequency."""
    return np.abs(fft.rfft(windows * _HANN, axis=1)[:, 3:5].sum(axis=1))


made_score = wb.array_function(score, returns="float32")


@dataclass(frozen=True)
class Field:
    """What four microphones hear.

    Attributes
    ----------
    channels : array of int16, (4, samples)
    origins : array, (calls, 2)
        From where each call comes, in meters.
    first : array of int64
        The sample at which each call leaves its place.
    delays : array, (calls, 4)
        Samples until each microphone hears it.
    """

    channels: Array
    origins: Array
    first: Array
    delays: Array

    def stream(self) -> Stream:
        return signal(**dict(zip(NAMES, self.channels, strict=True)))


def field(samples: int) -> Field:
    """Bursts from known origins, at 20 dB above noise, each with a tone."""
    chance = np.random.default_rng(6)
    calls = samples // EVERY - 1
    origins = chance.uniform(-8, 8, (calls, 2))
    first = (np.arange(calls) + 1) * EVERY + chance.integers(0, EVERY // 4, calls)
    delays = np.linalg.norm(origins[:, None] - MICROPHONES[None], axis=2) / SOUND * RATE
    channels = chance.normal(size=(4, samples), scale=NOISE)
    tone = np.sin(2 * np.pi * TONE_HZ / RATE * np.arange(CALL))
    length = fft.next_fast_len(CALL + 4_000, real=True)
    turn = -2j * np.pi * fft.rfftfreq(length)
    for call in range(calls):
        burst = np.zeros(length)
        burst[:CALL] = chance.normal(size=CALL, scale=10 * NOISE) + 40 * NOISE * tone
        spectrum = fft.rfft(burst)
        for channel, delay in zip(channels, delays[call], strict=True):
            channel[first[call]:first[call] + length] += fft.irfft(spectrum * np.exp(turn * delay), length)
    return Field(np.clip(np.rint(channels), -32768, 32767).astype(np.int16), origins, first, delays)


def calls_in(microphones: Stream) -> Stream:
    """Ranges of time in which the first microphone hears a call."""
    scores = microphones.rewindow(SIZE, HOP).select(s=made_score(col.m1))
    return scores.cfar(col.s, deviations=DEVIATIONS, forget=FORGET, startup=STARTUP, hold=HOLD, pad="50ms", limit="1s")


def detections(samples: int) -> Iterator[Row | Figure]:
    """Scores, calls, and the samples of calls; then their origins."""
    scene = field(samples // 4)
    one = np.ascontiguousarray(scene.channels[0])

    def windows() -> Array:
        return np.lib.stride_tricks.sliding_window_view(one, SIZE)[::HOP]

    def whole_scores() -> Array:
        return score(windows())

    yield from in_blocks("F DETECTAUDIO", "scores", len(one),
                         lambda: signal(m1=one).rewindow(SIZE, HOP).select(s=made_score(col.m1)), Stream.collect,
                         {"SciPy whole": whole_scores}, lambda ours, theirs: np.array_equal(ours["s"], theirs))

    def whole_calls() -> Array:
        numbers = np.arange((len(one) - SIZE) // HOP + 1) * HOP
        starts = _times(numbers)
        ends = np.maximum(_times(numbers + SIZE), starts + HOP * 10**9 // RATE)  # a score lasts until the next one
        first, last = triggered(score(windows()), starts, DEVIATIONS, FORGET, STARTUP, HOLD, LIMIT_NS)
        begin, end = starts[first] - PAD_NS, ends[last] + PAD_NS
        apart = np.append(True, begin[1:] > end[:-1])
        return np.stack([begin[apart], end[np.append(np.flatnonzero(apart)[1:] - 1, len(end) - 1)]], axis=1)

    samples = scene.channels.size
    yield from in_blocks("F DETECTAUDIO", "calls", samples, lambda: calls_in(scene.stream()), Stream.collect,
                         {"SciPy, loop whole": whole_calls}, _same_ranges)
    before, with_join = (collected(lambda build=build: build(scene.stream())) for build in (calls_in, _with_join))
    yield from compare("F DETECTAUDIO", "calls, with sync (paper: 0.9)", samples,
                       collected(lambda: _with_sync(scene.stream())), {"before sync": before}, _same_calls)
    yield from compare("F DETECTAUDIO", "calls, with sync", samples, collected(lambda: _with_sync(scene.stream())),
                       {"with join": with_join}, _same_samples)
    yield from localisation(scene)


def localisation(scene: Field) -> Iterator[Figure]:
    """Places of calls from the lags between microphones, against the truth."""
    microphones = scene.stream()
    lags = {name: wb.lag(col.m1, col[name], limit="3ms") for name in NAMES[1:]}
    found = calls_in(microphones).sync(microphones).select(**lags).collect()
    rows = np.searchsorted(scene.first + scene.delays[:, 0], _ticks(found["start"]) * RATE / 1e9)
    assert np.array_equal(rows, np.arange(len(scene.first))), "calls that were not found, or found twice"
    measured = np.stack([found[name].to_numpy() for name in NAMES[1:]], axis=1) * RATE
    wrong = np.abs(measured - (scene.delays[:, 1:] - scene.delays[:, :1]))
    assert wrong.max() < 0.1, f"a lag is {wrong.max():.3f} samples off"
    yield Figure("F calls", f"{len(rows)} of {len(rows)} found; lag off by", "samples", float(wrong.max()),
                 "at most 0.1, at 20 dB")
    bearing = np.array([_bearing(each) for each in measured])
    truth = scene.origins - MICROPHONES.mean(axis=0)
    angle = np.angle(np.exp(1j * (bearing - np.arctan2(truth[:, 1], truth[:, 0]))))
    yield Figure("F calls", "direction off by, median", "degrees", float(np.degrees(np.median(np.abs(angle)))),
                 "from four microphones, half a meter apart")


def _bearing(lags: Array) -> float:
    """The direction of a plane wave with these lags of microphones after the first one."""
    apart = MICROPHONES[1:] - MICROPHONES[0]
    slowness = np.linalg.lstsq(apart, lags / RATE, rcond=None)[0]
    return float(np.arctan2(-slowness[1], -slowness[0]))


def _with_sync(microphones: Stream) -> Stream:
    lengths = {name: col[name].seg.length() for name in NAMES}
    return calls_in(microphones).sync(microphones).select(**lengths)


def _with_join(microphones: Stream) -> Stream:
    return calls_in(microphones).select(call=col.peak).cross_join(microphones, allow_lookahead=True)


def _times(samples: Array) -> Array:
    """Ticks of samples, rounded to the nearest."""
    return (2 * samples * 10**9 + RATE) // (2 * RATE)


def _ticks(column: pa.ChunkedArray) -> Array:
    return column.cast(pa.int64()).to_numpy()


def _same_ranges(ours: pa.Table, theirs: Array) -> bool:
    return np.array_equal(np.stack([_ticks(ours["start"]), _ticks(ours["end"])], axis=1), theirs)


def _same_calls(ours: pa.Table, theirs: pa.Table) -> bool:
    return ours.num_rows == theirs.num_rows > 0


def _same_samples(ours: pa.Table, theirs: pa.Table) -> bool:
    return theirs.num_rows == sum(ours[NAMES[0]].to_pylist())
