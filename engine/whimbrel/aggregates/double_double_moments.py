"""Moments of pairs, and of powers, in double-double sums.

Each sum is two floats. Products are taken without an error. Distances are from the first value: powers of the values
themselves lose all digits where the mean is far from zero. Since the value is one of the group, no mean is too far: of
n values, the sums lose at most the digits of about n**2. Sources: Dekker 1971 (products); Knuth (sums).
"""

from __future__ import annotations

import math
from typing import Any

from whimbrel.aggregates.compensated_sum import two_sum
from whimbrel.aggregates.error_free_product import product_error

_INF = float("inf")

NO_PAIRS = (*(0.0,) * 14, _INF, -_INF, _INF, -_INF)
"""Finite pairs; those that are not; the first x and y; sums of distances from them, x, y, x*x, y*y and x*y; smallest
and largest x and y."""
NO_POWERS = (0.0,) * 11
"""Finite values; those that are not finite; the first value; sums of the first four powers of distances from it."""

_SMALLEST_SPREAD, _LARGEST_SPREAD = 1e-130, 1e150
"""Variances whose squares, and the rounding errors of these, are floats."""
_SMALLEST_SQUARES, _LARGEST_SQUARES = 1e-260, 1e300
"""Sums of squares whose rounding errors are floats."""


def added(high: Any, low: Any, value: Any, rest: Any) -> Any:
    """A sum of two floats, with another one."""
    total, off = two_sum(high, value)
    return two_sum(total, off + (low + rest))


def times(high: Any, low: Any, other: Any, rest: Any) -> Any:
    """The product of two sums of two floats."""
    product = high * other
    return two_sum(product, product_error(high, other, product) + (high * rest + low * other))


def with_product(high: Any, low: Any, x: Any, x_low: Any, y: Any, y_low: Any) -> Any:
    """A sum of two floats, with a product of such."""
    product, rest = times(x, x_low, y, y_low)
    return added(high, low, product, rest)


def divided(high: Any, low: Any, by: Any) -> Any:
    """A sum of two floats, divided by a number."""
    part = high / by
    taken = part * by
    return two_sum(part, (((high - taken) - product_error(part, by, taken)) + low) / by)


def pair_in(s: Any, a: Any, b: Any) -> Any:
    x, y = float(a), float(b)
    if not (-_INF < x < _INF and -_INF < y < _INF):  # the result is no number, whatever is added
        return (s[0], s[1] + 1.0, s[2], s[3], s[4], s[5], s[6], s[7], s[8], s[9], s[10], s[11], s[12], s[13],
                s[14], s[15], s[16], s[17])
    first_x = s[2] if s[0] > 0.0 else x
    first_y = s[3] if s[0] > 0.0 else y
    dx, dx_low = two_sum(x, -first_x)
    dy, dy_low = two_sum(y, -first_y)
    sx, sx_low = added(s[4], s[5], dx, dx_low)
    sy, sy_low = added(s[6], s[7], dy, dy_low)
    sxx, sxx_low = with_product(s[8], s[9], dx, dx_low, dx, dx_low)
    syy, syy_low = with_product(s[10], s[11], dy, dy_low, dy, dy_low)
    sxy, sxy_low = with_product(s[12], s[13], dx, dx_low, dy, dy_low)
    return (s[0] + 1.0, s[1], first_x, first_y, sx, sx_low, sy, sy_low, sxx, sxx_low, syy, syy_low, sxy, sxy_low,
            min(s[14], x), max(s[15], x), min(s[16], y), max(s[17], y))


