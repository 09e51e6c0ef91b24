"""Sums, over the blocks of a scan, of what each block adds to the states of groups, and of products of such sums."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def add_block(groups: Array, fields: Array, rows: Array, usual: float, width: int, blocks: Array, sums: Array,
              products: Array, crosses: Array, powers: Array) -> None:
    """Add blocks, in each of which every group has at most one row.

    `fields` holds `width` numbers for each row, one row after the other, and `rows` the size of its block; `sums` as
    many for each group; `products` of each group those of fields i <= j, row by row of the upper triangle; `crosses`
    those of each field and the size; `powers` the first four powers of each field, as it would be in a block of the
    usual size.
    """
    triangle = width * (width + 1) // 2
    for row in range(groups.shape[0]):
        group = np.int64(groups[row])
        size = rows[row]
        blocks[group] += 1
        at = group * triangle
        for left in range(width):
            value = fields[row * width + left]
            place = group * width + left
            sums[place] += value
            crosses[place] += value * size
            even = value * usual / size
            power = even
            for exponent in range(4):
                powers[place * 4 + exponent] += power
                power *= even
            for right in range(left, width):
                products[at] += value * fields[row * width + right]
                at += 1
