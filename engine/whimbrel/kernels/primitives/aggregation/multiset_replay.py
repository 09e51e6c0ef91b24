"""Replay operations on ordered multisets of int64 in one pool.

New values are appended unsorted, and are sorted when the value of the group is shown: see :mod:`.multisets`.

Where no row leaves and a large group is shown again and again, the values after the tidy ones are sorted among
themselves. What is shown is found in two sorted parts: see :mod:`.sorted_parts`. Both are merged when the second one is
long, and before a replay ends. A row then costs the square root of the number of values, not their number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.aggregation.multisets import (
    DISTINCT,
    LOWEST,
    choose,
    how_many,
    is_after,
    put,
    put_in_order,
    remove,
    remove_many,
)
from whimbrel.kernels.primitives.aggregation.sorted_parts import (
    add_recent,
    choose_of_parts,
    how_many_of_parts,
    in_parts,
    merge_parts,
)
from whimbrel.kernels.primitives.windows.panes import ADD, AGAIN, DROP, EMIT

Array = np.ndarray[Any, Any]

USED, SHOWN_USED, CHOSEN_USED, MORE_ITEMS, MORE_SHOWN, MORE_CHOSEN = 0, 1, 2, 3, 4, 5
"""Positions in the array of sizes: used slots of the pool, of the shown values and of the chosen values, and how many
slots each lacked when the replay stopped."""

FEW_ROWS = 4
"""Fewer rows of a group that leave at once are removed one by one, each of which moves half of the values."""


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
    recent, different = np.zeros(0, np.int64), np.zeros(0, np.int64)  # by group, once one is large
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
                        merge_parts(items, starts, rank, by_rank, first, tidy, length, recent)
                        return step
                    put(items, starts, first[group] + length[group], key, began)
                    length[group] += 1
        elif operation == DROP:
            stop = step + 1
            while stop < count and kind[stop] == DROP:
                stop += 1
            remove_rows(who[step:stop], slot[step:stop], held, held_valid, held_start, items, starts, first, length,
                        capacities, tidy, rank, by_rank)
            step = stop - 1
        elif operation == EMIT:
            parts = held.shape[0] == 0 and in_parts(starts, tidy[group], choice)
            if parts and recent.shape[0] == 0:
                recent, different = np.zeros(first.shape[0], np.int64), np.full(first.shape[0], -1)
            parts = parts and add_recent(items, starts, rank, by_rank, first, tidy, length, group, choice, recent,
                                         different)
            if parts:
                size = how_many_of_parts(items, starts, rank, first[group], tidy[group], length[group], choice,
                                         numerator)
            else:
                put_in_order(items, starts, rank, by_rank, first[group], tidy[group], length[group])
                tidy[group] = length[group]
                size = how_many(items, first[group], length[group], choice, numerator)
            if sizes[CHOSEN_USED] + size > chosen.shape[0]:
                sizes[MORE_CHOSEN] = size
                merge_parts(items, starts, rank, by_rank, first, tidy, length, recent)
                return step
            if shown_first.shape[0] and not reserve(shown_first, shown_capacities, group, size, shown.shape[0], sizes):
                merge_parts(items, starts, rank, by_rank, first, tidy, length, recent)
                return step
            here = sizes[CHOSEN_USED]
            if not parts:
                choose(items, first[group], length[group], choice, numerator, whole, size, chosen, here)
            elif choice == DISTINCT:
                chosen[here] = different[group]
            else:
                choose_of_parts(items, starts, rank, first[group], tidy[group], length[group], choice, numerator,
                                whole, size, chosen, here)
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
                merge_parts(items, starts, rank, by_rank, first, tidy, length, recent)
                return step
            for position in range(size):
                chosen[here + position] = shown[shown_first[group] + position]
            sizes[CHOSEN_USED] = here + size
            out[target[step]] = here + size
            out_valid[target[step]] = shown_valid[group]
        else:
            length[group] = 0
            tidy[group] = 0
            if recent.shape[0]:
                recent[group], different[group] = 0, -1
            if shown_length.shape[0]:
                shown_length[group] = 0
        step += 1
    merge_parts(items, starts, rank, by_rank, first, tidy, length, recent)
    return step


def remove_rows(
    who: Array, slot: Array, held: Array, held_valid: Array, held_start: Array, items: Array, starts: Array,
    first: Array, length: Array, capacities: Array, tidy: Array, rank: Array, by_rank: Array,
) -> None:
    """Remove rows that leave at once: many of one group in one pass over its values, others one by one."""
    order = np.arange(who.shape[0])
    if who.shape[0] >= FEW_ROWS:
        order = np.argsort(who, kind="mergesort")
    begin = 0
    while begin < order.shape[0]:
        group, end = who[order[begin]], begin + 1
        while end < order.shape[0] and who[order[end]] == group:
            end += 1
        slots = slot[order[begin:end]]
        slots = slots[held_valid[slots]]
        if slots.shape[0] >= FEW_ROWS:
            began = held_start[slots] if starts.shape[0] else starts
            remove_many(items, starts, rank, by_rank, first, length, tidy, group, held[slots], began)
        else:
            for row in slots:
                since = held_start[row] if starts.shape[0] else 0
                remove(items, starts, rank, first, length, capacities, tidy, group, held[row], since)
        begin = end


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
