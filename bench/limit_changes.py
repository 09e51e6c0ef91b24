"""Limit loops that step from change to change: a loop by hand for each expression of bench E.

Events may be as far apart as they like: no loop visits a tick at which nothing changes. Values are taken at the starts
of events, unless a loop returns starts of its own.
"""

from __future__ import annotations

import math

import numpy as np

from bench.limit_periodic import Array, compiled


@compiled  # type: ignore[untyped-decorator]
def sums(at: Array, x: Array, width: int) -> Array:
    """Sum of the values of the last `width` ticks."""
    out, total, oldest = np.empty(len(x)), 0.0, 0
    for row in range(len(x)):
        total += x[row]
        while at[oldest] <= at[row] - width:
            total -= x[oldest]
            oldest += 1
        out[row] = total
    return out


@compiled  # type: ignore[untyped-decorator]
def means(at: Array, x: Array, width: int) -> Array:
    """Mean of the values of the last `width` ticks."""
    out, total, oldest = np.empty(len(x)), 0.0, 0
    for row in range(len(x)):
        total += x[row]
        while at[oldest] <= at[row] - width:
            total -= x[oldest]
            oldest += 1
        out[row] = total / (row + 1 - oldest)
    return out


@compiled  # type: ignore[untyped-decorator]
def maxima(at: Array, x: Array, width: int) -> Array:
    """Maximum of the values of the last `width` ticks, from a queue of values that fall (Lemire, 2006)."""
    out = np.empty_like(x)
    queue, first, stop = np.empty(len(x), np.int64), 0, 0
    for row in range(len(x)):
        while stop > first and x[queue[stop - 1]] <= x[row]:
            stop -= 1
        queue[stop] = row
        stop += 1
        while at[queue[first]] <= at[row] - width:
            first += 1
        out[row] = x[queue[first]]
    return out


@compiled  # type: ignore[untyped-decorator]
def rising(at: Array, x: Array, short: int, long: int) -> tuple[Array, Array]:
    """Events at which the mean of the last `short` ticks is above that of the last `long` ticks."""
    start, out, done = np.empty_like(at), np.empty_like(x), 0
    one, other, newer, older = 0.0, 0.0, 0, 0
    for row in range(len(x)):
        one += x[row]
        other += x[row]
        while at[newer] <= at[row] - short:
            one -= x[newer]
            newer += 1
        while at[older] <= at[row] - long:
            other -= x[older]
            older += 1
        start[done], out[done] = at[row], x[row]
        done += one / (row + 1 - newer) > other / (row + 1 - older)
    return start[:done], out[:done]


@compiled  # type: ignore[untyped-decorator]
def steps(x: Array) -> Array:
    """Value less the one before; nan for the first."""
    out = np.empty(len(x))
    out[0] = math.nan
    for row in range(1, len(x)):
        out[row] = np.float64(x[row]) - x[row - 1]
    return out


@compiled  # type: ignore[untyped-decorator]
def steps_since(at: Array, x: Array, back: int) -> Array:
    """Value less the one at `back` ticks earlier; nan where no event is then."""
    out, oldest = np.empty(len(x)), 0
    for row in range(len(x)):
        while at[oldest] < at[row] - back:
            oldest += 1
        out[row] = np.float64(x[row]) - x[oldest] if at[oldest] == at[row] - back else math.nan
    return out


@compiled  # type: ignore[untyped-decorator]
def totals(x: Array, above: float) -> Array:
    """Sum of the values since the last one above a threshold, which begins the sum."""
    out, total = np.empty(len(x)), 0.0
    for row in range(len(x)):
        total = x[row] + (0.0 if x[row] > above else total)
        out[row] = total
    return out


@compiled  # type: ignore[untyped-decorator]
def decayed(at: Array, x: Array, halflife: float) -> Array:
    """Exponentially weighted mean, whose weights fall with time."""
    out, mean = np.empty(len(x)), np.float64(x[0])
    for row in range(len(x)):
        if row:
            mean += (1.0 - 2.0 ** (-(at[row] - at[row - 1]) / halflife)) * (x[row] - mean)
        out[row] = mean
    return out


@compiled  # type: ignore[untyped-decorator]
def outliers_of_cards(at: Array, card: Array, x: Array, cards: int, rows: int,
                      deviations: float) -> tuple[Array, Array]:
    """Events that are so many standard deviations (n - 1) above the mean of the last `rows` of their card.

    Each card has a ring of its last values.
    """
    start, out, done = np.empty_like(at), np.empty_like(x), 0
    ring, seen = np.zeros((cards, rows)), np.zeros(cards, np.int64)
    total, squares = np.zeros(cards), np.zeros(cards)
    for row in range(len(x)):
        key, value = card[row], np.float64(x[row])
        count = min(seen[key], rows)
        if count > 1:
            mean = total[key] / count
            spread = max(squares[key] - total[key] * mean, 0.0) / (count - 1)
            start[done], out[done] = at[row], x[row]
            done += value > mean + deviations * math.sqrt(spread)
        place = seen[key] % rows
        leaving = ring[key, place]
        total[key] += value - leaving
        squares[key] += value * value - leaving * leaving
        ring[key, place] = value
        seen[key] += 1
    return start[:done], out[:done]


