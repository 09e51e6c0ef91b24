"""Longest prefix of addresses, by halving of sorted ranges."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def split_ranges(high: Array, low: Array, last_high: Array, last_low: Array, after_high: Array, after_low: Array,
                 is_last: Array, start_high: Array, start_low: Array, owners: Array) -> int:
    """Write where the longest prefix changes, and which it is there; the number of ranges.

    Parameters
    ----------
    high, low, last_high, last_low, after_high, after_low : array of uint64
        First and last address of each prefix, and the one after it, as two halves. Sorted by first address, and then
        shorter prefixes first.
    is_last : array of bool
        Whether no address follows the prefix.
    start_high, start_low, owners : array
        Get the first address of each range, and the prefix there or -1. They need two places for each prefix, and one.
    """
    stack = np.empty(130, np.int64)  # prefixes within one another, each longer than the one before
    depth, count = 0, 1
    start_high[0], start_low[0], owners[0] = 0, 0, -1
    prefixes = high.shape[0]
    for each in range(prefixes + 1):
        while depth > 0:
            top = stack[depth - 1]
            if each < prefixes and (last_high[top] > high[each] or (last_high[top] == high[each] and
                                                                    last_low[top] >= low[each])):
                break
            depth -= 1
            if is_last[top]:
                continue
            owner = stack[depth - 1] if depth > 0 else -1
            if start_high[count - 1] != after_high[top] or start_low[count - 1] != after_low[top]:
                count += 1
            start_high[count - 1], start_low[count - 1], owners[count - 1] = after_high[top], after_low[top], owner
        if each < prefixes:
            if start_high[count - 1] != high[each] or start_low[count - 1] != low[each]:
                count += 1
            start_high[count - 1], start_low[count - 1], owners[count - 1] = high[each], low[each], each
            stack[depth] = each
            depth += 1
    return count


def find_ranges(high: Array, low: Array, blocks: Array, begins: Array, start_high: Array, start_low: Array,
                owners: Array, found: Array) -> None:
    """Write the owner of the range that each address is in.

    Parameters
    ----------
    high, low : array of uint64
        Addresses as two halves.
    blocks : array of uint16
        The leading 16 bits of each address.
    begins : array of int64
        By leading bits, the last range that begins at or before their first address; and one more.
    """
    for row in range(found.shape[0]):
        block = int(blocks[row])
        left, right = begins[block], begins[block + 1]
        while left < right:
            middle = (left + right + 1) >> 1
            if start_high[middle] < high[row] or (start_high[middle] == high[row] and start_low[middle] <= low[row]):
                left = middle
            else:
                right = middle - 1
        found[row] = owners[left]
