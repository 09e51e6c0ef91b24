"""Confidence sequences for the mean of a finite population, sampled without replacement.

Let y be the totals of N blocks with mean m and variance S² (divisor N - 1), read in random order. Let S_n be the sum of
the first n. The process ``(S_n - n m) / (N - n)`` is a martingale (Serfling 1974; Waudby-Smith and Ramdas, "Confidence
sequences for sampling without replacement", NeurIPS 2020). Its variance ``v = S² n / (N (N - n))`` grows from update to
update and is infinite at the end. A Brownian motion crosses the boundary at any time with probability alpha. The
boundary therefore gives an interval for m that shrinks to nothing:

    |mean of n blocks - m|  <=  c(n / N) S sqrt((1 - n / N) / n)

Here c comes from a mixture of exponential martingales (Robbins 1970; Howard, Ramdas, McAuliffe and Sekhon,
"Time-uniform, nonparametric, nonasymptotic confidence sequences", Annals of Statistics 2021). S is unknown, and is
estimated from the blocks that were read. The boundary is then valid by a limit theorem in n (Waudby-Smith, Arbour,
Sinha, Kennedy and Ramdas, "Time-uniform central limit theory and asymptotic confidence sequences", Annals of Statistics
2024). For few blocks, c is widened as Student's t is wider than the normal distribution.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_FRACTIONS = (0.003, 0.01, 0.03, 0.1, 0.3, 0.5, 0.8, 0.97)
_WEIGHTS = (0.02, 0.02, 0.03, 0.04, 0.02, 0.82, 0.03, 0.02)
"""Fractions of the data at which the boundary is tight, and how much of alpha each may use."""
_GRID = np.linspace(-14.0, 14.0, 1121)
"""Logits of fractions between which the boundary is interpolated."""


@functools.lru_cache(maxsize=64)
def boundary(alpha: float) -> tuple[Array, Array]:
    """The half-width of the intervals in standard errors, for a confidence sequence of level 1 - alpha.

    By the logit of the fraction of blocks that was drawn: where the mixture reaches 1 / alpha, found by bisection.

    Parameters
    ----------
    alpha : float

    Examples
    --------
    >>> logits, widths = boundary(0.05)
    >>> np.interp(np.log([0.01 / 0.99, 1.0]), logits, widths).round(2).tolist()
    [3.84, 2.78]
    """
    odds = np.array([fraction / (1 - fraction) for fraction in _FRACTIONS])
    slopes = np.sqrt(2 * math.log(2 / alpha) / odds)
    time = np.exp(_GRID)[:, None]
    low, high = np.zeros(len(_GRID)), np.full(len(_GRID), 1e4)
    for _ in range(80):
        middle = (low + high) / 2
        moved = slopes * middle[:, None] * np.sqrt(time)
        exponents = moved + np.log1p(np.exp(-2 * moved)) - math.log(2) - slopes**2 * time / 2 + np.log(_WEIGHTS)
        largest = exponents.max(axis=1)
        crossed = largest + np.log(np.exp(exponents - largest[:, None]).sum(axis=1)) >= -math.log(alpha)
        low, high = np.where(crossed, low, middle), np.where(crossed, middle, high)
    return _GRID, high
