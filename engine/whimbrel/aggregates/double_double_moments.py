"""Moments of pairs, and of powers, in double-double sums.

Each sum is two floats. Products are taken without an error, so that means far from zero cost no digits, and the order
of rows does not show. Sources: Dekker 1971 (products); Knuth (sums).
"""

from __future__ import annotations

import math
from typing import Any

from whimbrel.aggregates.compensated_sum import two_sum
from whimbrel.aggregates.error_free_product import product_error

_INF = float("inf")

NO_PAIRS = (*(0.0,) * 12, _INF, -_INF, _INF, -_INF)
"""Pairs; those with a number that is not finite; sums of x, y, x*x, y*y and x*y; smallest and largest x and y."""
NO_POWERS = (0.0,) * 11
"""Finite values; those that are not finite; the first value; sums of the first four powers of distances from it.

Powers of the values themselves lose all digits where the mean is far from zero. Since the value is one of the group, no
mean is too far: of n values, the sums lose at most the digits of about n**2.
"""

_SMALLEST_SPREAD, _LARGEST_SPREAD = 1e-130, 1e150
"""Variances whose squares, and the rounding errors of these, are floats."""


def added(high: Any, low: Any, value: Any, rest: Any) -> Any:
    """A sum of two floats, with another one."""
    total, off = two_sum(high, value)
    return two_sum(total, off + (low + rest))


def times(high: Any, low: Any, other: Any, rest: Any) -> Any:
    """The product of two sums of two floats."""
    product = high * other
    return two_sum(product, product_error(high, other, product) + (high * rest + low * other))


def divided(high: Any, low: Any, by: Any) -> Any:
    """A sum of two floats, divided by a number."""
    part = high / by
    taken = part * by
    return two_sum(part, (((high - taken) - product_error(part, by, taken)) + low) / by)


def pair_in(s: Any, a: Any, b: Any) -> Any:
    x, y = float(a), float(b)
    rows, odd = s[0] + 1.0, s[1]
    if not (-_INF < x < _INF and -_INF < y < _INF):
        odd, x, y = odd + 1.0, 0.0, 0.0  # the result is no number, whatever is added
    xx, yy, xy = x * x, y * y, x * y
    sx, sx_low = added(s[2], s[3], x, 0.0)
    sy, sy_low = added(s[4], s[5], y, 0.0)
    sxx, sxx_low = added(s[6], s[7], xx, product_error(x, x, xx))
    syy, syy_low = added(s[8], s[9], yy, product_error(y, y, yy))
    sxy, sxy_low = added(s[10], s[11], xy, product_error(x, y, xy))
    return (rows, odd, sx, sx_low, sy, sy_low, sxx, sxx_low, syy, syy_low, sxy, sxy_low,
            min(s[12], x), max(s[13], x), min(s[14], y), max(s[15], y))


def pairs_of_both(s: Any, t: Any) -> Any:
    sx, sx_low = added(s[2], s[3], t[2], t[3])
    sy, sy_low = added(s[4], s[5], t[4], t[5])
    sxx, sxx_low = added(s[6], s[7], t[6], t[7])
    syy, syy_low = added(s[8], s[9], t[8], t[9])
    sxy, sxy_low = added(s[10], s[11], t[10], t[11])
    return (s[0] + t[0], s[1] + t[1], sx, sx_low, sy, sy_low, sxx, sxx_low, syy, syy_low, sxy, sxy_low,
            min(s[12], t[12]), max(s[13], t[13]), min(s[14], t[14]), max(s[15], t[15]))


def together(high: Any, low: Any, x: Any, x_low: Any, y: Any, y_low: Any, rows: Any) -> Any:
    """Sum of products of distances from the means: what a sum of products and a product of sums differ by."""
    product, rest = times(x, x_low, y, y_low)
    part, part_low = divided(product, rest, rows)
    found, off = added(high, low, -part, -part_low)
    return found + off


