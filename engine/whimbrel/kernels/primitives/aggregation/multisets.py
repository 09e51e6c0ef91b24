"""Ordered multisets of int64: compare, insert, remove and choose.

A group owns `capacities` slots of the pool from `first` on. It uses `length` of them, and the first `tidy` of these are
sorted. New values are appended unsorted, and are sorted when the value of the group is shown. A pane of n rows
costs n log n. A row that enters or leaves a sliding window is found by binary search.

Order is that of the start, where it is kept, then that of the value. Values are integers that are ordered as what they
stand for; ids of words are ordered by their rank (`rank` of an id, `by_rank` the ids in order; both empty otherwise).
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

ALL, LOWEST, HIGHEST, NUMBER, NUMBER_FROM_TOP, BETWEEN, DISTINCT, TOP, TOP_WITH_TIES = 0, 1, 2, 3, 4, 5, 6, 7, 8
"""What is shown of a multiset: all values in order; the lowest; the highest; the element at a fraction of the length
(rounded up), from the first or from the last. Also: the two elements around a fraction of the way, with the distance
from the first of them; the number of different values; the highest k, highest first; the same with ties."""

_FEW = 64
"""Values that are moved one by one sooner than memory for a copy of them is had."""


def is_after(items: Array, starts: Array, rank: Array, index: int, key: int, began: int) -> bool:
    """Whether the value at an index belongs after a value."""
    if starts.shape[0] and starts[index] != began:
        return bool(starts[index] > began)
    if rank.shape[0]:
        return bool(rank[items[index]] > rank[key])
    return bool(items[index] > key)


def put(items: Array, starts: Array, index: int, key: int, began: int) -> None:
    items[index] = key
    if starts.shape[0]:
        starts[index] = began


def put_in_order(
    items: Array, starts: Array, rank: Array, by_rank: Array, first: int, tidy: int, length: int
) -> None:
    """Sort the values after the sorted part, and merge both from the end."""
    if tidy == length:
        return
    keys = items[first + tidy : first + length].copy()
    began = starts[first + tidy : first + length].copy() if starts.shape[0] else starts
    keys, began = in_order(keys, began, rank, by_rank)
    end = first + tidy
    for position in range(keys.shape[0] - 1, -1, -1):
        key = keys[position]
        since = began[position] if starts.shape[0] else 0
        index = index_near_end(items, starts, rank, first, end, key, since)
        if index < end:  # a block at a time: one row more is one move of memory
            move(items, starts, index, end, position + 1)
        put(items, starts, index + position, key, since)
        end = index


def in_order(keys: Array, began: Array, rank: Array, by_rank: Array) -> tuple[Array, Array]:
    """Values, and when they began, in the order of a sorted multiset; `keys` may be changed."""
    if rank.shape[0]:
        for position in range(keys.shape[0]):
            keys[position] = rank[keys[position]]
    if began.shape[0]:
        order = np.argsort(keys, kind="mergesort")
        order = order[np.argsort(began[order], kind="mergesort")]
        keys, began = keys[order], began[order]
    else:
        keys.sort()
    if rank.shape[0]:
        for position in range(keys.shape[0]):
            keys[position] = by_rank[keys[position]]
    return keys, began


def index_after(items: Array, starts: Array, rank: Array, low: int, high: int, key: int, began: int) -> int:
    """Binary search: the first index whose value belongs after the given one."""
    while low < high:
        middle = (low + high) >> 1
        if is_after(items, starts, rank, middle, key, began):
            high = middle
        else:
            low = middle + 1
    return low


def index_near_end(items: Array, starts: Array, rank: Array, low: int, high: int, key: int, began: int) -> int:
    """The same, found the sooner the nearer it is to the end: of many that enter the next one is never far."""
    reach = 1
    while low + reach < high and is_after(items, starts, rank, high - reach, key, began):
        reach *= 2
    return index_after(items, starts, rank, max(low, high - reach), high, key, began)


def move(items: Array, starts: Array, begin: int, end: int, by: int) -> None:
    """Shift what lies in some places, which may overlap with where it goes."""
    if by > 0 and end - begin < _FEW:
        for index in range(end - 1, begin - 1, -1):
            put(items, starts, index + by, items[index], starts[index] if starts.shape[0] else 0)
        return
    items[begin + by : end + by] = items[begin:end].copy()
    if starts.shape[0]:
        starts[begin + by : end + by] = starts[begin:end].copy()


def remove(
    items: Array, starts: Array, rank: Array, first: Array, length: Array, capacities: Array, tidy: Array,
    group: int, key: int, began: int,
) -> None:
    """Take one value out of a group that has it."""
    head, end = first[group], first[group] + tidy[group]
    last = head + length[group] - 1
    index = index_after(items, starts, rank, head, end, key, began) - 1
    length[group] -= 1
    if index >= head and items[index] == key and (starts.shape[0] == 0 or starts[index] == began):
        tidy[group] -= 1
        if index == head:  # the oldest leaves first: nothing need move
            first[group] += 1
            capacities[group] -= 1
            return
        move(items, starts, index + 1, end, -1)
        index = end - 1
    else:
        index = end
        while items[index] != key or (starts.shape[0] and starts[index] != began):
            index += 1
    put(items, starts, index, items[last], starts[last] if starts.shape[0] else 0)


def remove_many(
    items: Array, starts: Array, rank: Array, by_rank: Array, first: Array, length: Array, tidy: Array, group: int,
    keys: Array, began: Array,
) -> None:
    """Take values out of a group that has them, in one pass; `keys` may be changed."""
    head = first[group]
    put_in_order(items, starts, rank, by_rank, head, tidy[group], length[group])
    keys, began = in_order(keys, began, rank, by_rank)
    to, found = head, 0
    for index in range(head, head + length[group]):
        if (found < keys.shape[0] and items[index] == keys[found]
                and (starts.shape[0] == 0 or starts[index] == began[found])):
            found += 1
            continue
        put(items, starts, to, items[index], starts[index] if starts.shape[0] else 0)
        to += 1
    length[group] = tidy[group] = to - head


def how_many(items: Array, first: int, length: int, choice: int, numerator: int) -> int:
    """The number of values that are shown of a sorted multiset."""
    if choice == ALL:
        return length
    if choice == BETWEEN:
        return 3
    if choice in (TOP, TOP_WITH_TIES):
        size = min(numerator, length)
        if choice == TOP_WITH_TIES and size > 0:
            while size < length and items[first + length - 1 - size] == items[first + length - size]:
                size += 1
        return size
    return 1


def choose(
    items: Array, first: int, length: int, choice: int, numerator: int, whole: int, size: int, chosen: Array, here: int
) -> None:
    """Write what is shown of a sorted multiset; zeros if it is empty."""
    if choice == DISTINCT:
        different = 0
        for index in range(first, first + length):
            if index == first or items[index] != items[index - 1]:
                different += 1
        chosen[here] = different
    elif choice in (TOP, TOP_WITH_TIES):
        for position in range(size):
            chosen[here + position] = items[first + length - 1 - position]
    elif choice == ALL:
        for position in range(size):
            chosen[here + position] = items[first + position]
    elif length == 0:
        for position in range(size):
            chosen[here + position] = 0
    elif choice == LOWEST:
        chosen[here] = items[first]
    elif choice == HIGHEST:
        chosen[here] = items[first + length - 1]
    elif choice in (NUMBER, NUMBER_FROM_TOP):
        number = max((numerator * length + whole - 1) // whole, 1)
        chosen[here] = items[first + (number - 1 if choice == NUMBER else length - number)]
    else:
        way = numerator * (length - 1)
        below = way // whole
        chosen[here] = items[first + below]
        chosen[here + 1] = items[first + min(below + 1, length - 1)]
        chosen[here + 2] = way - below * whole
