"""Transforms of windows by SciPy and PyWavelets."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import numpy as np

from whimbrel.errors import ExpressionError, KernelError, MissingExtraError, WhimbrelError

Array = np.ndarray[Any, Any]

HAAR = ("haar", "db1")

_COMMON_WINDOWS = ("hann", "hamming", "blackman", "boxcar")
"""Windows whose names are known without SciPy, which takes a while to import."""

_FINER = 8
"""Points per sample of a correlation between which its peak is on a parabola."""


def rfft(windows: Array) -> Array:
    """Spectrum of each window, frequencies from 0 on."""
    return np.asarray(_library("scipy.fft", "rfft()").rfft(_floats(windows), axis=1))


def psd(windows: Array, *, rate: float, window: str, where: str) -> Array:
    """One-sided power spectral density of each window."""
    size, weights = windows.shape[1], _weights(window, windows.shape[1], where)
    values = _floats(windows)
    spectrum = _library("scipy.fft", "psd()").rfft(values * weights.astype(values.dtype), axis=1)
    power = (spectrum.real ** 2 + spectrum.imag ** 2) / (rate * (weights ** 2).sum())
    power[:, 1:-1 if size % 2 == 0 else None] *= 2
    return np.asarray(power.astype(values.dtype, copy=False))


def band(windows: Array, *, rate: float, low: float, high: float, window: str, where: str) -> Array:
    """Power of each window between two frequencies."""
    size = windows.shape[1]
    frequencies = np.arange(size // 2 + 1) * (rate / size)
    inside = np.flatnonzero((frequencies >= low) & (frequencies < high))
    power = psd(windows, rate=rate, window=window, where=where)[:, inside]
    return np.asarray(power.astype(np.float64).sum(axis=1) * (rate / size))


def envelope(windows: Array) -> Array:
    """Amplitude of the analytic signal of each window."""
    values = _floats(windows)
    size = values.shape[1]
    fft = _library("scipy.fft", "envelope()")
    spectrum = fft.fft(values, axis=1)
    spectrum[:, 1:(size + 1) // 2] *= 2
    spectrum[:, size // 2 + 1:] = 0
    return np.asarray(np.abs(fft.ifft(spectrum, axis=1)))


def wavelet(windows: Array, *, wavelet: str, level: int, part: str, where: str) -> Array:
    """Coefficients of one level of a discrete wavelet transform of each window."""
    pywt = _library("pywt", "wavelet()", "PyWavelets")
    known = pywt.Wavelet(wavelet)
    check_level(wavelet, level, windows.shape[1], where, KernelError)
    values, detail = _floats(windows), None
    for _ in range(level):
        values, detail = pywt.dwt(values, known, axis=1)
    return np.asarray(detail if part == "detail" else values)


@functools.lru_cache(maxsize=256)
def check_wavelet(wavelet: str, where: str) -> None:
    """Refuse a name that is none of a wavelet."""
    if wavelet in HAAR:
        return
    try:
        _library("pywt", "wavelet()", "PyWavelets").Wavelet(wavelet)
    except ValueError:
        raise ExpressionError(f"Unknown wavelet {wavelet!r}.", where=where,
                              hint="Use one of pywt.wavelist(kind='discrete').") from None


def check_level(wavelet: str, level: int, size: int, where: str, error: type[WhimbrelError]) -> None:
    """Refuse a level that windows of so many samples are too short for."""
    if wavelet in HAAR:
        deepest = size.bit_length() - 1
    else:
        pywt = _library("pywt", "wavelet()", "PyWavelets")
        deepest = int(pywt.dwt_max_level(size, pywt.Wavelet(wavelet).dec_len))
    if level > deepest:
        raise error(f"level must be at most {deepest} for windows of {size} samples, got {level}.", where=where,
                    hint="Use a lower level, or longer windows.")


def lag(first: Array, second: Array, *, limit: int | None, period: float) -> Array:
    """Time by which each second window is later than the first, by GCC-PHAT."""
    fft = _library("scipy.fft", "lag()")
    one, other = (each.astype(np.float64) for each in (first, second))
    size = one.shape[1]
    if other.shape[1] != size:
        raise KernelError(f"lag() needs segments of one size, got {size} and {other.shape[1]} samples.", where="lag()",
                          hint="Take both from one sync() or rewindow().")
    length = fft.next_fast_len(2 * size, real=True)
    cross = np.conj(fft.rfft(one, length, axis=1)) * fft.rfft(other, length, axis=1)
    strength = np.abs(cross)
    with np.errstate(all="ignore"):
        cross = cross / strength
    cross[~(strength > 0)] = 0
    correlation = fft.irfft(cross, _FINER * length, axis=1)
    most = _FINER * min(size - 1, size - 1 if limit is None else limit)
    around = np.concatenate([correlation[:, -most - 1:], correlation[:, :most + 2]], axis=1)  # and one on both sides
    rows, peak = np.arange(len(around)), around[:, 1:-1].argmax(axis=1) + 1
    before, top, after = around[rows, peak - 1], around[rows, peak], around[rows, peak + 1]
    bend = before - 2 * top + after
    with np.errstate(all="ignore"):
        finer = np.where(bend < 0, (before - after) / (2 * bend), 0.0)
    unknown = ~(strength > 0).any(axis=1) | np.isnan(one).any(axis=1) | np.isnan(other).any(axis=1)
    return np.where(unknown, np.nan, (peak - 1 - most + finer) / _FINER * period)


def _floats(windows: Array) -> Array:
    return windows if windows.dtype == np.float32 else windows.astype(np.float64, copy=False)


def check_window(window: str, where: str) -> None:
    """Refuse a name that is none of a window."""
    if window not in _COMMON_WINDOWS:
        _weights(window, 8, where)


@functools.lru_cache(maxsize=64)
def _weights(window: str, size: int, where: str) -> Array:
    signal = _library("scipy.signal", "psd()")
    try:
        return np.asarray(signal.get_window(window, size))
    except ValueError as error:
        raise ExpressionError(f"{window!r} is not a window of SciPy: {error}"[:200], where=where,
                              hint="Use a window of scipy.signal.get_window, such as 'hann'.") from None


def _library(module: str, purpose: str, package: str = "SciPy") -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError(package, "signals", purpose) from None