def sample_covariance(s: Any) -> Any:
    if s[0] < 2.0:
        return None
    if s[1] > 0.0:
        return math.nan
    return together(s[10], s[11], s[2], s[3], s[4], s[5], s[0]) / (s[0] - 1.0)


def population_covariance(s: Any) -> Any:
    if s[0] < 1.0:
        return None
    if s[1] > 0.0:
        return math.nan
    return together(s[10], s[11], s[2], s[3], s[4], s[5], s[0]) / s[0]


def distances(s: Any) -> Any:
    """Sums of squares of the distances from the means, and of their products: of x, of y, of both."""
    return (together(s[6], s[7], s[2], s[3], s[2], s[3], s[0]), together(s[8], s[9], s[4], s[5], s[4], s[5], s[0]),
            together(s[10], s[11], s[2], s[3], s[4], s[5], s[0]))


def correlation(s: Any) -> Any:
    if s[1] > 0.0:
        return math.nan
    if not s[12] < s[13] or not s[14] < s[15]:
        return None
    xx, yy, xy = distances(s)
    return max(-1.0, min(1.0, xy / (math.sqrt(xx) * math.sqrt(yy))))


def regression_slope(s: Any) -> Any:
    """Of the first value by the second one."""
    if s[1] > 0.0:
        return math.nan
    if not s[14] < s[15]:
        return None
    _, yy, xy = distances(s)
    return xy / yy


def regression_intercept(s: Any) -> Any:
    if s[1] > 0.0:
        return math.nan
    if not s[14] < s[15]:
        return None
    _, yy, xy = distances(s)
    return ((s[2] + s[3]) - xy / yy * (s[4] + s[5])) / s[0]


def determination(s: Any) -> Any:
    if s[1] > 0.0:
        return math.nan
    if not s[14] < s[15]:
        return None
    if not s[12] < s[13]:
        return 1.0
    xx, yy, xy = distances(s)
    return min(1.0, xy / xx * (xy / yy))


def powers_in(s: Any, value: Any) -> Any:
    x = float(value)
    if not -_INF < x < _INF:  # the result is no number, whatever is added
        return (s[0], s[1] + 1.0, s[2], s[3], s[4], s[5], s[6], s[7], s[8], s[9], s[10])
    since = s[2] if s[0] > 0.0 else x
    far, far_low = two_sum(x, -since)
    square, square_low = times(far, far_low, far, far_low)
    cube, cube_low = times(square, square_low, far, far_low)
    fourth, fourth_low = times(square, square_low, square, square_low)
    s1, s1_low = added(s[3], s[4], far, far_low)
    s2, s2_low = added(s[5], s[6], square, square_low)
    s3, s3_low = added(s[7], s[8], cube, cube_low)
    s4, s4_low = added(s[9], s[10], fourth, fourth_low)
    return (s[0] + 1.0, s[1], since, s1, s1_low, s2, s2_low, s3, s3_low, s4, s4_low)


def powers_of_both(s: Any, t: Any) -> Any:
    if t[0] == 0.0:
        return (s[0], s[1] + t[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8], s[9], s[10])
    if s[0] == 0.0:
        return (t[0], s[1] + t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9], t[10])
    s1, s1_low, s2, s2_low, s3, s3_low, s4, s4_low = counted_from(s[2], t)
    s1, s1_low = added(s[3], s[4], s1, s1_low)
    s2, s2_low = added(s[5], s[6], s2, s2_low)
    s3, s3_low = added(s[7], s[8], s3, s3_low)
    s4, s4_low = added(s[9], s[10], s4, s4_low)
    return (s[0] + t[0], s[1] + t[1], s[2], s1, s1_low, s2, s2_low, s3, s3_low, s4, s4_low)


