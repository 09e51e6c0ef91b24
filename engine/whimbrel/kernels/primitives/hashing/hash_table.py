"""Hash tables from int64 keys to dense ids.

``direct[key]`` is id + 1 of each key from 0 to its length (a direct-address table, Cormen et al., Introduction to
Algorithms, 11.1): numbers that were given out one after the other, codes, categories. All other
int64 keys are in an open-addressing table. Keys and ids are in one array, so that a probe touches one cache line:
slot s has the key at ``table[2 s]`` and id + 1 at ``table[2 s + 1]``. 0 marks a place or a slot that is free. The
number of slots is a power of two, and there are at most half as many keys.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.hashing.prefetch import prefetch

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


def find(direct: Array, table: Array, key: int) -> Any:
    """The id of a key, or -1."""
    entry = np.uint64(key)  # one test says that it is neither negative nor too large: two cost ten times as much here
    return np.int64(direct[entry]) - 1 if entry < np.uint64(direct.shape[0]) else _hashed(table, key)


def _hashed(table: Array, key: int) -> Any:
    slot = slot_of(table, key)
    while True:
        held = table[2 * slot + 1]
        if held == 0:
            return -1
        if table[2 * slot] == key:
            return held - 1
        slot = (slot + 1) & ((table.shape[0] >> 1) - 1)


def enter(direct: Array, table: Array, key: int, number: int) -> None:
    """Put a key in that has this id and is not there."""
    entry = np.uint64(key)
    if entry < np.uint64(direct.shape[0]):
        direct[entry] = number + 1
    else:
        slot = slot_of(table, key)
        while table[2 * slot + 1] != 0:
            slot = (slot + 1) & ((table.shape[0] >> 1) - 1)
        table[2 * slot], table[2 * slot + 1] = key, number + 1


def learn(direct: Array, table: Array, keys: Array, size: Array, key: int) -> Any:
    """Give a new key the next id; `keys` must have a free entry."""
    number = size[0]
    enter(direct, table, key, number)
    keys[number], size[0] = key, number + 1
    return number


def ask_for(direct: Array, table: Array, key: int) -> None:
    """Ask for the memory in which a key is looked for first."""
    entry = np.uint64(key)
    if entry < np.uint64(direct.shape[0]):
        prefetch(direct, key)
    else:
        prefetch(table, 2 * slot_of(table, key))


def index(number: int) -> Any:
    """An id or position in a form that the compiler knows is not negative, which saves a test at every access."""
    return np.int64(np.uint32(number))


def lookup(direct: Array, table: Array, keys: Array, size: Array, values: Array, skip: Array, ids: Array,
           start: int) -> int:
    """Write the dense id of each value, giving new keys the next id; stop early when the table is full.

    Parameters
    ----------
    direct : array of int32
    table : array of int64
        The tables.
    keys : array of int64
        Key of each id, for as many as there may be.
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
    asks = values.shape[0] - SOON if table.shape[0] > FAR else 0
    for row in range(start, values.shape[0]):
        if row < asks:
            ask_for(direct, table, values[row + SOON])
        if skip.shape[0] and skip[row]:
            ids[row] = 0
            continue
        found = find(direct, table, values[row])
        if found < 0:
            if size[0] >= keys.shape[0]:
                return row
            found = learn(direct, table, keys, size, values[row])
        ids[row] = found
    return values.shape[0]


def refill(direct: Array, table: Array, keys: Array, count: int, hidden: Array) -> None:
    """Put keys with ids 0 ... count - 1 into empty tables, but for the one id that has no key."""
    for position in range(count):
        ask_for(direct, table, keys[min(position + SOON, count - 1)])
        if position != hidden[0]:
            enter(direct, table, keys[position], position)
