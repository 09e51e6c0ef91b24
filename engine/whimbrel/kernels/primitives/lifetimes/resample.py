"""Find the samples next to points of a time grid, by key."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import uintp

from whimbrel.clock.ticks import INF

Array = np.ndarray[Any, Any]

HOLD, NEAREST, LINEAR = range(3)
"""Ways to find the value at a grid point."""

OPEN, READ, KEPT, LOWEST, USED, OVERLAP = range(6)
"""Positions in the array of scalars. OPEN counts the keys with a sample. A search for due points has read READ of them
and kept KEPT, and LOWEST is the first point that it left. USED counts the points that are written. OVERLAP is 1 if a
row starts before the last sample of its key has ended."""


def first_point(time: int, period: int, offset: int) -> int:
    """The first grid point that is not before a time."""
    return time + (offset - time) % period


def resample_rows(row: int, ids: Array, sync: Array, ends: Array, lasts: int, base: int, how: int, period: int,
                  offset: int, limit: int, last: Array, ended: Array, following: Array, held: Array, keys: Array,
                  scalars: Array, time: Array, left: Array, right: Array, age: Array, apart: Array) -> int:
    """Take in samples from a row on, and write the grid points up to each.

    Parameters
    ----------
    row : int
    ids, sync, ends : array of int
        The key, the start and the end of each sample; all last `lasts` ticks if `ends` is empty.
    base : int
        Position of the first of these rows in the pool of samples.
    how, period, offset, limit : int
        Most ticks between a sample and a point; negative: any number.
    last, ended, following, held : array of int64
        For each key: start and end of its last sample, its next grid point, and where in the pool that sample is. A
        position of -1 says that no point needs it.
    keys : array of int64
        The keys with a sample, of which there are ``scalars[OPEN]``.
    time, left, right, age, apart : array of int64
        Out: grid points and the sample of each. For lines also the sample after it (-1: none), and ticks from the first
        sample to the point and to the second one.

    Returns
    -------
    int
        The row to resume with when the buffers are free, or how many there are. With ``scalars[OVERLAP]`` that row is
        wrong.
    """
    used, capacity = scalars[USED], len(time)
    while row < len(sync):
        key, now, mine = ids[row], sync[row], base + row
        if now < ended[key]:
            scalars[OVERLAP] = 1
            break
        point, before = following[key], held[key]
        if before < 0:
            since = now - limit if how == NEAREST and limit >= 0 else now
            point = max(point, first_point(since, period, offset))
        while point <= now and used < capacity:
            low, high, old, whole = mine, mine, 0, 1
            if point < now and before >= 0:
                old, ahead = point - last[key], now - point
                later = how == NEAREST and ahead < old
                if 0 <= limit < (ahead if later else old):
                    point = first_point(now - limit if how == NEAREST else now, period, offset)
                    continue
                if how == LINEAR:
                    low, whole = before, old + ahead
                    high = mine if limit < 0 or whole <= limit else -1
                elif not later:
                    low = high = before
            time[used], left[used] = point, low
            if how == LINEAR:
                right[used], age[used], apart[used] = high, old, whole
            used += 1
            point += period
        following[key] = point
        if point <= now:
            break
        if before < 0:
            keys[scalars[OPEN]] = key
            scalars[OPEN] += 1
        last[key], held[key] = now, mine
        ended[key] = ends[row] if len(ends) > 0 else now + lasts
        row += 1
    scalars[USED] = used
    return row


def resample_one(row: int, sync: Array, ends: Array, lasts: int, base: int, how: int, period: int, offset: int,
                 limit: int, last: Array, ended: Array, following: Array, held: Array, keys: Array, scalars: Array,
                 time: Array, left: Array, right: Array, age: Array, apart: Array) -> int:
    """Do the same as :func:`resample_rows` for samples of one key, whose state stays in registers; not for NEAREST."""
    began, end, point, before = last[0], ended[0], following[0], held[0]
    used, capacity, rows = scalars[USED], len(time), len(sync)
    while row < rows:
        now = sync[uintp(row)]
        if now < end:
            scalars[OVERLAP] = 1
            break
        if before < 0:
            point = max(point, first_point(now, period, offset))
        if point <= now:
            whole, high = now - began, base + row
            if 0 <= limit < whole and how == LINEAR:
                high = -1
            while point < now and used < capacity:
                if 0 <= limit < point - began:  # too old
                    point = first_point(now, period, offset)
                    break
                time[uintp(used)], left[uintp(used)] = point, before
                if how == LINEAR:
                    right[uintp(used)], age[uintp(used)], apart[uintp(used)] = high, point - began, whole
                used += 1
                point += period
            if point == now and used < capacity:
                time[uintp(used)], left[uintp(used)] = point, base + row
                if how == LINEAR:
                    right[uintp(used)], age[uintp(used)], apart[uintp(used)] = base + row, 0, 1
                used += 1
                point += period
            if point <= now:
                break
        if before < 0:
            keys[scalars[OPEN]] = 0
            scalars[OPEN] += 1
        began, before = now, base + row
        end = ends[uintp(row)] if len(ends) > 0 else now + lasts
        row += 1
    last[0], ended[0], following[0], held[0] = began, end, point, before
    scalars[USED] = used
    return row


def due_points(until: int, how: int, period: int, limit: int, last: Array, following: Array, held: Array, keys: Array,
               scalars: Array, time: Array, left: Array, right: Array, age: Array, apart: Array) -> bool:
    """Write the grid points of all keys whose value no sample from a time on can change; False if a buffer was full.

    Keys whose last sample is too old for any further point are left out of `keys`.
    """
    used, capacity = scalars[USED], len(time)
    read, kept = scalars[READ], scalars[KEPT]
    if read == 0:
        scalars[LOWEST] = INF
    full = False
    while read < scalars[OPEN] and not full:
        key = keys[read]
        point, end = following[key], INF if limit < 0 else last[key] + limit
        while limit >= 0 and point <= end:
            decided = point if how == HOLD else end if how == LINEAR else point + (point - last[key]) - 1
            if until <= decided:
                break
            if used == capacity:
                full = True
                break
            time[used], left[used] = point, held[key]
            if how == LINEAR:
                right[used], age[used], apart[used] = -1, 0, 1
            used += 1
            point += period
        following[key] = point
        if full:
            break
        read += 1
        if point > end or until == INF:
            held[key] = -1
            continue
        keys[kept] = key
        kept += 1
        scalars[LOWEST] = min(scalars[LOWEST], point)
    scalars[USED] = used
    scalars[READ], scalars[KEPT] = read, kept
    if full:
        return False
    scalars[OPEN], scalars[READ], scalars[KEPT] = kept, 0, 0
    return True


def on_line(values: Array, left: Array, right: Array, age: Array, apart: Array, out: Array) -> None:
    """Values on the lines between two values each; from a number to an infinity it is that infinity.

    Parameters
    ----------
    values : array
    left, right, age, apart : array of int64
        As in :func:`resample_rows`. Where there is no right one, the value does not matter.
    out : array of float
    """
    for row in range(len(out)):
        part, whole = age[row], apart[row]
        one, other = np.float64(values[left[row]]), np.float64(values[max(right[row], 0)])
        if part == 0 or one == other:
            out[row] = one
        elif abs(other - one) < np.inf:
            out[row] = one + (other - one) * (part / whole)
        else:  # the difference is more than any float
            out[row] = one * ((whole - part) / whole) + other * (part / whole)