def counted_from(since: Any, t: Any) -> Any:
    """Sums of powers of distances from another value: each round exchanges one factor of each power that is left."""
    by, low = two_sum(t[2], -since)
    s1, s1_low, s2, s2_low, s3, s3_low, s4, s4_low = t[3], t[4], t[5], t[6], t[7], t[8], t[9], t[10]
    s4, s4_low = with_product(s4, s4_low, s3, s3_low, by, low)
    s3, s3_low = with_product(s3, s3_low, s2, s2_low, by, low)
    s2, s2_low = with_product(s2, s2_low, s1, s1_low, by, low)
    s1, s1_low = with_product(s1, s1_low, t[0], 0.0, by, low)
    s4, s4_low = with_product(s4, s4_low, s3, s3_low, by, low)
    s3, s3_low = with_product(s3, s3_low, s2, s2_low, by, low)
    s2, s2_low = with_product(s2, s2_low, s1, s1_low, by, low)
    s4, s4_low = with_product(s4, s4_low, s3, s3_low, by, low)
    s3, s3_low = with_product(s3, s3_low, s2, s2_low, by, low)
    s4, s4_low = with_product(s4, s4_low, s3, s3_low, by, low)
    return s1, s1_low, s2, s2_low, s3, s3_low, s4, s4_low


def with_product(high: Any, low: Any, x: Any, x_low: Any, y: Any, y_low: Any) -> Any:
    product, rest = times(x, x_low, y, y_low)
    return added(high, low, product, rest)


def about_mean(s: Any) -> Any:
    """The mean of distances, the mean of squares, the square of the mean, each in two floats, and the variance."""
    mean, mean_low = divided(s[3], s[4], s[0])
    squares, squares_low = divided(s[5], s[6], s[0])
    of_mean, of_mean_low = times(mean, mean_low, mean, mean_low)
    spread, spread_low = added(squares, squares_low, -of_mean, -of_mean_low)
    return mean, mean_low, squares, squares_low, of_mean, of_mean_low, spread + spread_low


def skewness(s: Any) -> Any:
    if s[1] > 0.0:
        return math.nan
    if s[0] == 0.0:
        return None
    mean, mean_low, squares, squares_low, of_mean, of_mean_low, spread = about_mean(s)
    if spread == 0.0:
        return None
    if not _SMALLEST_SPREAD < spread < _LARGEST_SPREAD:
        return math.nan
    cubes, cubes_low = divided(s[7], s[8], s[0])
    # E x^3 - mean * (3 E x^2 - 2 mean^2)
    thrice, thrice_low = times(squares, squares_low, 3.0, 0.0)
    inner, inner_low = added(thrice, thrice_low, -2.0 * of_mean, -2.0 * of_mean_low)
    taken, taken_low = times(mean, mean_low, inner, inner_low)
    third, third_low = added(cubes, cubes_low, -taken, -taken_low)
    return (third + third_low) / spread ** 1.5


def excess_kurtosis(s: Any) -> Any:
    if s[1] > 0.0:
        return math.nan
    if s[0] == 0.0:
        return None
    mean, mean_low, squares, squares_low, of_mean, of_mean_low, spread = about_mean(s)
    if spread == 0.0:
        return None
    if not _SMALLEST_SPREAD < spread < _LARGEST_SPREAD:
        return math.nan
    cubes, cubes_low = divided(s[7], s[8], s[0])
    fourths, fourths_low = divided(s[9], s[10], s[0])
    # E x^4 - mean * (4 E x^3 - mean * (6 E x^2 - 3 mean^2))
    six, six_low = times(squares, squares_low, 6.0, 0.0)
    three, three_low = times(of_mean, of_mean_low, 3.0, 0.0)
    inner, inner_low = added(six, six_low, -three, -three_low)
    inner, inner_low = times(mean, mean_low, inner, inner_low)
    inner, inner_low = added(4.0 * cubes, 4.0 * cubes_low, -inner, -inner_low)
    taken, taken_low = times(mean, mean_low, inner, inner_low)
    fourth, fourth_low = added(fourths, fourths_low, -taken, -taken_low)
    return (fourth + fourth_low) / (spread * spread) - 3.0
