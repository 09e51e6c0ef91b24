"""Group the numbers of rows by key.

The result has free entries before each key for earlier rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def group_rows_by_key(ids: Array, before: int, number: Array, found: Array, begins: Array, positions: Array,
                      rows: Array) -> int:
    """Write the position of each row and the row of each position; return the number of keys.

    Keys are numbered as they come.

    Parameters
    ----------
    ids : array of int
        The key of each row.
    before : int
        The number of free entries before the first row of each key.
    number : array of int64
        For each key -1, and so again afterwards.
    found : array of int64
        The keys that there are.
    begins : array of int64
        Where the range of each key starts; the last entry is the end of the last range.
    positions : array of int64
        Where each row goes to.
    rows : array of int64
        The row at each position; undefined for free entries.
    """
    keys = 0
    for row in range(ids.shape[0]):
        key = ids[row]
        if number[key] < 0:
            number[key], found[keys], begins[keys + 1] = keys, key, before
            keys += 1
        begins[number[key] + 1] += 1
    begins[0] = 0
    for at in range(keys):
        begins[at + 1] += begins[at]
        number[found[at]] = begins[at] + before
    for row in range(ids.shape[0]):
        position = number[ids[row]]
        positions[row], rows[position], number[ids[row]] = position, row, position + 1
    for at in range(keys):
        number[found[at]] = -1
    return keys
