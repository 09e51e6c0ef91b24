"""Open-addressing hash table from int64 keys to dense ids, in one array so that a probe touches one cache line.

Slot s holds the key at ``table[2 s]`` and id + 1 at ``table[2 s + 1]``; 0 marks an empty slot, so every int64 is a
legal key. The number of slots is a power of two and at most half of them are used.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.prefetch import prefetch

Array = np.ndarray[Any, Any]


SOON = 16
"""Rows from the one at hand to the one whose place in a table, or whose group, is asked for."""

FAR = 1 << 16
"""Numbers in an array from which on what is looked for in it is seldom in the nearest caches."""


def slot_of(table: Array, key: int) -> Any:
    """Where to look for a key first.

    The first bits of the product say where: all bits of a key reach them, and keys that follow each other are spread
    evenly (Knuth, The Art of Computer Programming 3, 6.4). Floats that are whole numbers end in zeros.
    """
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((mixed >> np.uint64(32)) * np.uint64(table.shape[0] >> 1) >> np.uint64(32))


def find(table: Array, key: int) -> Any:
    """The id of a key, or -1 minus the slot where it belongs."""
    slots = table.shape[0] >> 1
    slot = slot_of(table, key)
    while True:
        held = table[2 * slot + 1]
        if held == 0:
            return -1 - slot
        if table[2 * slot] == key:
            return held - 1
        slot = (slot + 1) & (slots - 1)


def index(number: int) -> Any:
    """An id or position in a form that the compiler knows is not negative, which saves a test at every access."""
    return np.int64(np.uint32(number))


def lookup(table: Array, keys: Array, size: Array, values: Array, skip: Array, ids: Array, start: int) -> int:
    """Write the dense id of each value, giving new keys the next id; stop early when the table is full.

    Parameters
    ----------
    table : array of int64
        The table.
    keys : array of int64
        Key of each id; must have room for half as many as there are slots.
    size : array of int64, length 1
        How many ids are given.
    values : array of int64
        Keys to look up.
    skip : array of bool, length 0 or as `values`
        Rows to leave alone; their id becomes 0.
    ids : array of int32
        Where ids are written.
    start : int
        First row.

    Returns
    -------
    int
        The first row not done: ``len(values)``, or less when the table must grow first.
    """
    room = table.shape[0] >> 2
    asks = values.shape[0] - SOON if table.shape[0] > FAR else 0
    for row in range(start, values.shape[0]):
        if row < asks:
            prefetch(table, 2 * slot_of(table, values[row + SOON]))
        if skip.shape[0] and skip[row]:
            ids[row] = 0
            continue
        key = values[row]
        found = find(table, key)
        if found < 0:
            if size[0] >= room:
                return row
            slot = -1 - found
            found = size[0]
            table[2 * slot] = key
            table[2 * slot + 1] = found + 1
            keys[found] = key
            size[0] = found + 1
        ids[row] = found
    return values.shape[0]


def refill(table: Array, keys: Array, count: int, hidden: Array) -> None:
    """Put keys with ids 0 ... count - 1 into an empty table, but for the one id that has no key."""
    for position in range(count):
        prefetch(table, 2 * slot_of(table, keys[min(position + SOON, count - 1)]))
        if position == hidden[0]:
            continue
        slot = -1 - find(table, keys[position])
        table[2 * slot] = keys[position]
        table[2 * slot + 1] = position + 1
