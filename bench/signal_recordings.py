"""Recordings with known truth: heart cycles of an ECG, lines of damaged bearings, silence in speech.

The folder has `ecg_mitbih_100.parquet`, `bearing_vibration_cwru.parquet` and `speech_alsa_48k.parquet`, as the
MIT-BIH database, Case Western Reserve University and the package alsa-utils publish them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import scipy.signal

import whimbrel as wb
from bench.figure import Figure
from bench.signal_filters import loud_parts
from bench.signal_sides import Array, segment_samples, signal
from whimbrel import Stream, col

ECG_RATE, BEFORE, AFTER = 360, "250ms", "400ms"
BEARING_RATE, RPM = 12_000, 1_772
LINES = {"outer": 3.5848, "inner": 5.4152, "ball": 4.7135}
"""Events of a damaged part in one turn of the shaft, by the geometry of the drive end's bearing (SKF 6205)."""
"""Twice the spin of a ball, which meets both races."""


def recordings(folder: Path) -> Iterator[Figure]:
    """All applications of this file."""
    yield from heart_cycles(folder / "ecg_mitbih_100.parquet")
    yield from bearings(folder / "bearing_vibration_cwru.parquet")
    yield from speech(folder / "speech_alsa_48k.parquet")


def heart_cycles(file: Path) -> Iterator[Figure]:
    """The mean of all normal heart cycles, whose annotations are at the R peak."""
    table = pq.read_table(file)
    lead = table["mlii_mv"].to_numpy()
    ecg = wb.from_samples({"x": lead}, rate=ECG_RATE, start=0, unit="us")
    normal = table.filter(pc.equal(table["beat"], "N")).select(["t_us"])
    marks = wb.from_arrow({"at": normal["t_us"].cast(pa.timestamp("us")), "n": np.arange(len(normal))}, time="at",
                          name="cycles")
    epochs = marks.sync(ecg, before=BEFORE, after=AFTER, gaps="skip").collect()["x"]
    count = len(epochs)
    size = len(epochs[0].as_py()["samples"])
    mean = segment_samples(epochs).reshape(count, -1)[:, :size].mean(axis=0)
    at = np.rint(normal["t_us"].to_numpy() * ECG_RATE / 1e6).astype(int)
    by_hand = np.array([lead[place - ECG_RATE // 4:place + 144] for place in at
                        if place >= ECG_RATE // 4 and place + 144 <= len(lead)])
    assert count == len(by_hand), f"{count} epochs of {len(by_hand)} beats"
    assert np.allclose(mean[:by_hand.shape[1]], by_hand.mean(axis=0), atol=0.02)
    peak = int(mean.argmax()) - ECG_RATE // 4
    assert abs(peak) <= 2, f"the mean beat has its peak {peak} samples from the annotations"
    yield Figure("F ECG", f"{count} of {len(normal)} beats; mean's peak off by", "samples", abs(peak),
                 "at most 2 of 360 a second")
    sections = scipy.signal.butter(2, [5, 15], "bandpass", fs=ECG_RATE, output="sos").tolist()
    passed = ecg.select(y=wb.iir(col.x, sos=sections)).collect_samples()["y"]
    assert np.array_equal(passed, scipy.signal.sosfilt(np.array(sections), lead.astype(passed.dtype)))
    yield Figure("F ECG", "band-pass, differences to SciPy", "samples", 0.0, f"of {len(passed):,}")


def bearings(file: Path) -> Iterator[Figure]:
    """The strongest line of the envelope's spectrum near each frequency that geometry predicts."""
    table = pq.read_table(file, columns=["run", "sample_rate_hz", "drive_end_g"])
    for name, factor in LINES.items():
        rows = table.filter(pc.and_(pc.equal(table["sample_rate_hz"], BEARING_RATE),
                                    pc.match_substring(table["run"], name)))
        vibration = rows["drive_end_g"].to_numpy()
        frequencies, power = envelope_spectrum(wb.from_samples({"x": vibration}, rate=BEARING_RATE, start=0, unit="ns"))
        expected = factor * RPM / 60
        near = np.flatnonzero(np.abs(frequencies - expected) < 0.04 * expected)
        found = frequencies[near[power[near].argmax()]]
        wrong = abs(found / expected - 1)
        assert wrong < 0.01, f"the {name} line is at {found:.1f} Hz, expected {expected:.1f}"
        yield Figure("F bearings", f"{name}: {found:.1f} Hz of {expected:.1f}; off by", "%", 100 * wrong, "at most 1")


def envelope_spectrum(vibration: Stream, size: int = 65_536) -> tuple[Array, Array]:
    """Mean power of the envelope of a resonance, by frequency."""
    sections = scipy.signal.butter(4, [2_000, 5_000], "bandpass", fs=BEARING_RATE, output="sos").tolist()
    envelope = vibration.select(y=wb.iir(col.x, sos=sections)).rewindow(size, size // 8).select(e=col.y.seg.envelope())
    spectra = envelope.select(p=col.e.seg.psd()).collect()["p"]
    power = np.mean(spectra.to_pylist(), axis=0)
    return np.arange(len(power)) * BEARING_RATE / size, power


def speech(file: Path) -> Iterator[Figure]:
    """Speech without its silence."""
    spoken = pq.read_table(file, columns=["pcm"])["pcm"].to_numpy()
    kept = loud_parts(signal(x=spoken)).collect_samples()["x"]
    windows = spoken[:len(spoken) // 4096 * 4096].reshape(-1, 4096)
    assert np.array_equal(kept, windows[windows.std(axis=1) > 500].reshape(-1))
    yield Figure("F silence", "speech that is left", "%", 100 * len(kept) / len(spoken), f"of {len(spoken):,} samples")
