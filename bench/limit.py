"""The limit: hand-written single-pass loops that do one job and nothing else. Each stands beside ours as the roof."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pyarrow as pa

Array = np.ndarray[Any, Any]


def table(names: tuple[str, ...], columns: tuple[Array, ...]) -> pa.Table:
    """What a loop wrote, as a table."""
    return pa.table(dict(zip(names, columns, strict=True)))


def filtered(time: Array, user: Array, value: Array, below: float) -> pa.Table:
    """Rows with a value below a bound."""
    return table(("start", "end", "user", "value"), _filtered(time, user, value, below))


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _filtered(time: Array, user: Array, value: Array, below: float) -> tuple[Array, ...]:
    rows = len(time)
    start, end, who, what = np.empty(rows, np.int64), np.empty(rows, np.int64), np.empty(rows, np.int64), np.empty(rows)
    done = 0
    for row in range(rows):  # without a branch that cannot be foreseen
        start[done], end[done], who[done], what[done] = time[row], time[row] + 1, user[row], value[row]
        done += value[row] < below
    return start[:done], end[:done], who[:done], what[:done]


def projected(time: Array, user: Array, value: Array) -> pa.Table:
    """One column as it is, and one computed."""
    end, twice = _projected(time, value)
    return table(("start", "end", "user", "twice"), (time, end, user, twice))


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _projected(time: Array, value: Array) -> tuple[Array, Array]:
    end, twice = np.empty(len(time), np.int64), np.empty(len(time))
    for row in range(len(time)):
        end[row], twice[row] = time[row] + 1, value[row] * 2
    return end, twice


def lasting(time: Array, user: Array, value: Array, ticks: int) -> pa.Table:
    """Each event lasts so long."""
    return table(("start", "end", "user", "value"), (time, _later(time, ticks), user, value))


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _later(time: Array, ticks: int) -> Array:
    end = np.empty(len(time), np.int64)
    for row in range(len(time)):
        end[row] = time[row] + ticks
    return end


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def grouped_tumbling(time: Array, key: Array, value: Array, size: int, groups: int) -> tuple[Array, ...]:
    """Count and sum per key and tumbling window over rows in time order.

    It knows beforehand how many keys and windows there are, that no key is -1 and nothing is null, and sizes its table
    and its output for exactly that.
    """
    slots = 2
    while slots < 2 * groups:
        slots *= 2
    table_key = np.full(slots, -1, np.int64)
    table_id = np.zeros(slots, np.int32)
    keys = np.zeros(groups, np.int64)
    counts, sums = np.zeros(groups, np.int64), np.zeros(groups)
    windows = (time[-1] // size) - (time[0] // size) + 1
    room = min(windows * groups, len(time))
    out = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room)
    used = done = 0
    end = (time[0] // size + 1) * size
    for row in range(len(time)):
        if time[row] >= end:
            done = _flush(end - size, used, keys, counts, sums, out, done)
            end = (time[row] // size + 1) * size
        mixed = np.uint64(key[row]) * np.uint64(0x9E3779B97F4A7C15)
        slot = np.int64((mixed >> np.uint64(32)) * np.uint64(slots) >> np.uint64(32))
        while table_key[slot] != key[row]:
            if table_key[slot] == -1:
                table_key[slot], table_id[slot], keys[used] = key[row], used, key[row]
                used += 1
                break
            slot = (slot + 1) & (slots - 1)
        group = table_id[slot]
        counts[group] += 1
        sums[group] += value[row]
    done = _flush(end - size, used, keys, counts, sums, out, done)
    return out[0][:done], out[1][:done], out[2][:done], out[3][:done]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _flush(start: int, used: int, keys: Array, counts: Array, sums: Array,
           out: tuple[Array, Array, Array, Array], done: int) -> int:
    for group in range(used):
        if counts[group]:
            out[0][done], out[1][done], out[2][done], out[3][done] = start, keys[group], counts[group], sums[group]
            counts[group], sums[group] = 0, 0.0
            done += 1
    return done
