"""Functions of segments: ``x.seg``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whimbrel.errors import ExpressionError
from whimbrel.expr.nodes import Call, Expr, lift
from whimbrel.migration_hints import absent


@dataclass(frozen=True)
class SegmentFunctions:
    """Functions of a segment, a window of samples.

    A null segment gives null. If a sample is missing or NaN, floats are NaN, and integers null. Moments are float64,
    and several of one window are computed once.

    Examples
    --------
    >>> import whimbrel as wb
    >>> from whimbrel import col
    >>> log = wb.from_arrow({"at": range(8), "x": [1, 5, 2, 2, 4, 4, 9, 7]}, time="at").drop("at").assume(periodic=1)
    >>> windows = log.rewindow(4)
    >>> windows.select(m=col.x.seg.mean(), top=col.x.seg.max(), at=col.x.seg.argmax()).collect().to_pylist()
    [{'start': 0, 'end': 4, 'm': 2.5, 'top': 5, 'at': 1}, {'start': 4, 'end': 8, 'm': 6.0, 'top': 9, 'at': 2}]
    """

    x: Expr

    if not TYPE_CHECKING:  # type checkers know what is there
        __getattr__ = absent("col.x.seg", {})

    def length(self) -> Expr:
        """Number of samples, with missing ones."""
        return Call("seg.length", (self.x,))

    def missing(self) -> Expr:
        """Number of missing samples."""
        return Call("seg.missing", (self.x,))

    def sum(self) -> Expr:
        """Sum of the samples; int64 for integers."""
        return Call("seg.sum", (self.x,))

    def mean(self) -> Expr:
        return Call("seg.mean", (self.x,))

    def std(self) -> Expr:
        """Population standard deviation, as ``numpy.std``."""
        return Call("seg.std", (self.x,))

    def rms(self) -> Expr:
        """Root of the mean square."""
        return Call("seg.rms", (self.x,))

    def energy(self) -> Expr:
        """Sum of the squares."""
        return Call("seg.energy", (self.x,))

    def kurtosis(self) -> Expr:
        """Excess kurtosis of the population: 0 for a normal distribution, as ``scipy.stats.kurtosis``."""
        return Call("seg.kurtosis", (self.x,))

    def crest(self) -> Expr:
        """Crest factor: the greatest absolute value over the root mean square."""
        return Call("seg.crest", (self.x,))

    def min(self) -> Expr:
        return Call("seg.min", (self.x,))

    def max(self) -> Expr:
        return Call("seg.max", (self.x,))

    def argmin(self) -> Expr:
        """Position of the first least sample, from 0."""
        return Call("seg.argmin", (self.x,))

    def argmax(self) -> Expr:
        """Position of the first greatest sample, from 0."""
        return Call("seg.argmax", (self.x,))

    def crossings(self, level: float = 0.0) -> Expr:
        """How often the signal crosses a level; a sample at the level counts as above it."""
        _check_number("crossings", "level", level)
        return Call("seg.crossings", (self.x,), (float(level),))

    def at(self, position: int | Expr) -> Expr:
        """The sample at a position, from 0; null outside of the segment."""
        return Call("seg.at", (self.x, lift(position)))

    def slice(self, start: int | Expr, stop: int | Expr) -> Expr:
        """The part from position `start` to before `stop`, without a copy; cut to what there is."""
        return Call("seg.slice", (self.x, lift(start), lift(stop)))

    def since(self, position: int | Expr) -> Expr:
        """The part from a position to the end, such as ``col.x.seg.since(col.x.seg.argmin())``."""
        return Call("seg.since", (self.x, lift(position)))

    def rfft(self) -> Expr:
        """Fourier transform for frequencies from 0 on: a list of complex numbers, as pairs of floats.

        As ``scipy.fft.rfft``; float32 samples give complex64.
        """
        return Call("seg.rfft", (self.x,))

    def psd(self, *, window: str = "hann") -> Expr:
        """Power spectral density for frequencies from 0 on: a list of floats, in squares per hertz.

        As ``scipy.signal.periodogram`` without detrending. Without a time unit it is per cycle per tick.

        Parameters
        ----------
        window : str
            A window of ``scipy.signal.get_window``.
        """
        _check_text("psd", "window", window)
        return Call("seg.psd", (self.x,), (window,))

    def band(self, low: float, high: float, *, window: str = "hann") -> Expr:
        """Power of the frequencies from `low` to before `high`, in hertz; without a time unit in cycles per tick."""
        for name, number in (("low", low), ("high", high)):
            _check_number("band", name, number)
        if not 0 <= low < high:
            raise ExpressionError(f"band() needs 0 <= low < high, got {low} and {high}.",
                                  where=f"{self.x.show()}.seg.band({low}, {high})", hint="Use frequencies in order.")
        _check_text("band", "window", window)
        return Call("seg.band", (self.x,), (float(low), float(high), window))

    def wavelet(self, wavelet: str, *, level: int = 1, part: str = "detail") -> Expr:
        """Discrete wavelet transform: the coefficients of one level, a segment with a longer period.

        As ``pywt.wavedec`` with its symmetric extension.

        Parameters
        ----------
        wavelet : str
            A wavelet of PyWavelets, such as ``"haar"`` or ``"db4"``.
        level : int
            From 1 on. Each level halves the rate.
        part : {"detail", "approximation"}
        """
        where = f"{self.x.show()}.seg.wavelet({wavelet!r}, level={level!r})"
        _check_text("wavelet", "wavelet", wavelet)
        if not isinstance(level, int) or isinstance(level, bool) or not 1 <= level <= 48:
            raise ExpressionError(f"level must be an integer from 1 to 48, got {level!r}.", where=where,
                                  hint="Use level=1 for the highest frequencies.")
        if part not in ("detail", "approximation"):
            raise ExpressionError(f"part must be 'detail' or 'approximation', got {part!r}.", where=where,
                                  hint='Use part="detail".')
        return Call("seg.wavelet", (self.x,), (wavelet, level, part))

    def envelope(self) -> Expr:
        """Amplitude of the analytic signal, as ``abs(scipy.signal.hilbert(x))``: a segment at the same times."""
        return Call("seg.envelope", (self.x,))


def _check_number(name: str, parameter: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not np.isfinite(value):
        raise ExpressionError(f"{parameter} must be a finite number, got {value!r}.", where=f"{name}()",
                              hint="Use a number.")


def _check_text(name: str, parameter: str, value: Any) -> None:
    if not isinstance(value, str) or not value:
        raise ExpressionError(f"{parameter} must be a name, got {value!r}.", where=f"{name}()",
                              hint="Use its name, such as 'hann' or 'haar'.")