@compiled  # type: ignore[untyped-decorator]
def changes(start: Array, end: Array, x: Array, back: int) -> tuple[Array, Array]:
    """A function less itself `back` ticks earlier, wherever one of the two changes; nan where one has no value.

    `start` and `end` are of events that last, none of which overlap.
    """
    rows = len(x)
    at, out, done = np.empty(4 * rows, np.int64), np.empty(4 * rows), 0
    new, old = 0, 0
    now = start[0]
    while old < rows:
        here = new < rows and start[new] <= now
        there = start[old] + back <= now
        if here or there:
            at[done] = now
            out[done] = np.float64(x[new]) - x[old] if here and there else math.nan
            done += 1
        following = end[old] + back if there else start[old] + back
        if new < rows:
            following = min(following, end[new] if here else start[new])
        now = following
        if new < rows and end[new] <= now:
            new += 1
        if end[old] + back <= now:
            old += 1
    return at[:done], out[:done]


@compiled  # type: ignore[untyped-decorator]
def maxima_of_levels(start: Array, end: Array, x: Array, width: int) -> tuple[Array, Array]:
    """Maximum of the events that touch the last `width` ticks, wherever one begins or leaves."""
    rows = len(x)
    at, out, done = np.empty(2 * rows, np.int64), np.empty(2 * rows, x.dtype), 0
    queue, first, stop, entering, leaving = np.empty(rows, np.int64), 0, 0, 0, 0
    while leaving < rows:
        now = end[leaving] + width - 1
        if entering < rows:
            now = min(now, start[entering])
        while leaving < rows and end[leaving] + width - 1 == now:
            leaving += 1
        while entering < rows and start[entering] == now:
            while stop > first and x[queue[stop - 1]] <= x[entering]:
                stop -= 1
            queue[stop] = entering
            stop += 1
            entering += 1
        while first < stop and queue[first] < leaving:
            first += 1
        if first < stop:
            at[done], out[done] = now, x[queue[first]]
            done += 1
    return at[:done], out[:done]


@compiled  # type: ignore[untyped-decorator]
def sums_of_changes(at: Array, x: Array, width: int) -> tuple[Array, Array]:
    """Sum of the values of the last `width` ticks, wherever one of them begins or leaves, as long as there is one."""
    rows = len(x)
    start, out, done = np.empty(2 * rows, np.int64), np.empty(2 * rows), 0
    total, entering, leaving = 0.0, 0, 0
    while leaving < rows:
        now = at[leaving] + width
        if entering < rows:
            now = min(now, at[entering])
        if at[leaving] + width == now:
            total -= x[leaving]
            leaving += 1
        if entering < rows and at[entering] == now:
            total += x[entering]
            entering += 1
        if leaving < entering:
            start[done], out[done] = now, total
            done += 1
    return start[:done], out[:done]


@compiled  # type: ignore[untyped-decorator]
def sums_at_multiples(at: Array, x: Array, width: int, every: int) -> tuple[Array, Array]:
    """Sum of the values of the last `width` ticks, at each multiple of `every` at which there is one."""
    first = -(-at[0] // every) * every
    rows = (at[-1] + width - first) // every + 1
    start, out, done = np.empty(rows, np.int64), np.empty(rows), 0
    total, entering, leaving = 0.0, 0, 0
    for number in range(rows):
        now = first + number * every
        while entering < len(x) and at[entering] <= now:
            total += x[entering]
            entering += 1
        while leaving < entering and at[leaving] + width <= now:
            total -= x[leaving]
            leaving += 1
        if leaving < entering:
            start[done], out[done] = now, total
            done += 1
    return start[:done], out[:done]


@compiled  # type: ignore[untyped-decorator]
def means_of_levels(start: Array, end: Array, x: Array, width: int, every: int) -> tuple[Array, Array]:
    """Mean over the last `width` ticks, weighted by duration, at each multiple of `every` at which there is one."""
    first = -(-start[0] // every) * every
    rows = (end[-1] + width - first) // every + 1
    at, out, done = np.empty(rows, np.int64), np.empty(rows), 0
    total, ticks, entering, leaving = 0.0, 0, 0, 0
    for number in range(rows):
        now = first + number * every
        while entering < len(x) and end[entering] <= now + 1:  # all of it is before the end of the window
            total += np.float64(x[entering]) * (end[entering] - start[entering])
            ticks += end[entering] - start[entering]
            entering += 1
        while leaving < entering and end[leaving] <= now + 1 - width:
            total -= np.float64(x[leaving]) * (end[leaving] - start[leaving])
            ticks -= end[leaving] - start[leaving]
            leaving += 1
        weighted, long = total, ticks
        if leaving < entering and start[leaving] < now + 1 - width:
            outside = now + 1 - width - start[leaving]
            weighted, long = weighted - np.float64(x[leaving]) * outside, long - outside
        if entering < len(x) and start[entering] <= now:
            inside = now + 1 - max(start[entering], now + 1 - width)
            weighted, long = weighted + np.float64(x[entering]) * inside, long + inside
        if long > 0:
            at[done], out[done] = now, weighted / long
            done += 1
    return at[:done], out[:done]


@compiled  # type: ignore[untyped-decorator]
def sums_of_cards(at: Array, card: Array, x: Array, cards: int, width: int) -> Array:
    """Sum of the values of the last `width` ticks of the same card, which has a list of its rows."""
    out, total = np.empty(len(x)), np.zeros(cards)
    following, newest, oldest = np.empty(len(x), np.int64), np.full(cards, -1), np.empty(cards, np.int64)
    for row in range(len(x)):
        key = card[row]
        if newest[key] < 0:
            oldest[key] = row
        else:
            following[newest[key]] = row
        newest[key] = row
        total[key] += x[row]
        while at[oldest[key]] <= at[row] - width:
            total[key] -= x[oldest[key]]
            oldest[key] = following[oldest[key]]
        out[row] = total[key]
    return out
