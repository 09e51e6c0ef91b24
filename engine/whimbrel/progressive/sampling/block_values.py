"""Contributions of blocks to values, from a pilot sample, with kurtosis.

Only one of several rows of a block was evaluated, except for outliers. The estimated numbers therefore vary by chance,
which makes tails look lighter than they are. Outliers are known exactly. They are compared with the variance that is
left without that of chance. Two halves of the rows show how much of the variance is that of the blocks themselves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from whimbrel.batch import Mask

Array = np.ndarray[Any, Any]

_ROUNDING = 1e-20
"""Smaller variances, as a fraction of the second moment, are rounding errors."""


class BlockNumbers(NamedTuple):
    """Numbers by value and part; a part is what one block adds to one result row.

    Attributes
    ----------
    body, far, apart : numpy.ndarray of float64
        What rows add that are not outliers; what outliers add; the difference between two halves of the former.
    rows, blocks : numpy.ndarray of int64
        The result row and the block of each part.
    every : int
        One of this many rows of the body is in the pilot sample.
    """

    body: Array
    far: Array
    apart: Array
    rows: Array
    blocks: Array
    every: int

    def first(self, values: int) -> BlockNumbers:
        """The numbers of the first values."""
        return self._replace(body=self.body[:values], far=self.far[:values], apart=self.apart[:values])

    def only(self, which: Mask) -> BlockNumbers:
        """The numbers of these parts."""
        return BlockNumbers(self.body[:, which], self.far[:, which], self.apart[:, which], self.rows[which],
                            self.blocks[which], self.every)

    def tails(self, drawn: Array, uneven: float) -> Array:
        """By value and row, the kurtosis less 1: 2 for normal values; infinite if unknown."""
        whole, far = (self._moments(each, drawn) for each in (self.body + self.far, self.far))
        own = far[1] + self.own_variance(drawn)
        with np.errstate(all="ignore"):
            seen = np.where(whole[1] > _ROUNDING * whole[0], whole[2] / whole[1] ** 2, np.where(
                whole[0] > 0, 3.0, np.inf))
            exact = np.where(far[1] > _ROUNDING * far[0], 3 + (far[2] - 3 * far[1] ** 2) / own**2, 0.0)
            tails = np.maximum(np.maximum(seen, exact) * uneven - 1, 1e-3)
        return np.where(np.isnan(tails), np.inf, tails)

    def own_variance(self, drawn: Array) -> Array:
        """By value and row, the variance between blocks of what the body adds, without that of the pilot sample."""
        variance, between = (self._moments(each, drawn)[1] for each in (self.body, self.apart))
        return np.maximum(variance - between * (1 - 1 / self.every), variance / self.every)

    def _moments(self, numbers: Array, drawn: Array) -> tuple[Array, Array, Array]:
        """By value and row: the second moment, the variance and the fourth central moment over blocks.

        Numbers are centered before they are multiplied, so that differences far smaller than the numbers are kept.
        """
        first, = self._powers(numbers, drawn, 1)
        _, second, _, fourth = self._powers(numbers - first[:, self.rows], drawn, 4)
        absent = np.maximum(1 - np.bincount(self.rows, minlength=len(drawn)) / drawn, 0.0)  # they add 0
        variance = second + absent * first**2
        return variance + first**2, variance, fourth + absent * first**4

    def _powers(self, numbers: Array, drawn: Array, maximum: int) -> Array:
        """By power, value and row: the mean of the power over blocks, without those that have no part."""
        found, power = np.zeros((maximum, len(numbers), len(drawn))), np.ones_like(numbers)
        for each in range(maximum):
            power = power * numbers
            for value, of_parts in enumerate(power):
                found[each, value] = np.bincount(self.rows, of_parts, len(drawn))
        return found / drawn
