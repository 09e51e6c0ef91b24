"""Queries on signals whose truth is known: what was put in is found, where it was put."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whimbrel as wb
from whimbrel import col

signal = pytest.importorskip("scipy.signal")

RATE = 48_000


def delayed(samples: np.ndarray[Any, Any], by: float) -> np.ndarray[Any, Any]:
    """Samples that come later by a part of a sample."""
    turns = np.fft.rfftfreq(len(samples)) * by
    return np.fft.irfft(np.fft.rfft(samples) * np.exp(-2j * np.pi * turns), len(samples))


def test_calls_reach_four_microphones_at_known_delays() -> None:
    """Delays of calls, within a tenth of a sample at 20 dB."""
    chance = np.random.default_rng(1)
    rows, calls = RATE, [9_000, 24_000, 39_000]
    delays = {"m1": 0.0, "m2": 3.37, "m3": -7.81, "m4": 12.5}
    sound = np.zeros(rows)
    for call in calls:
        sound[call:call + 2_400] = chance.normal(size=2_400) * np.hanning(2_400)
    level = np.sqrt(np.mean(sound[calls[0]:calls[0] + 2_400] ** 2))
    mics = {name: ((delayed(sound, by) + chance.normal(size=rows) * level / 10) * 8_000).astype("int16")
            for name, by in delays.items()}
    stream = wb.from_samples(mics, rate=RATE)
    hits = stream.rewindow(128).select(s=col.m1.seg.energy()).cfar(col.s, deviations=16, startup=40, hold=4, pad="20ms")
    found = hits.sync(stream).select(a=wb.lag(col.m1, col.m2, limit="2ms"), b=wb.lag(col.m1, col.m3, limit="2ms"),
                                     c=wb.lag(col.m1, col.m4, limit="2ms")).collect()
    assert found.num_rows == len(calls)
    starts = [time.value / 1e9 * RATE for time in found["start"].to_pylist()]
    assert all(0 <= call - start < 2_000 for call, start in zip(calls, starts, strict=True))
    for name, mic in (("a", "m2"), ("b", "m3"), ("c", "m4")):
        lags = np.array(found[name].to_pylist()) * RATE
        assert np.abs(np.abs(lags) - abs(delays[mic])).max() < 0.1, (name, lags)
        assert len(set(np.sign(lags))) == 1
    signs = {name: np.sign(found[name][0].as_py()) for name in "abc"}
    assert signs["a"] == signs["c"] == -signs["b"]


def test_leaks_that_were_put_into_vibration_are_found() -> None:
    """A wave has a second peak where it was reflected by a leak: a smaller one than from an end of the pipe."""
    chance = np.random.default_rng(2)
    rows, size, hop = 60_000, 4_096, 3_600
    x = chance.normal(size=rows) * 2
    starts = {4_992: 0.2, 20_000: 0.8, 34_992: 0.25, 48_000: 0.75}
    pulse = np.repeat([400, -400], 8)
    for start, reflected in starts.items():
        x[start:start + 16] += pulse
        x[start + 480:start + 496] += pulse * reflected
    pipe = wb.from_samples({"p": x.astype("int16")}, rate=1_000, unit="us")
    waves = pipe.rewindow(size, hop).select(d=col.p.seg.wavelet("haar", level=4)).where(col.d.seg.max() > 500)
    loud = waves.select(peak=col.d.seg.max(), after=col.d.seg.since(col.d.seg.argmax() + 10)).select(
        "peak", second=col.after.seg.max())
    found = loud.collect()
    ratios = np.array(found["second"].to_pylist()) / np.array(found["peak"].to_pylist())
    assert len(ratios) == len(starts)
    assert ((ratios < 0.5) == [reflected < 0.5 for reflected in starts.values()]).all(), ratios


def test_epochs_around_beats_have_the_mean_beat() -> None:
    """Beats of an electrocardiogram with integer times, and the samples around them."""
    chance = np.random.default_rng(3)
    high, low = (np.exp(-0.5 * ((np.arange(234) - at) / width) ** 2) for at, width in ((90, 4), (110, 9)))
    beat = 1.2 * high - 0.2 * low
    begins = np.cumsum(chance.integers(250, 400, 60))
    x = chance.normal(size=int(begins[-1]) + 500) * 0.05
    for begin in begins:
        x[begin:begin + 234] += beat
    marks = np.full(len(x), "", object)
    marks[begins + 90] = "N"
    times = np.arange(len(x)) * 25_000 // 9
    table = {"t_us": times, "mv": x.astype("float32"), "beat": marks}
    ecg = wb.from_arrow({name: list(values) for name, values in table.items()}, time="t_us").assume(rate=360)
    epochs = ecg.where(col.beat == "N").select("beat").sync(ecg.select("mv"), before="250ms", after="400ms").collect()
    assert epochs.num_rows == len(begins)
    samples = np.array([row["samples"] for row in epochs["mv"].to_pylist()])
    assert samples.shape == (60, 234)
    assert [row["index"] for row in epochs["mv"].to_pylist()] == begins.tolist()
    assert np.abs(samples.mean(axis=0) - beat).max() < 0.04


@pytest.mark.parametrize(("name", "factor"), [("outer race", 3.5848), ("inner race", 5.4152), ("ball", 4.7135)])
def test_lines_of_bearings_are_in_the_spectrum_of_the_envelope(name: str, factor: float) -> None:
    """A damage strikes at a multiple of the speed of the shaft, and rings: its line is found within 1%."""
    chance = np.random.default_rng(len(name))
    rate, rows, turns = 12_000, 48_000, 1_772 / 60
    struck = np.zeros(rows)
    for strike in np.arange(0, rows / rate, 1 / (factor * turns)):
        struck[min(int(strike * rate + chance.normal()), rows - 1)] = 1
    ring = np.exp(-np.arange(120) / 25) * np.sin(2 * np.pi * 3_200 / rate * np.arange(120))
    x = np.convolve(struck, ring)[:rows] + chance.normal(size=rows) * 0.2
    vibration = wb.from_samples({"x": x.astype("float32")}, rate=rate)
    sos = signal.butter(4, [2_500, 4_000], "band", fs=rate, output="sos")
    spectra = vibration.select(x=wb.iir(col.x, sos=sos)).rewindow(24_000).select(e=col.x.seg.envelope()).select(
        p=col.e.seg.psd(window="hann")).collect()
    power = np.mean(spectra["p"].to_pylist(), axis=0)
    frequencies = np.fft.rfftfreq(24_000, 1 / rate)
    band = (frequencies > 40) & (frequencies < 250)
    line = frequencies[band][np.argmax(power[band])]
    assert abs(line / (factor * turns) - 1) < 0.01
