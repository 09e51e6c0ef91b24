"""Conformal bounds for the fraction of late rows of a window."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from whimbrel.clock import TickUnit

Array = np.ndarray[Any, Any]

_MAX_WINDOWS = 4096
"""The newest windows of a log say enough, and most of what is to come."""
_FIRST_ROWS, _FIRST = 100, 100
"""So many rows of a log, and one in so many, may be late ones whose window came before it."""
_STEPS_AN_OCTAVE = 4
_ERRORS, _ROWS = 3.0, 3.0
"""How far a share may be above its mean because rows are few: so many standard errors, and so many rows."""
_CLOSE = 1e-9


@dataclass(frozen=True, eq=False)
class Arrived:
    """The times and the lateness of the rows of a log, in arrival order.

    Parameters
    ----------
    times, late_by : numpy.ndarray of int64
        In ticks.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is.
    by : str, optional
        A column whose values say of what kind rows are; each kind is late in its own way.
    kinds : dict of value to int
        Its values, by number.
    kind : numpy.ndarray of int64
        By row, the number of its value; 0 where there is no such column.
    """

    times: Array
    late_by: Array
    unit: TickUnit = None
    by: str | None = None
    kinds: Mapping[Any, int] = field(default_factory=lambda: {None: 0})
    kind: Array | None = None

    def missing(self, size_ticks: int, hop_ticks: int, first_tick: int, *, latency_ticks: int | None = None,
                kind: int = 0) -> MissingFractions:
        """What was missing of windows of a grid, of which one begins at `first_tick`.

        With a latency only rows count that were no later than that: others are in no answer.
        """
        times, late_by = (part[self._indices[kind]] for part in (self.times, self.late_by))
        if latency_ticks is not None:
            kept = late_by <= latency_ticks
            times, late_by = times[kept], late_by[kept]
        return MissingFractions(times, late_by, size_ticks, hop_ticks, first_tick, self._span)

    @cached_property
    def _indices(self) -> list[Array]:
        """The rows of each kind."""
        if self.kind is None:
            return [np.arange(len(self.times))]
        order = np.argsort(self.kind, kind="stable")
        return np.split(order, np.searchsorted(self.kind[order], np.arange(1, len(self.kinds))))

    @cached_property
    def _span(self) -> tuple[int, int]:
        """The time after the rows that were late when the log began, from its first rows; and the newest time."""
        if not len(self.times):
            return 0, 0
        begun = max(_FIRST_ROWS, len(self.times) // _FIRST)
        return int(self.times[:begun].max()), int(self.times.max())


class MissingFractions:
    """Shares of the rows of windows that were missing when the newest time was so far past their end.

    For each window of the log the fraction s is known at every age. A bound for a later window is conformal [1, 2].
    With k windows, ``g(p, n) = p + 3 sqrt(p / n) + 3 / n`` bounds a fraction of mean p of n rows. The score of a window
    is the largest ``s(age) / g(mean of s(age), n)`` over all ages. If the window to come is one of k + 1 that
    might as well have come in another order, its score is at most q, the r-th smallest, with probability r / (k + 1).
    The scores use the mean of all k + 1 windows, of which the last is not known. Because g grows with the mean, the
    scores of the k are at most what they are without it. The fraction of the last window is at most the largest x with
    ``x = q g((sum of s + x) / (k + 1), n)``. That holds at all ages together, and for any n up to the rows it has.

    Beyond the largest age at which a row of any window was missing, none is expected: one is with probability
    1 / (k + 1), which is part of the same alpha.

    Parameters
    ----------
    times, late_by : numpy.ndarray of int64
        Of rows in the order in which they came.
    size_ticks, hop_ticks, first_tick : int
        A window of `size_ticks` begins every `hop_ticks`, one of them at `first_tick`.
    span : tuple of (int, int)
        Times before which windows may lack rows that arrived before the log, and after which no row has arrived.

    Attributes
    ----------
    rows : numpy.ndarray of int64
        Of each window of the log that was whole: all of its rows had time to come.
    fractions : numpy.ndarray of float64
        By window and age.
    ages_ticks : numpy.ndarray of int64
        Growing ages from 0 to the first at which no row was missing. An age is the ticks from the last tick of the
        window to the newest time, less one.

    References
    ----------
    [1] V. Vovk, A. Gammerman, G. Shafer, Algorithmic Learning in a Random World, 2005.
    [2] J. Lei, M. G'Sell, A. Rinaldo, R. J. Tibshirani, L. Wasserman, Distribution-free predictive inference for
    regression, JASA 2018.

    Examples
    --------
    >>> times, late_by = np.arange(1000), np.where(np.arange(1000) % 10 == 8, 5, 0)
    >>> missing = MissingFractions(times, late_by, 10, 10, 0, (0, 999))
    >>> missing.windows, missing.expected(np.array([0, 3, 4])).round(2).tolist()
    (99, [0.1, 0.1, 0.0])
    """

    def __init__(self, times: Array, late_by: Array, size_ticks: int, hop_ticks: int, first_tick: int,
                 span: tuple[int, int]) -> None:
        self._size, self._hop, self._first = size_ticks, hop_ticks, first_tick
        begin, end = self._whole(span, int(late_by.max(initial=0)))
        panes = (times - first_tick) // hop_ticks - begin
        near = (panes >= 0) & (panes < end - begin + size_ticks // hop_ticks - 1)
        times, late_by, panes = times[near], late_by[near], panes[near]
        overlap, count = size_ticks // hop_ticks, max(end - begin, 0)
        by_pane = np.append(0, np.cumsum(np.bincount(panes, minlength=count + overlap)))
        rows = by_pane[overlap : overlap + count] - by_pane[:count]
        windows, past = self._past_end(times, late_by, panes + begin, begin, end)
        self.ages_ticks = _steps(int(past.max(initial=-1)) + 1)
        steps = len(self.ages_ticks)
        index = np.searchsorted(self.ages_ticks, past, "right") - 1
        arrived = np.bincount(windows * steps + index, minlength=count * steps).reshape(count, steps)
        missing = arrived[:, ::-1].cumsum(axis=1)[:, ::-1][rows > 0]
        self.rows = rows[rows > 0]
        self.fractions = missing / self.rows[:, None]
        self._expected = missing.sum(axis=0) / max(int(self.rows.sum()), 1)

    def _whole(self, span: tuple[int, int], latest_ticks: int) -> tuple[int, int]:
        """The numbers of the windows after the first rows whose rows all had time to arrive."""
        begin = -((self._first - span[0]) // self._hop)
        end = (span[1] - latest_ticks - self._size - self._first) // self._hop + 1
        return max(begin, end - _MAX_WINDOWS), end

    def _past_end(self, times: Array, late_by: Array, panes: Array, begin: int, end: int) -> tuple[Array, Array]:
        """Of rows that came when the newest time was past a window of theirs: which it is, and how far past its end."""
        windows, past = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for back in range(self._size // self._hop):
            number = panes - back
            age = times + late_by - (self._first + number * self._hop + self._size)
            late = (age >= 0) & (number >= begin) & (number < end)
            windows.append(number[late] - begin)
            past.append(age[late])
        return np.concatenate(windows), np.concatenate(past)

    @property
    def windows(self) -> int:
        """How many windows of the log tell."""
        return len(self.rows)

    @staticmethod
    def fewest(alpha: float) -> int:
        """With fewer windows nothing can be said that fails with probability alpha."""
        return math.ceil(2 / alpha - _CLOSE) - 1

    def end(self, alpha: float) -> float:
        """The age at which no row is missing any more; infinite where too few windows say so."""
        return float(self.ages_ticks[-1]) if self.windows >= self.fewest(alpha) else math.inf

    def expected(self, ages_ticks: Array) -> Array:
        """The share of rows that is missing on the average; NaN before the end of a window."""
        found = np.interp(ages_ticks, self.ages_ticks, self._expected)
        return np.where(ages_ticks < 0, np.nan, found)

    def maximum(self, ages_ticks: Array, rows: Array, alpha: float) -> Array:
        """The share that is missing at most, at all ages together, with probability 1 - alpha; NaN as for the mean.

        Parameters
        ----------
        ages_ticks : numpy.ndarray of int64
        rows : numpy.ndarray of float64
            That were seen of each window; it has at least so many.
        alpha : float

        Returns
        -------
        numpy.ndarray of float64
            1 where nothing is known: of too few windows, or where shares differ too much.
        """
        index = np.searchsorted(self.ages_ticks, ages_ticks, "right") - 1
        maximum = np.ones(len(ages_ticks))
        if self.windows >= self.fewest(alpha):
            total, windows = self.fractions.sum(axis=0), self.windows + 1
            rank = min(math.ceil(windows * (1 - alpha) - _CLOSE) + 1, self.windows)
            score = np.partition(self._scores, rank - 1)[rank - 1]
            for _ in range(1000):
                before, maximum = maximum, np.minimum(score * _usual((total[index] + maximum) / windows, rows), 1.0)
                if (before - maximum <= _CLOSE).all():
                    break
            maximum[ages_ticks >= self.end(alpha)] = 0.0
        return np.where(ages_ticks < 0, np.nan, maximum)

    @cached_property
    def _scores(self) -> Array:
        mean = self.fractions.sum(axis=0) / (self.windows + 1)
        usual = _usual(mean, self.rows[:, None])
        return np.asarray((self.fractions / usual).max(axis=1))


def _usual(mean: Array, rows: Array) -> Array:
    return np.asarray(mean + _ERRORS * np.sqrt(mean / rows) + _ROWS / rows)


def _steps(end: int) -> Array:
    """Ages from 0 to this one, close to each other where they are small."""
    octaves = math.log2(end) if end > 1 else 0.0
    grown = np.geomspace(1, max(end, 1), math.ceil(octaves * _STEPS_AN_OCTAVE) + 1)
    return np.unique(np.append([0, end], np.rint(grown))[: None if end else 1].astype(np.int64))
