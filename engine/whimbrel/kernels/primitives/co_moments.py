"""Sums, over the blocks of a scan, of what each block adds to the states of groups, and of products of such sums."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def add_block(groups: Array, fields: Array, width: int, blocks: Array, sums: Array, products: Array,
              powers: Array) -> None:
    """Add one block, in which every group has at most one row.

    `fields` holds `width` numbers for each row, one row after the other; `sums` as many for each group; `products` of
    each group those of fields i <= j, row by row of the upper triangle; `powers` the third and the fourth power
    of each field.
    """
    triangle = width * (width + 1) // 2
    for row in range(groups.shape[0]):
        group = np.int64(groups[row])
        blocks[group] += 1
        at = group * triangle
        for left in range(width):
            value = fields[row * width + left]
            sums[group * width + left] += value
            powers[(group * width + left) * 2] += value * value * value
            powers[(group * width + left) * 2 + 1] += value * value * value * value
            for right in range(left, width):
                products[at] += value * fields[row * width + right]
                at += 1
