"""The applications of bench E as expressions: functions of time."""

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
    return log.select(z=wb.sum(col.x).past(width))


def added(log: Stream, other: Stream) -> Stream:
    """Join: ``x + y``."""
    return log.cross_join(other).select(z=col.x.cast("float64") + col.y)


def views(ads: Stream, width: int = 100) -> Stream:
    """Views of each `width` ticks, as in the Yahoo streaming benchmark."""
    return ads.over_time(every=width, n=wb.count().where(col.kind == 1).cell(width))


def crossing(log: Stream, short: int = 20, long: int = 50) -> Stream:
    """Trading: where the mean of a short window is above that of a long one."""
    return log.where(wb.mean(col.x).past(short) > wb.mean(col.x).past(long))


def strength(log: Stream, width: int = 14) -> Stream:
    """RSI: gains and losses of the last `width` steps."""
    step = col.x.cast("float64") - col.x.ago(1)
    up, down = wb.sum(step).where(step > 0).past(width), wb.sum(-step).where(step < 0).past(width)
    return log.select(z=100 - 100 / (1 + up.fill_null(0.0) / down))


def scores(log: Stream, width: int = 10_000) -> Stream:
    """Normalise: standard scores within each `width` ticks."""
    return log.select(z=(col.x - wb.mean(col.x).cell(width)) / wb.std(col.x).cell(width))


def imputed(log: Stream, width: int = 10_000) -> Stream:
    """Imputation: the mean of each `width` ticks where a value is null."""
    return log.select(z=col.x.cast("float64").fill_null(wb.mean(col.x).cell(width)))


def resampled(log: Stream) -> Stream:
    """Values at every 5 ticks, on the line between neighbours."""
    return log.select(z=col.x).resample(5, how="linear")


def pan_tompkins(log: Stream) -> Stream:
    """Pan and Tompkins (1985): low pass, high pass, derivative, square, mean of 30."""
    low = wb.sum(wb.sum(col.x.cast("float64")).past(6)).past(6)
    passed = low.ago(16) - wb.sum(low).past(32) / 32
    slope = (2 * passed + passed.ago(1) - passed.ago(3) - 2 * passed.ago(4)) / 8
    return log.select(z=wb.mean(slope * slope).past(30))


def moments(log: Stream, width: int | str = 100) -> Stream:
    """Vibration: kurtosis, root mean square and crest factor of each `width` ticks, or duration."""
    x = col.x.cast("float64")
    m, s2, s3, s4 = wb.mean(x), wb.sum(x * x), wb.sum(x * x * x), wb.sum(x * x * x * x)
    second, rms = s2 / wb.count() - m * m, (s2 / wb.count()).sqrt()
    fourth = (s4 - 4 * m * s3 + 6 * m * m * s2) / wb.count() - 3 * m * m * m * m
    return log.over_time(every=width, kurtosis=(fourth / (second * second)).cell(width), rms=rms.cell(width),
                         crest=(wb.max(abs(x)) / rms).cell(width))


def outliers(log: Stream, width: int = 10, deviations: float = 3.0) -> Stream:
    """More than three deviations above the mean of the `width` ticks before."""
    return log.where(col.x > (wb.mean(col.x) + deviations * wb.std(col.x)).past(width).ago(1))


def fraud(log: Stream, deviations: float = 3.0, key: str = "card") -> Stream:
    """The same of the ten payments of a card before."""
    limit = (wb.mean(col.x) + deviations * wb.std(col.x)).past(rows=10).previous()
    return log.group_by(key).where(col.x > limit)
