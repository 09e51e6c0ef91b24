"""Confidence sequences by betting, for a ratio of two totals.

The totals are those of a finite population. The method needs only known bounds of its numbers.

Each of N blocks adds A to one total and B, which is not negative, to another; t is the ratio of the totals. The numbers
``z(t) = A - t B`` of all blocks add up to 0. Blocks are drawn at random, without replacement. Before each draw the mean
of those that are left is therefore known for every t. A gambler bets before each draw that the next number is larger
than that mean. The stake is so small that no number within the bounds can ruin the gambler. The game is fair if t is
right: the probability of ever having 1 / alpha times the first capital is alpha at most (Ville). Every t with which the
gambler gets there is excluded. That holds for any numbers within the bounds, at all updates together.

The capital shrinks as t grows, so bisection finds the end of the excluded ratios.

Waudby-Smith and Ramdas, "Confidence sequences for sampling without replacement", NeurIPS 2020.
Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", JRSS B 2024.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]

_FRACTIONS = (0.1, 0.5, 0.9, 0.0)
_CAPITALS = (0.2, 0.5, 0.15, 0.15)
"""Fractions of the blocks for which stakes are best, 0: the largest possible stakes; and the capital for each."""
_LARGEST_LOSS = 0.9
"""Of the capital, at one draw."""
_BISECTIONS = 24
_CLOSE_ENOUGH = 1e-3
"""Of the distance of an end to the estimate: so exactly it is computed."""
_BLIND_DRAWS = 2
"""Draws before which nothing is known, so that the stakes allow for all that is possible."""
_ERRORS = 3.0
"""Standard errors by which the ratio for which stakes are set lies beyond the estimate."""
_CHUNK = 1 << 14
"""Numbers by draw and population that are computed together: they stay in the CPU cache."""


class RatioSample(NamedTuple):
    """What blocks of some populations added to two totals. The blocks were drawn from each population at random.

    Attributes
    ----------
    numerators, denominators : numpy.ndarray of float64
        A and B, by draw and population; 0 after the last draw of a population.
    draws, units : numpy.ndarray of int64
        By population, how many blocks were drawn, of how many.
    known_numerator, known_denominator : numpy.ndarray of float64
        By population, what is known of both totals in addition to these blocks.
    smallest_numerator : numpy.ndarray of float64
        By population, the smallest possible A of a block.
    smallest_denominator, largest_denominator : numpy.ndarray of float64
        By population, the bounds of each B.
    largest_ratio : numpy.ndarray of float64
        By population, the largest possible ratio, as was known before the first draw.
    """

    numerators: Array
    denominators: Array
    draws: Array
    units: Array
    known_numerator: Array
    known_denominator: Array
    smallest_numerator: Array
    smallest_denominator: Array
    largest_denominator: Array
    largest_ratio: Array

    def only(self, which: slice) -> RatioSample:
        """Those of some populations."""
        return RatioSample(self.numerators[:, which], self.denominators[:, which], *(each[which] for each in self[2:]))


def lower_ends(sample: RatioSample, low: Array, high: Array, alpha: float) -> Array:
    """Lower end of a confidence sequence of each population's ratio, of level 1 - alpha.

    Parameters
    ----------
    sample : RatioSample
    low, high : numpy.ndarray of float64
        By population, the smallest and the largest ratio that are possible after these draws.
    alpha : float

    Returns
    -------
    numpy.ndarray of float64

    Examples
    --------
    >>> half = np.ones((50, 1))
    >>> one, nothing = np.ones(1), np.zeros(1)
    >>> blocks = RatioSample(half, half, 50 * one, 100 * one, nothing, nothing, nothing, one, one, 4 * one)
    >>> lower_ends(blocks, nothing, 4 * one, 0.025).round(1).tolist()
    [0.9]
    """
    step = max(1, _CHUNK // max(1, len(sample.numerators)))
    parts = [slice(begin, begin + step) for begin in range(0, len(low), step)]
    return np.concatenate([low[:0], *(_lower_ends(sample.only(each), low[each], high[each], alpha) for each in parts)])


def _lower_ends(sample: RatioSample, low: Array, high: Array, alpha: float) -> Array:
    draws = int(sample.draws.max(initial=0))
    sample = sample._replace(numerators=sample.numerators[:draws], denominators=sample.denominators[:draws])
    draw = np.arange(draws)[:, None]
    left = np.maximum(sample.units - draw, 1.0)
    before_a, before_b = _before(sample.numerators), _before(sample.denominators)
    so_far_a, so_far_b = before_a + sample.known_numerator, before_b + sample.known_denominator
    guess = _guesses(sample, before_a, before_b)
    at_risk = (guess * so_far_b - so_far_a) / left + np.maximum(
        guess * sample.largest_denominator, guess * sample.smallest_denominator) - sample.smallest_numerator
    stakes = _stakes(sample, before_a, before_b, left, at_risk, alpha)
    stakes[:, draw >= sample.draws] = 0.0
    a, b = sample.numerators + so_far_a / left, sample.denominators + so_far_b / left
    enough = 1 / alpha

    def excluded(ratio: Array) -> Array:
        # Beyond the guess the stakes might ruin the gambler, who takes the losses of the guess there, and no gains.
        gain, cap = a - np.minimum(ratio, guess) * b, np.where(ratio > guess, 1.0, np.inf)
        capital = np.zeros_like(gain)
        for stake, begin in zip(stakes, _CAPITALS, strict=True):
            times = stake * gain
            times += 1.0
            np.minimum(np.maximum(times, 0.0, out=times), cap, out=times)
            capital += begin * np.cumprod(times, axis=0, out=times)
        return np.asarray(capital.max(axis=0, initial=0.0) >= enough)

    found, beyond = low.copy(), high.copy()
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        estimate = ((sample.numerators.sum(axis=0) + sample.known_numerator)
                    / (sample.denominators.sum(axis=0) + sample.known_denominator))
        for _ in range(_BISECTIONS):
            middle = found / 2 + beyond / 2
            out = excluded(middle)
            found, beyond = np.where(out, middle, found), np.where(out, beyond, middle)
            if (beyond - found <= _CLOSE_ENOUGH * (estimate - found)).all():
                break
    return found


def _before(numbers: Array) -> Array:
    """Of each draw, what those before it add up to."""
    return np.cumsum(numbers, axis=0) - numbers


def _guesses(sample: RatioSample, before_a: Array, before_b: Array) -> Array:
    """Of each draw, a ratio that is probably not below the right one, from what was drawn before it."""
    draw = np.arange(len(sample.numerators))[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (before_a + sample.known_numerator) / (before_b + sample.known_denominator)
        error = _deviations(sample, before_a / before_b) * np.sqrt(draw) / before_b
        guess = ratio + _ERRORS * error
    return np.where((draw >= _BLIND_DRAWS) & np.isfinite(guess), np.minimum(guess, sample.largest_ratio),
                    sample.largest_ratio)


def _deviations(sample: RatioSample, ratio: Array) -> Array:
    """Of each draw, by how much the numbers before it differ from what this ratio lets one expect."""
    draws = np.maximum(np.arange(len(sample.numerators))[:, None], 1)
    squares = (_before(sample.numerators**2) - 2 * ratio * _before(sample.numerators * sample.denominators)
               + ratio**2 * _before(sample.denominators**2))
    return np.sqrt(np.maximum(squares, 0.0) / draws)


def _stakes(sample: RatioSample, before_a: Array, before_b: Array, left: Array, at_risk: Array, alpha: float) -> Array:
    """By fraction of the blocks, draw and population: the stake on each unit of a number."""
    draws = np.maximum(np.arange(len(sample.numerators))[:, None], 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.nan_to_num(_deviations(sample, before_a / before_b)) ** 2
        variance = apart + _before(sample.numerators**2) / draws**2  # few draws know little of it
        largest = np.where(at_risk > 0, _LARGEST_LOSS / at_risk, 0.0)
        stakes = [largest if fraction == 0 else np.minimum(largest, np.nan_to_num(
            np.sqrt(2 * math.log(1 / alpha) / (variance * sample.units * fraction / (1 - fraction)))
            * sample.units / left, posinf=np.inf)) for fraction in _FRACTIONS]
    return np.array(stakes)