def pairs_of_both(s: Any, t: Any) -> Any:
    if t[0] == 0.0:
        return (s[0], s[1] + t[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8], s[9], s[10], s[11], s[12], s[13],
                s[14], s[15], s[16], s[17])
    if s[0] == 0.0:
        return (t[0], s[1] + t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9], t[10], t[11], t[12], t[13],
                t[14], t[15], t[16], t[17])
    # Distances of `t` from the first pair of `s`: each product is with one factor that has moved, and one that has not.
    by_x, by_x_low = two_sum(t[2], -s[2])
    by_y, by_y_low = two_sum(t[3], -s[3])
    x, x_low = with_product(t[4], t[5], t[0], 0.0, by_x, by_x_low)
    y, y_low = with_product(t[6], t[7], t[0], 0.0, by_y, by_y_low)
    xx, xx_low = with_product(t[8], t[9], t[4], t[5], by_x, by_x_low)
    xx, xx_low = with_product(xx, xx_low, x, x_low, by_x, by_x_low)
    yy, yy_low = with_product(t[10], t[11], t[6], t[7], by_y, by_y_low)
    yy, yy_low = with_product(yy, yy_low, y, y_low, by_y, by_y_low)
    xy, xy_low = with_product(t[12], t[13], t[6], t[7], by_x, by_x_low)
    xy, xy_low = with_product(xy, xy_low, x, x_low, by_y, by_y_low)
    x, x_low = added(s[4], s[5], x, x_low)
    y, y_low = added(s[6], s[7], y, y_low)
    xx, xx_low = added(s[8], s[9], xx, xx_low)
    yy, yy_low = added(s[10], s[11], yy, yy_low)
    xy, xy_low = added(s[12], s[13], xy, xy_low)
    return (s[0] + t[0], s[1] + t[1], s[2], s[3], x, x_low, y, y_low, xx, xx_low, yy, yy_low, xy, xy_low,
            min(s[14], t[14]), max(s[15], t[15]), min(s[16], t[16]), max(s[17], t[17]))


def together(high: Any, low: Any, x: Any, x_low: Any, y: Any, y_low: Any, rows: Any) -> Any:
    """Sum of products of distances from the means: what a sum of products and a product of sums differ by."""
    product, rest = times(x, x_low, y, y_low)
    part, part_low = divided(product, rest, rows)
    found, off = added(high, low, -part, -part_low)
    return found + off


def products(s: Any) -> Any:
    """Sum of products of the distances from the means."""
    return together(s[12], s[13], s[4], s[5], s[6], s[7], s[0])


def sample_covariance(s: Any) -> Any:
    if s[0] + s[1] < 2.0:
        return None
    if s[1] > 0.0:
        return math.nan
    return products(s) / (s[0] - 1.0)


def population_covariance(s: Any) -> Any:
    if s[0] + s[1] < 1.0:
        return None
    if s[1] > 0.0:
        return math.nan
    return products(s) / s[0]


def distances(s: Any) -> Any:
    """Sums of squares of the distances from the means, and of their products: of x, of y, of both.

    NaN where squares are so small or so large that their rounding errors are no floats.
    """
    xx = together(s[8], s[9], s[4], s[5], s[4], s[5], s[0])
    yy = together(s[10], s[11], s[6], s[7], s[6], s[7], s[0])
    if s[14] < s[15] and not _SMALLEST_SQUARES < xx < _LARGEST_SQUARES:
        xx = math.nan
    if s[16] < s[17] and not _SMALLEST_SQUARES < yy < _LARGEST_SQUARES:
        yy = math.nan
    return xx, yy, products(s)


def correlation(s: Any) -> Any:
    if s[1] > 0.0:
        return math.nan
    if not s[14] < s[15] or not s[16] < s[17]:
        return None
    xx, yy, xy = distances(s)
    if not (xx > 0.0 and yy > 0.0):
        return math.nan
    return max(-1.0, min(1.0, xy / (math.sqrt(xx) * math.sqrt(yy))))


def regression_slope(s: Any) -> Any:
    """Of the first value by the second one."""
    if s[1] > 0.0:
        return math.nan
    if not s[16] < s[17]:
        return None
    xx, yy, xy = distances(s)
    if not (xx >= 0.0 and yy > 0.0):
        return math.nan
    return xy / yy


def regression_intercept(s: Any) -> Any:
    if s[1] > 0.0:
        return math.nan
    if not s[16] < s[17]:
        return None
    xx, yy, xy = distances(s)
    if not (xx >= 0.0 and yy > 0.0):
        return math.nan
    slope = xy / yy
    x, x_low = divided(s[4], s[5], s[0])
    y, y_low = divided(s[6], s[7], s[0])
    x, x_low = added(x, x_low, s[2], 0.0)
    y, y_low = added(y, y_low, s[3], 0.0)
    at_mean, at_mean_low = times(slope, 0.0, y, y_low)
    found, off = added(x, x_low, -at_mean, -at_mean_low)
    return found + off


def determination(s: Any) -> Any:
    if s[1] > 0.0:
        return math.nan
    if not s[16] < s[17]:
        return None
    if not s[14] < s[15]:
        return 1.0
    xx, yy, xy = distances(s)
    if not (xx > 0.0 and yy > 0.0):
        return math.nan
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
