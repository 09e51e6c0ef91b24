"""The limit: hand-written single-pass loops that do one job and nothing else. Each is the roof for ours."""

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


def hopping_count(time: Array, size: int, hop: int) -> pa.Table:
    """Rows of each window of whole hops over rows in time order, of windows that begin no later than the last row."""
    return table(("start", "rows"), _hopping_count(time, size, hop))


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _hopping_count(time: Array, size: int, hop: int) -> tuple[Array, Array]:
    first, panes = time[0] // hop, time[-1] // hop - time[0] // hop + 1
    counts = np.zeros(panes, np.int64)
    pane, begun, end = 0, 0, (first + 1) * hop
    for row in range(len(time)):
        if time[row] >= end:
            counts[pane] = row - begun
            pane, begun, end = time[row] // hop - first, row, (time[row] // hop + 1) * hop
    counts[pane] = len(time) - begun
    start, rows = np.empty(panes, np.int64), np.empty(panes, np.int64)
    held = 0
    for pane in range(panes):
        held += counts[pane]
        if pane >= size // hop:
            held -= counts[pane - size // hop]
        start[pane], rows[pane] = (first + pane) * hop, held
    return start, rows


def grouped_hopping(time: Array, key: Array, value: Array, size: int, hop: int, groups: int) -> pa.Table:
    """Sum per key and window of whole hops over rows in time order."""
    return table(("start", "query", "total"), _grouped_hopping(time, key, value, size, hop, groups))


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _grouped_hopping(time: Array, key: Array, value: Array, size: int, hop: int, groups: int) -> tuple[Array, ...]:
    """It knows how many keys there are, and takes panes back from sums, which drift; keys of a window lie together."""
    slots = 2
    while slots < 2 * groups:
        slots *= 2
    table_key, table_id = np.full(slots, -1, np.int64), np.zeros(slots, np.int32)
    used = live = entries = done = gone = 0
    seat_of, entry_of = np.full(groups, -1, np.int32), np.full(groups, -1, np.int32)
    seat_id, seat_key = np.zeros(groups, np.int32), np.zeros(groups, np.int64)
    panes_of, totals = np.zeros(groups, np.int32), np.zeros(groups)
    entry_id, entry_at, sums = np.empty(len(time), np.int32), np.empty(len(time), np.int64), np.empty(len(time))
    room = len(time) * (size // hop)
    start, who, total = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room)
    at, row, begun = time[0] // hop * hop, 0, 0
    while row < len(time) or live > 0:
        while row < len(time) and time[row] < at + hop:
            group = _id_of(key[row], table_key, table_id, used)
            used += group == used
            if entry_of[group] < begun:
                entry_of[group], entry_id[entries], entry_at[entries], sums[entries] = entries, group, at, 0.0
                entries += 1
                if seat_of[group] < 0:
                    seat_of[group], seat_id[live], seat_key[live], totals[live] = live, group, key[row], 0.0
                    live += 1
                panes_of[seat_of[group]] += 1
            sums[entry_of[group]] += value[row]
            row += 1
        for entry in range(begun, entries):
            totals[seat_of[entry_id[entry]]] += sums[entry]
        begun = entries
        for seat in range(live):
            start[done], who[done], total[done] = at, seat_key[seat], totals[seat]
            done += 1
        at += hop
        while gone < entries and entry_at[gone] + size <= at:
            seat = seat_of[entry_id[gone]]
            totals[seat] -= sums[gone]
            panes_of[seat] -= 1
            if panes_of[seat] == 0:  # the last one takes the seat
                live -= 1
                seat_of[seat_id[seat]] = -1
                if seat < live:
                    seat_id[seat], seat_key[seat] = seat_id[live], seat_key[live]
                    panes_of[seat], totals[seat] = panes_of[live], totals[live]
                    seat_of[seat_id[seat]] = seat
                panes_of[live] = 0
            gone += 1
        if live == 0 and row < len(time):
            at = time[row] // hop * hop
    return start[:done], who[:done], total[:done]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _id_of(key: int, table_key: Array, table_id: Array, used: int) -> int:
    """The id of a key, which is the next one if it is new."""
    slots = len(table_key)
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64((mixed >> np.uint64(32)) * np.uint64(slots) >> np.uint64(32))
    while table_key[slot] != key:
        if table_key[slot] == -1:
            table_key[slot], table_id[slot] = key, used
            break
        slot = (slot + 1) & (slots - 1)
    return int(table_id[slot])


def joined_within(time: Array, user: Array, kind: Array, ticks: int) -> pa.Table:
    """Each A (kind 0) with the B (kind 1) of the same user that come no later than so many ticks, over rows by time."""
    return table(("start", "end", "user", "a", "b"), _joined_within(time, user, kind, ticks))


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _joined_within(time: Array, user: Array, kind: Array, ticks: int) -> tuple[Array, ...]:
    """Users are small numbers, each with a chain of its A, the newest first; how many pairs there are is counted."""
    last, before = np.full(user.max() + 1, -1, np.int32), np.empty((kind == 0).sum(), np.int32)
    held, since = np.zeros(len(last), np.int64), np.empty(len(before), np.int64)
    first = np.empty((kind == 1).sum(), np.int32)
    at, who = np.empty(len(first), np.int64), np.empty(len(first), np.int64)
    left = right = most = 0
    for row in range(len(time)):
        if kind[row] == 0:
            since[left], before[left], last[user[row]] = time[row], last[user[row]], left
            held[user[row]] += 1
            left += 1
        elif kind[row] == 1:
            at[right], who[right], first[right] = time[row], user[row], last[user[row]]
            most += held[user[row]]
            right += 1
    start, end, key, a, b = (np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64),
                             np.empty(most, np.int64), np.empty(most, np.int64))
    done = 0
    for row in range(right):
        other = first[row]
        while other >= 0 and since[other] > at[row] - ticks:
            start[done], end[done], key[done], a[done], b[done] = at[row], at[row] + 1, who[row], since[other], at[row]
            done += 1
            other = before[other]
    return start[:done], end[:done], key[:done], a[:done], b[:done]


def cells(time: Array, major: Array, minor: Array, value: Array, window: int, majors: int, minors: int) -> pa.Table:
    """Count and sum of each window, major and minor key, of which it is known how many there are."""
    return table(("start", "major", "minor", "n", "total"), _cells(time, major, minor, value, window, majors, minors))


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _cells(time: Array, major: Array, minor: Array, value: Array, window: int, majors: int,
           minors: int) -> tuple[Array, ...]:
    size = majors * minors
    windows = (time[-1] - time[0]) // window + 2
    most = min(len(time), windows * size)
    out = [np.empty(most, np.int64) for _ in range(5)]
    n, total = np.zeros(size, np.int64), np.zeros(size, np.int64)
    done, row = 0, 0
    while row < len(time):
        begin = time[row] // window * window
        while row < len(time) and time[row] < begin + window:
            cell = major[row] * minors + minor[row]
            n[cell] += 1
            total[cell] += value[row]
            row += 1
        for cell in range(size):
            if n[cell]:
                out[0][done], out[1][done], out[2][done] = begin, cell // minors, cell % minors
                out[3][done], out[4][done] = n[cell], total[cell]
                n[cell] = total[cell] = 0
                done += 1
    return out[0][:done], out[1][:done], out[2][:done], out[3][:done], out[4][:done]
