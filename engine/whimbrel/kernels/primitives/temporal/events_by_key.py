"""Gather the events of each key, from the oldest one that matters."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def link_events(base: int, ids: Array, previous: Array, last: Array) -> None:
    """Link new events to the one of their key before them.

    Parameters
    ----------
    base : int
        The slot of the first new event.
    ids : array of int
        Keys of the new events; negative: no key.
    previous : array of int64
        Per slot the slot of the event before.
    last : array of int64
        Per key the newest slot, -1 if there is none.
    """
    for row in range(ids.shape[0]):
        key = ids[row]
        if key >= 0:
            previous[base + row], last[key] = last[key], base + row


def gather_by_key(ids: Array, first: int, bound: int, size: int, starts: Array, ends: Array, previous: Array, back: int,
                  kept: int, dense: Array, heads: Array, begins: Array, marks: Array, slots: Array, at: Array) -> int:
    """Write the slots of the events of each key that has events in a range; return the number of keys.

    Events of a key lie together and in order. They begin with those that the events of the range may need.

    Parameters
    ----------
    ids, starts, ends, previous : array
        Per slot: key (negative: none), lifetime, and slot of the event of the key before it.
    first, bound : int
        The range of slots.
    size : int
        How many slots there are.
    back : int
        Events that ended so many ticks before the first event of the range do not matter, but the last `kept` of them.
    kept : int
    dense : array of int64
        For each key -1, and so again afterwards.
    heads : array of int64
        Work space, one entry for each key.
    begins : array of int64
        Where each key begins in `slots`; the last entry is the end of the last key.
    marks : array of int64
        Where each key begins in `at`; the last entry is the end of the last key.
    slots : array of int64
        The result; it ends where the array ends.
    at : array of int64
        Positions in `slots` of the events of the range.
    """
    keys = 0
    for slot in range(first, bound):
        key = ids[slot]
        if key >= 0:
            if dense[key] < 0:
                dense[key], heads[keys], begins[keys], marks[keys + 1] = keys, slot, 0, 0
                keys += 1
            marks[dense[key] + 1] += 1
    for slot in range(bound, size):
        if ids[slot] >= 0 and dense[ids[slot]] >= 0:
            begins[dense[ids[slot]]] += 1  # how many follow the range
    marks[0], position, begins[keys] = 0, slots.shape[0], slots.shape[0]
    for key in range(keys):
        marks[key + 1] += marks[key]
    for key in range(keys - 1, -1, -1):  # from the end, as the events of a key hang together backwards
        head, older = heads[key], 0
        position -= begins[key] + marks[key + 1] - marks[key]
        heads[key], horizon, slot = position, starts[head] - back, previous[head]
        while slot >= 0 and (ends[slot] > horizon or older < kept):
            older += ends[slot] <= horizon
            position -= 1
            slots[position], slot = slot, previous[slot]
        begins[key] = position
    for slot in range(first, size):
        if ids[slot] >= 0 and dense[ids[slot]] >= 0:
            key = dense[ids[slot]]
            slots[heads[key]] = slot
            if slot < bound:
                at[marks[key]] = heads[key]
                marks[key] += 1
            heads[key] += 1
    for slot in range(first, bound):
        if ids[slot] >= 0:
            dense[ids[slot]] = -1
    for key in range(keys, 0, -1):
        marks[key] = marks[key - 1]
    marks[0] = 0
    return keys


def gather_before(keys: Array, times: Array, ends: Array, previous: Array, last: Array, back: int, kept: int,
                  begins: Array, slots: Array) -> None:
    """Write the slots of all events of some keys, from the oldest one that matters at a time.

    Parameters
    ----------
    keys : array of int
    times : array of int64
        For each of these keys the first time that is looked up.
    ends, previous : array of int64
        Per slot: when the event ends, and the slot of the event of the key before it.
    last : array of int64
        Per key the newest slot.
    back, kept : int
        As in :func:`gather_by_key`.
    begins : array of int64
        Where each key begins in `slots`; the last entry is the end of the last key.
    slots : array of int64
        The result; it ends where the array ends.
    """
    position = begins[keys.shape[0]] = slots.shape[0]
    for at in range(keys.shape[0] - 1, -1, -1):
        slot, older = last[keys[at]], 0
        while slot >= 0 and (ends[slot] > times[at] - back or older < kept):
            older += ends[slot] <= times[at] - back
            position -= 1
            slots[position], slot = slot, previous[slot]
        begins[at] = position


def needed_events(ids: Array, ends: Array, horizon: int, kept: int, seen: Array, needed: Array) -> None:
    """Write which events end after a time, or are among the last `kept` of their key before it.

    Parameters
    ----------
    ids, ends : array
        Per slot.
    horizon, kept : int
    seen : array of int64
        Zeros, one for each key.
    needed : array of bool
        Per slot.
    """
    for slot in range(ids.shape[0] - 1, -1, -1):
        key = ids[slot]
        needed[slot] = ends[slot] > horizon or (key >= 0 and seen[key] < kept)
        if key >= 0 and ends[slot] <= horizon:
            seen[key] += 1


def mark_changed(ids: Array, starts: Array, ends: Array, late: Array, back: int, kept: int, left: Array, until: Array,
                 totals: Array, changed: Array) -> int:
    """Write which events may read a late one, and return how many.

    A late event is read until it ended `back` ticks ago and `kept` later events of its key did, too.

    Parameters
    ----------
    ids, starts, ends : array
        Of new events, in order: key (negative: none) and lifetime.
    late : array of bool
        Which of them are late; empty if none is.
    back, kept : int
    left, until : array of int64
        Per key: how many of the next events read a late one, and when the last event ends that others wait for.
    totals : array of int64
        For how many keys any are left, and the latest of `until`.
    changed : array of bool
        The result; late events of a key are among them.
    """
    count = 0
    for row in range(ids.shape[0]):
        changed[row] = False
        key = ids[row]
        if key < 0:
            continue
        here = late.shape[0] > 0 and late[row]
        if here:
            totals[0] += int(kept > 0) - int(left[key] > 0)
            left[key] = kept
        elif left[key] > 0:
            left[key] -= 1
            here = left[key] == 0
            totals[0] -= int(here)
        elif starts[row] - back >= until[key]:
            continue
        if here:
            until[key] = max(until[key], ends[row])
            totals[1] = max(totals[1], ends[row])
        changed[row] = True
        count += 1
    return count


def number_runs(changed: Array, first: int, starts: Array, ends: Array, previous: Array, back: int, kept: int,
                runs: Array) -> int:
    """Number the runs of changed events of a key that read each other's events; return how many there are.

    Events between two of one run belong to it. So no event is read by two runs of its key.

    Parameters
    ----------
    changed : array of bool
        For each slot from `first` on.
    first : int
    starts, ends, previous : array of int64
        Per slot: lifetime, and slot of the event of the key before it.
    back, kept : int
        As in :func:`gather_by_key`.
    runs : array of int32
        Per slot the number of its run, -1 where there is none. Only slots from `first` on are written.
    """
    count = 0
    for row in range(changed.shape[0]):
        slot = first + row
        runs[slot] = -1
        if not changed[row]:
            continue
        before, older, horizon = previous[slot], 0, starts[slot] - back
        while before >= first and runs[before] < 0 and (ends[before] > horizon or older < kept):
            older += ends[before] <= horizon
            before = previous[before]
        if before >= first and runs[before] >= 0 and (ends[before] > horizon or older < kept):
            runs[slot], between = runs[before], previous[slot]
            while between != before:
                runs[between], between = runs[slot], previous[between]
        else:
            runs[slot] = count
            count += 1
    return count
