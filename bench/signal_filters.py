"""Windows that are filtered, and samples that are: STATFILTER, SILENCEFILTER, PASSCHAIN, IIR, STFT, moments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.signal
import scipy.stats

import whimbrel as wb
from bench.compare import Row, compare
from bench.figure import Figure
from bench.limit_signals import loud_windows, loud_windows_of_floats
from bench.pass_through import passed_through
from bench.sides import Ours, collected
from bench.signal_sides import RATE, Array, blocks_of, in_blocks, segment_samples, signal
from whimbrel import Stream, col

WINDOW = 4096
LOUD = 500.0
SECTIONS = scipy.signal.butter(4, [300, 3_400], "bandpass", fs=RATE, output="sos")


def recording(samples: int) -> Array:
    """Noise with quiet and loud parts, which last for some windows each."""
    chance = np.random.default_rng(1)
    levels = np.repeat(chance.choice([20.0, 300.0, 2_000.0], samples // (8 * WINDOW)), 8 * WINDOW)
    return np.asarray(chance.normal(size=samples) * levels)


def windows_and_samples(samples: int) -> Iterator[Row | Figure]:
    """All rows of this file."""
    sound = recording(samples)
    for dtype in (np.int16, np.float32, np.float64):
        yield from stat_filter(sound.astype(dtype))
    yield from silence_filter(sound.astype(np.int16))
    yield from pass_chain(sound.astype(np.int16))
    yield from sections(sound)
    yield from spectra(sound.astype(np.float32))
    yield from moments(sound.astype(np.float32))


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

    yield from in_blocks(
        "F STATFILTER", samples.dtype.name, len(samples),
        lambda: signal(x=samples).rewindow(WINDOW).where(seg.std() > deviation).where(seg.mean() < mean),
        Stream.collect, {"NumPy whole": whole, "hand loop": loop},
        lambda ours, theirs: np.array_equal(segment_samples(ours["x"]), theirs.reshape(-1)), roof="hand loop")


def silence_filter(samples: Array) -> Iterator[Row]:
    """Ranges of loud windows, synced with the sound, samples end to end."""
    windows = samples.reshape(-1, WINDOW)

    def whole() -> Array:
        return windows[windows.std(axis=1) > LOUD].reshape(-1)

    yield from in_blocks("F SILENCEFILTER", "int16", len(samples), lambda: loud_parts(signal(x=samples)),
                         lambda query: query.collect_samples()["x"], {"NumPy whole": whole}, np.array_equal)


def loud_parts(sound: Stream) -> Stream:
    """The samples of all windows that are loud."""
    ranges = sound.rewindow(WINDOW).where(col.x.seg.std() > LOUD).select(on=wb.lit(True)).stitch()
    return ranges.sync(sound).samples().select("x")


def pass_chain(samples: Array) -> Iterator[Row]:
    """Ten operators that pass windows on, against the windows alone. The paper has 71.4 million samples a second."""
    def chain(operators: int) -> Callable[[], Stream]:
        return lambda: Stream(passed_through(signal(x=samples).rewindow(WINDOW).node, operators))

    yield from in_blocks("F PASSCHAIN", "10 operators (paper: 71.4)", len(samples), chain(10), Stream.collect,
                         {"no operators": collected(chain(0))}, pa.Table.equals)


def sections(samples: Array) -> Iterator[Row]:
    """A band-pass of four sections in blocks of 16,384."""
    def filtered(query: Stream) -> Array:
        with blocks_of(16_384):
            return query.collect_samples()["y"]

    yield from compare("F iir", "4 sections, blocks of 16,384", len(samples),
                       Ours(lambda: signal(x=samples).select(y=wb.iir(col.x, sos=SECTIONS.tolist())), filtered),
                       {"sosfilt whole": lambda: scipy.signal.sosfilt(SECTIONS, samples)}, np.array_equal)


def spectra(samples: Array) -> Iterator[Row]:
    """Power of windows of 1,024 every 256 samples."""
    size, hop = 1024, 256
    stft = scipy.signal.ShortTimeFFT(scipy.signal.get_window("hann", size).astype(np.float32), hop, RATE,
                                     scale_to="psd", fft_mode="onesided2X")
    frames = (len(samples) - size) // hop + 1

    def whole() -> Array:
        parts = stft.stft(samples, p0=2, p1=2 + frames)  # frames that lie wholly in the samples
        return parts.real ** 2 + parts.imag ** 2

    def same(ours: pa.Table, theirs: Array) -> bool:
        power = np.concatenate([chunk.flatten().to_numpy() for chunk in ours["p"].chunks]).reshape(-1, size // 2 + 1)
        inside = slice(1, -1)  # SciPy doubles the first and the last frequency, too
        return power.shape == theirs.T.shape and np.allclose(power[:, inside], theirs.T[:, inside], rtol=1e-3,
                                                             atol=1e-6 * float(power.max()))

    yield from compare("F STFT", "1,024 / 256, float32", len(samples),
                       collected(lambda: signal(x=samples).rewindow(size, hop).select(p=col.x.seg.psd())),
                       {"ShortTimeFFT": whole}, same)


def moments(samples: Array) -> Iterator[Row | Figure]:
    """Root mean square, crest factor and kurtosis of windows, as bearings are judged by."""
    windows, seg = samples.reshape(-1, WINDOW), col.x.seg

    def build() -> Stream:
        return signal(x=samples).rewindow(WINDOW).select(rms=seg.rms(), crest=seg.crest(), kurtosis=seg.kurtosis())

    def root(window: Array) -> Any:
        return np.sqrt(np.mean(window.astype(np.float64) ** 2))

    def crest(window: Array) -> Any:
        return np.abs(window).max() / root(window)

    def whole() -> tuple[Array, ...]:
        rms = np.sqrt((windows.astype(np.float64) ** 2).mean(axis=1))
        return rms, np.abs(windows).max(axis=1) / rms, scipy.stats.kurtosis(windows.astype(np.float64), axis=1)

    def same(ours: pa.Table, theirs: tuple[Array, ...]) -> bool:
        names = ("rms", "crest", "kurtosis")
        return all(np.allclose(ours[name], other, rtol=1e-6) for name, other in zip(names, theirs, strict=True))

    peers = {"NumPy, SciPy whole": whole}
    if find_spec("tsflex") is not None:
        peers["tsflex"] = _tsflex(samples, root, crest)
    else:
        yield Figure("F moments", "rms, crest, kurtosis: tsflex", "rows", 0, "not compared: tsflex is not installed")
    yield from compare("F moments", "rms, crest, kurtosis", len(samples), collected(build), peers, same)


def _tsflex(samples: Array, root: Any, crest: Any) -> Any:
    import pandas as pd
    from tsflex.features import FeatureCollection, FuncWrapper, MultipleFeatureDescriptors

    functions = [FuncWrapper(root, output_names="rms"), FuncWrapper(crest, output_names="crest"),
                 FuncWrapper(lambda window: scipy.stats.kurtosis(window.astype(np.float64)), output_names="kurtosis")]
    features = FeatureCollection(MultipleFeatureDescriptors(functions, "x", windows=WINDOW, strides=WINDOW))
    data = pd.DataFrame({"x": samples})

    def calculate() -> tuple[Array, ...]:
        found = features.calculate(data, n_jobs=1, return_df=True, include_final_window=True)
        return tuple(found[next(name for name in found.columns if f"__{of}__" in name)].to_numpy()
                     for of in ("rms", "crest", "kurtosis"))

    return calculate
