"""Gather the events of each key, from the oldest one that matters."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def link_events(base: int, ids: Array, previous: Array, last: Array, number: Array, total: Array) -> None:
    """Link new events to the one of their key before them, and number the events of each key.

    Parameters
    ----------
    base : int
        The slot of the first new event.
    ids : array of int
        Keys of the new events; negative: no key.
    previous, number : array of int64
        Per slot: the slot of the event before, and the number of the event in its key.
    last, total : array of int64
        Per key: the newest slot, -1 if there is none, and the number of events so far.
    """
    for row in range(ids.shape[0]):
        key = ids[row]
        if key >= 0:
            previous[base + row], last[key] = last[key], base + row
            number[base + row], total[key] = total[key], total[key] + 1


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
