"""The applications of bench E as windows and joins of streams, in the corrected definitions (TiLT, table 2).

Functions of the same name in :mod:`bench.applications_in_expressions` give the same values at the same events.
"""

from __future__ import annotations

import whimbrel as wb
from whimbrel import Stream, col


def plus_three(log: Stream) -> Stream:
    """Select: ``x + 3``."""
    return log.select(z=col.x + 3)


def positive(log: Stream) -> Stream:
    """Where: ``x > 0``."""
    return log.where(col.x > 0)


def window_sum(log: Stream, width: int = 1_000) -> Stream:
    """Sum of the last `width` ticks."""
    return log.sliding_window(width).aggregate(z=wb.sum(col.x))


def added(log: Stream, other: Stream) -> Stream:
    """Join: ``x + y``."""
    return log.cross_join(other).select(z=col.x.cast("float64") + col.y)


def views(ads: Stream, width: int = 100) -> Stream:
    """Views of each `width` ticks, as in the Yahoo streaming benchmark."""
    return ads.tumbling_window(width).aggregate(n=wb.count().where(col.kind == 1))


def crossing(log: Stream, short: int = 20, long: int = 50) -> Stream:
    """Trading: where the mean of a short window is above that of a long one."""
    few, many = (log.sliding_window(width).aggregate(m=wb.mean(col.x)) for width in (short, long))
    return few.cross_join(many, where=col.m > col.m_right)


def strength(log: Stream, width: int = 14) -> Stream:
    """RSI: gains and losses of the last `width` steps."""
    steps = log.cross_join(log.select(before=col.x).shift(1)).select(d=col.x.cast("float64") - col.before)
    sums = steps.sliding_window(width).aggregate(
        up=wb.sum(col.d).where(col.d > 0), down=wb.sum(-col.d).where(col.d < 0))
    return sums.select(z=100 - 100 / (1 + col.up.fill_null(0.0) / col.down))


def scores(log: Stream, width: int = 10_000) -> Stream:
    """Normalise: standard scores within each `width` ticks."""
    whole = log.tumbling_window(width).aggregate(m=wb.mean(col.x), sd=wb.std(col.x))
    return log.cross_join(whole, allow_lookahead=True).select(z=(col.x - col.m) / col.sd)


def imputed(log: Stream, width: int = 10_000) -> Stream:
    """Imputation: the mean of each `width` ticks where a value is null."""
    means = log.tumbling_window(width).aggregate(m=wb.mean(col.x))
    return log.cross_join(means, allow_lookahead=True).select(z=col.x.cast("float64").fill_null(col.m))


def resampled(ticks: Stream, steps: Stream) -> Stream:
    """Values at the ticks of a second stream, on the line from the value ``x`` at ``a`` to the next, ``to``."""
    return ticks.cross_join(steps).select(z=col.x + (col.to.cast("float64") - col.x) * (col.t - col.a) / 4)


def pan_tompkins(log: Stream) -> Stream:
    """Pan and Tompkins (1985): low pass, high pass, derivative, square, mean of 30."""
    signal = log.select(x=col.x.cast("float64"))
    low = signal.sliding_window(6).aggregate(x=wb.sum(col.x)).sliding_window(6).aggregate(x=wb.sum(col.x))
    passed = low.shift(16).cross_join(low.sliding_window(32).aggregate(s=wb.sum(col.x))).select(x=col.x - col.s / 32)
    near = passed.cross_join(passed.select(one=col.x).shift(1)).cross_join(passed.select(three=col.x).shift(3))
    slope = near.cross_join(passed.select(four=col.x).shift(4)).select(
        d=(2 * col.x + col.one - col.three - 2 * col.four) / 8)
    return slope.select(d=col.d * col.d).sliding_window(30).aggregate(z=wb.mean(col.d))


def moments(log: Stream, width: int = 100) -> Stream:
    """Vibration: kurtosis, root mean square and crest factor of each `width` ticks."""
    wide = log.select(x=col.x.cast("float64"))
    powers = wide.tumbling_window(width).aggregate(
        n=wb.count(), m=wb.mean(col.x), s2=wb.sum(col.x * col.x), s3=wb.sum(col.x * col.x * col.x),
        s4=wb.sum(col.x * col.x * col.x * col.x), high=wb.max(abs(col.x)))
    second = col.s2 / col.n - col.m * col.m
    fourth = (col.s4 - 4 * col.m * col.s3 + 6 * col.m * col.m * col.s2) / col.n - 3 * col.m * col.m * col.m * col.m
    rms = (col.s2 / col.n).sqrt()
    return powers.select(kurtosis=fourth / (second * second), rms=rms, crest=col.high / rms)


def outliers(log: Stream, width: int = 10, deviations: float = 3.0) -> Stream:
    """More than three deviations above the mean of the `width` ticks before."""
    before = log.sliding_window(width).aggregate(m=wb.mean(col.x), sd=wb.std(col.x)).shift(1)
    return log.cross_join(before, where=col.x > col.m + deviations * col.sd).select("x")


def fraud(log: Stream, keys: int = 1_000, deviations: float = 3.0) -> Stream:
    """The same of the ten payments of a card before, of cards that pay once every `keys` ticks."""
    before = log.group_by("card").sliding_window(10 * keys).aggregate(m=wb.mean(col.x), sd=wb.std(col.x)).shift(keys)
    return log.join(before, on="card", where=col.x > col.m + deviations * col.sd).select("x")
