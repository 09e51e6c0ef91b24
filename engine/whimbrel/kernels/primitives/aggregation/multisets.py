"""Ordered multisets of int64 per group, all in one pool.

A group owns `capacities` slots of the pool from `first` on. It uses `length` of them, and the first `tidy` of these are
sorted. New values are appended unsorted, and are sorted when the value of the group is shown. A pane of n rows
costs n log n. A row that enters or leaves a sliding window is found by binary search.

Order is that of the start, where it is kept, then that of the value. Values are integers that are ordered as what they
stand for; ids of words are ordered by their rank (`rank` of an id, `by_rank` the ids in order; both empty otherwise).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.windows.panes import ADD, AGAIN, DROP, EMIT

Array = np.ndarray[Any, Any]

ALL, LOWEST, HIGHEST, NUMBER, NUMBER_FROM_TOP, BETWEEN, DISTINCT, TOP, TOP_WITH_TIES = 0, 1, 2, 3, 4, 5, 6, 7, 8
"""What is shown of a multiset: all values in order; the lowest; the highest; the element at a fraction of the length
(rounded up), from the first or from the last. Also: the two elements around a fraction of the way, with the distance
from the first of them; the number of different values; the highest k, highest first; the same with ties."""

_FEW = 64
"""Values that are moved one by one sooner than memory for a copy of them is had."""

USED, SHOWN_USED, CHOSEN_USED, MORE_ITEMS, MORE_SHOWN, MORE_CHOSEN = 0, 1, 2, 3, 4, 5
"""Positions in the array of sizes: used slots of the pool, of the shown values and of the chosen values, and how many
slots each lacked when the replay stopped."""


def replay_bags(
    step: int, count: int, kind: Array, who: Array, which: Array, slot: Array, target: Array,
    values: Array, valid: Array, start: Array, held: Array, held_valid: Array, held_start: Array,
    items: Array, starts: Array, first: Array, length: Array, capacities: Array, tidy: Array,
    shown: Array, shown_first: Array, shown_length: Array, shown_capacities: Array, shown_valid: Array,
    sizes: Array, rank: Array, by_rank: Array, choice: int, numerator: int, whole: int, one: bool,
    chosen: Array, out: Array, out_valid: Array,
) -> int:
    """Apply operations from `step` on; `chosen` receives what is shown, `out` where each row's part of it ends.

    With `one`, no row leaves and only the lowest or highest value is needed, so only that is stored. Returns the first
    operation not done: `count`, or less when the pool, the shown values or `chosen` are full.
    """
    while step < count:
        group = who[step]
        operation = kind[step]
        if operation == ADD:
            row = which[step]
            counts = valid.shape[0] == 0 or valid[row]
            key = values[row]
            began = start[row] if starts.shape[0] else 0
            if held.shape[0]:
                held[slot[step]] = key
                held_valid[slot[step]] = counts
                if starts.shape[0]:
                    held_start[slot[step]] = began
            if counts:
                index = first[group]
                if one and length[group] == 1:
                    if is_after(items, starts, rank, index, key, began) == (choice == LOWEST):
                        put(items, starts, index, key, began)
                else:
                    if length[group] == capacities[group] and not ensure_capacity(
                            items, starts, first, length, capacities, group, sizes):
                        return step
                    put(items, starts, first[group] + length[group], key, began)
                    length[group] += 1
        elif operation == DROP:
            if held_valid[slot[step]]:
                began = held_start[slot[step]] if starts.shape[0] else 0
                remove(items, starts, rank, first, length, capacities, tidy, group, held[slot[step]], began)
        elif operation == EMIT:
            put_in_order(items, starts, rank, by_rank, first[group], tidy[group], length[group])
            tidy[group] = length[group]
            size = how_many(items, first[group], length[group], choice, numerator)
            if sizes[CHOSEN_USED] + size > chosen.shape[0]:
                sizes[MORE_CHOSEN] = size
                return step
            if shown_first.shape[0] and not reserve(shown_first, shown_capacities, group, size, shown.shape[0], sizes):
                return step
            here = sizes[CHOSEN_USED]
            choose(items, first[group], length[group], choice, numerator, whole, size, chosen, here)
            out_valid[target[step]] = length[group] > 0
            if shown_first.shape[0]:
                there = shown_first[group]
                for position in range(size):
                    shown[there + position] = chosen[here + position]
                shown_length[group] = size
                shown_valid[group] = length[group] > 0
            sizes[CHOSEN_USED] = here + size
            out[target[step]] = here + size
        elif operation == AGAIN:
            size = shown_length[group]
            here = sizes[CHOSEN_USED]
            if here + size > chosen.shape[0]:
                sizes[MORE_CHOSEN] = size
                return step
            for position in range(size):
                chosen[here + position] = shown[shown_first[group] + position]
            sizes[CHOSEN_USED] = here + size
            out[target[step]] = here + size
            out_valid[target[step]] = shown_valid[group]
        else:
            length[group] = 0
            tidy[group] = 0
            if shown_length.shape[0]:
                shown_length[group] = 0
        step += 1
    return step


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


def ensure_capacity(
    items: Array, starts: Array, first: Array, length: Array, capacities: Array, group: int, sizes: Array
) -> bool:
    """Move a group to the end of the pool with twice its capacity, if that fits."""
    more = max(4, 2 * capacities[group])
    if sizes[USED] + more > items.shape[0]:
        sizes[MORE_ITEMS] = more
        return False
    for position in range(length[group]):
        items[sizes[USED] + position] = items[first[group] + position]
        if starts.shape[0]:
            starts[sizes[USED] + position] = starts[first[group] + position]
    first[group] = sizes[USED]
    capacities[group] = more
    sizes[USED] += more
    return True


def reserve(shown_first: Array, shown_capacities: Array, group: int, size: int, capacity: int, sizes: Array) -> bool:
    """See that what is shown of a group can be kept until it ends."""
    if size <= shown_capacities[group]:
        return True
    if sizes[SHOWN_USED] + 2 * size > capacity:
        sizes[MORE_SHOWN] = 2 * size
        return False
    shown_first[group] = sizes[SHOWN_USED]
    shown_capacities[group] = 2 * size
    sizes[SHOWN_USED] += 2 * size
    return True


def repack(
    items: Array, starts: Array, first: Array, length: Array, capacities: Array, new_items: Array, new_starts: Array
) -> int:
    """Copy all groups to the start of a new pool, each with twice the capacity that it uses; return the used slots.

    With only what they use, every group that grows would have to move at once, and fill the pool again.
    """
    used = 0
    for group in range(first.shape[0]):
        for position in range(length[group]):
            new_items[used + position] = items[first[group] + position]
            if starts.shape[0]:
                new_starts[used + position] = starts[first[group] + position]
        first[group] = used
        capacities[group] = 2 * length[group]
        used += capacities[group]
    return used


def put_in_order(
    items: Array, starts: Array, rank: Array, by_rank: Array, first: int, tidy: int, length: int
) -> None:
    """Sort the values after the sorted part, and merge both from the end."""
    if tidy == length:
        return
    keys = items[first + tidy : first + length].copy()
    began = starts[first + tidy : first + length].copy() if starts.shape[0] else starts
    if rank.shape[0]:
        for position in range(keys.shape[0]):
            keys[position] = rank[keys[position]]
    if starts.shape[0]:
        order = np.argsort(keys, kind="mergesort")
        order = order[np.argsort(began[order], kind="mergesort")]
        keys, began = keys[order], began[order]
    else:
        keys.sort()
    end = first + tidy
    for position in range(keys.shape[0] - 1, -1, -1):
        key = by_rank[keys[position]] if rank.shape[0] else keys[position]
        since = began[position] if starts.shape[0] else 0
        index = index_near_end(items, starts, rank, first, end, key, since)
        if index < end:  # a block at a time: one row more is one move of memory
            move(items, starts, index, end, position + 1)
        put(items, starts, index + position, key, since)
        end = index


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
