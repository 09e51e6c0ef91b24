"""Sums and co-moments of block contributions to group states."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


_SPARSE = 8
"""Groups for each row, from which on looking at all of them takes longer than to go to and fro."""


def add_block(groups: Array, fields: Array, rows: Array, usual: float, width: int, blocks: Array, sums: Array,
              products: Array, crosses: Array, powers: Array) -> None:
    """Add blocks, in each of which every group has at most one row.

    Groups are processed in order, each with all its rows, unless few of them have rows. Their state is far larger than
    the rows, and memory is read fastest from one end to the other.

    `fields` has, field by field, a number for each row, and `rows` the size of its block. `sums` has `width` numbers
    for each group. `products` has, for each group, those of fields i <= j, by rows of the upper triangle. `crosses` has
    those of each field and the size. `powers` has the first four powers of each field, scaled to the usual block size.
    """
    count = groups.shape[0]
    if count * _SPARSE < blocks.shape[0]:
        for row in range(count):
            _add(row, int(groups[row]), fields, rows, usual, width, blocks, sums, products, crosses, powers)
        return
    first = np.full(blocks.shape[0], -1)  # the first row of each group, and of each row the next one of its group
    following = np.empty(count, np.int64)
    for row in range(count - 1, -1, -1):
        following[row] = first[groups[row]]
        first[groups[row]] = row
    for group in range(first.shape[0]):
        row = first[group]
        while row >= 0:
            _add(row, group, fields, rows, usual, width, blocks, sums, products, crosses, powers)
            row = following[row]


def _add(row: Any, group: Any, fields: Array, rows: Array, usual: float, width: Any, blocks: Array, sums: Array,
         products: Array, crosses: Array, powers: Array) -> None:
    # Indices that may be negative would cost a fourth more.
    row, group, width, count = np.uint64(row), np.uint64(group), np.uint64(width), np.uint64(rows.shape[0])
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    size = rows[row]
    blocks[group] += 1
    at = group * (width * (width + one) // two)
    for left in range(width):
        value = fields[left * count + row]
        if value == 0:  # nothing is added anywhere
            at += width - left
            continue
        cell = group * width + left
        sums[cell] += value
        crosses[cell] += value * size
        even = value * usual / size
        square = even * even
        cell *= four
        powers[cell] += even
        powers[cell + one] += square
        powers[cell + two] += square * even
        powers[cell + three] += square * square
        for right in range(left, width):
            products[at] += value * fields[right * count + row]
            at += one
