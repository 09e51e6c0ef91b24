"""Bags: per group an ordered multiset of int64, all groups in one pool, moved by the same schedules as any aggregate.

A group has `room` places of the pool from `first` on; `length` of them are used and the first `tidy` of these are in
order. What enters goes behind them unordered and is put in order when the group's value is shown: a pane of n rows
costs n log n, and a row that enters or leaves a sliding window is found by binary search.

Order is that of the start, where it is kept, then that of the value. Values are integers that are ordered as what they
stand for; ids of words are ordered by their rank (`rank` of an id, `by_rank` the ids in order; both empty otherwise).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.windows.panes import ADD, AGAIN, DROP, EMIT

Array = np.ndarray[Any, Any]

ALL, LOWEST, HIGHEST, NUMBER, NUMBER_FROM_TOP, BETWEEN, DISTINCT, TOP, TOP_WITH_TIES = 0, 1, 2, 3, 4, 5, 6, 7, 8
"""What is shown of a bag: all values in order; the first; the last; the element whose number is a share of the length
(rounded up), counted from the first or from the last; the two elements around a share of the way from the first to the
last, and how far beyond the first of them it is; how many different values; the last few, last first; these and what
equals the least of them."""

_FEW = 64
"""Values that are moved one by one sooner than memory for a copy of them is had."""

USED, SHOWN_USED, TOLD, MORE_ITEMS, MORE_SHOWN, MORE_TOLD = 0, 1, 2, 3, 4, 5
"""Positions in the array of sizes: places of the pool given away, the same of what was shown, values told, and how many
places were missing of each when the replay stopped."""


def replay_bags(
    step: int, count: int, kind: Array, who: Array, which: Array, slot: Array, target: Array,
    values: Array, valid: Array, start: Array, held: Array, held_valid: Array, held_start: Array,
    items: Array, starts: Array, first: Array, length: Array, room: Array, tidy: Array,
    shown: Array, shown_first: Array, shown_length: Array, shown_room: Array, shown_valid: Array,
    sizes: Array, rank: Array, by_rank: Array, choice: int, share: int, whole: int, one: bool,
    told: Array, out: Array, out_valid: Array,
) -> int:
    """Apply operations from `step` on; `told` receives what is shown, `out` where each row's part of it ends.

    With `one`, no row ever leaves and only the first or last value is asked for: no more than it is kept. Returns the
    first operation not done: `count`, or less when the pool, what was shown or `told` has no room.
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
                place = first[group]
                if one and length[group] == 1:
                    if is_after(items, starts, rank, place, key, began) == (choice == LOWEST):
                        put(items, starts, place, key, began)
                else:
                    if length[group] == room[group] and not give_room(items, starts, first, length, room, group, sizes):
                        return step
                    put(items, starts, first[group] + length[group], key, began)
                    length[group] += 1
        elif operation == DROP:
            if held_valid[slot[step]]:
                began = held_start[slot[step]] if starts.shape[0] else 0
                remove(items, starts, rank, first, length, room, tidy, group, held[slot[step]], began)
        elif operation == EMIT:
            put_in_order(items, starts, rank, by_rank, first[group], tidy[group], length[group])
            tidy[group] = length[group]
            size = how_many(items, first[group], length[group], choice, share)
            if sizes[TOLD] + size > told.shape[0]:
                sizes[MORE_TOLD] = size
                return step
            if shown_first.shape[0] and not keep_room(shown_first, shown_room, group, size, shown.shape[0], sizes):
                return step
            here = sizes[TOLD]
            choose(items, first[group], length[group], choice, share, whole, size, told, here)
            out_valid[target[step]] = length[group] > 0
            if shown_first.shape[0]:
                there = shown_first[group]
                for position in range(size):
                    shown[there + position] = told[here + position]
                shown_length[group] = size
                shown_valid[group] = length[group] > 0
            sizes[TOLD] = here + size
            out[target[step]] = here + size
        elif operation == AGAIN:
            size = shown_length[group]
            here = sizes[TOLD]
            if here + size > told.shape[0]:
                sizes[MORE_TOLD] = size
                return step
            for position in range(size):
                told[here + position] = shown[shown_first[group] + position]
            sizes[TOLD] = here + size
            out[target[step]] = here + size
            out_valid[target[step]] = shown_valid[group]
        else:
            length[group] = 0
            tidy[group] = 0
            if shown_length.shape[0]:
                shown_length[group] = 0
        step += 1
    return step


def is_after(items: Array, starts: Array, rank: Array, place: int, key: int, began: int) -> bool:
    """Whether what lies in a place belongs behind a value."""
    if starts.shape[0] and starts[place] != began:
        return bool(starts[place] > began)
    if rank.shape[0]:
        return bool(rank[items[place]] > rank[key])
    return bool(items[place] > key)


def put(items: Array, starts: Array, place: int, key: int, began: int) -> None:
    items[place] = key
    if starts.shape[0]:
        starts[place] = began


def give_room(
    items: Array, starts: Array, first: Array, length: Array, room: Array, group: int, sizes: Array
) -> bool:
    """Move a group to twice the room at the end of the pool, if there is as much."""
    more = max(4, 2 * room[group])
    if sizes[USED] + more > items.shape[0]:
        sizes[MORE_ITEMS] = more
        return False
    for position in range(length[group]):
        items[sizes[USED] + position] = items[first[group] + position]
        if starts.shape[0]:
            starts[sizes[USED] + position] = starts[first[group] + position]
    first[group] = sizes[USED]
    room[group] = more
    sizes[USED] += more
    return True


def keep_room(shown_first: Array, shown_room: Array, group: int, size: int, places: int, sizes: Array) -> bool:
    """See that what is shown of a group can be kept until it ends."""
    if size <= shown_room[group]:
        return True
    if sizes[SHOWN_USED] + 2 * size > places:
        sizes[MORE_SHOWN] = 2 * size
        return False
    shown_first[group] = sizes[SHOWN_USED]
    shown_room[group] = 2 * size
    sizes[SHOWN_USED] += 2 * size
    return True


def repack(
    items: Array, starts: Array, first: Array, length: Array, room: Array, new_items: Array, new_starts: Array
) -> int:
    """Copy all groups to the beginning of a new pool, each with twice the room that it uses; returns the places given.

    With no more than they use, every group that grows would have to move at once, and the pool be full again soon.
    """
    used = 0
    for group in range(first.shape[0]):
        for position in range(length[group]):
            new_items[used + position] = items[first[group] + position]
            if starts.shape[0]:
                new_starts[used + position] = starts[first[group] + position]
        first[group] = used
        room[group] = 2 * length[group]
        used += room[group]
    return used


def put_in_order(
    items: Array, starts: Array, rank: Array, by_rank: Array, first: int, tidy: int, length: int
) -> None:
    """Sort what is behind the tidy part, and merge both from the back."""
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
        place = place_near_end(items, starts, rank, first, end, key, since)
        if place < end:  # a block at a time: one row more is one move of memory
            move(items, starts, place, end, position + 1)
        put(items, starts, place + position, key, since)
        end = place


def place_behind(items: Array, starts: Array, rank: Array, low: int, high: int, key: int, began: int) -> int:
    """Among places in order, the first whose value belongs behind the given one."""
    while low < high:
        middle = (low + high) >> 1
        if is_after(items, starts, rank, middle, key, began):
            high = middle
        else:
            low = middle + 1
    return low


def place_near_end(items: Array, starts: Array, rank: Array, low: int, high: int, key: int, began: int) -> int:
    """The same, found the sooner the nearer it is to the end: of many that enter the next one is never far."""
    reach = 1
    while low + reach < high and is_after(items, starts, rank, high - reach, key, began):
        reach *= 2
    return place_behind(items, starts, rank, max(low, high - reach), high, key, began)


def move(items: Array, starts: Array, begin: int, end: int, by: int) -> None:
    """Shift what lies in some places, which may overlap with where it goes."""
    if by > 0 and end - begin < _FEW:
        for place in range(end - 1, begin - 1, -1):
            put(items, starts, place + by, items[place], starts[place] if starts.shape[0] else 0)
        return
    items[begin + by : end + by] = items[begin:end].copy()
    if starts.shape[0]:
        starts[begin + by : end + by] = starts[begin:end].copy()


def remove(
    items: Array, starts: Array, rank: Array, first: Array, length: Array, room: Array, tidy: Array,
    group: int, key: int, began: int,
) -> None:
    """Take one value out of a group that has it."""
    head, end = first[group], first[group] + tidy[group]
    last = head + length[group] - 1
    place = place_behind(items, starts, rank, head, end, key, began) - 1
    length[group] -= 1
    if place >= head and items[place] == key and (starts.shape[0] == 0 or starts[place] == began):
        tidy[group] -= 1
        if place == head:  # the oldest leaves first: nothing need move
            first[group] += 1
            room[group] -= 1
            return
        move(items, starts, place + 1, end, -1)
        place = end - 1
    else:
        place = end
        while items[place] != key or (starts.shape[0] and starts[place] != began):
            place += 1
    put(items, starts, place, items[last], starts[last] if starts.shape[0] else 0)


def how_many(items: Array, first: int, length: int, choice: int, share: int) -> int:
    """How many numbers are told of a bag that is in order."""
    if choice == ALL:
        return length
    if choice == BETWEEN:
        return 3
    if choice in (TOP, TOP_WITH_TIES):
        size = min(share, length)
        if choice == TOP_WITH_TIES and size > 0:
            while size < length and items[first + length - 1 - size] == items[first + length - size]:
                size += 1
        return size
    return 1


def choose(
    items: Array, first: int, length: int, choice: int, share: int, whole: int, size: int, told: Array, here: int
) -> None:
    """Write what is told of a bag that is in order; zeros where an empty bag has nothing to tell."""
    if choice == DISTINCT:
        different = 0
        for place in range(first, first + length):
            if place == first or items[place] != items[place - 1]:
                different += 1
        told[here] = different
    elif choice in (TOP, TOP_WITH_TIES):
        for position in range(size):
            told[here + position] = items[first + length - 1 - position]
    elif choice == ALL:
        for position in range(size):
            told[here + position] = items[first + position]
    elif length == 0:
        for position in range(size):
            told[here + position] = 0
    elif choice == LOWEST:
        told[here] = items[first]
    elif choice == HIGHEST:
        told[here] = items[first + length - 1]
    elif choice in (NUMBER, NUMBER_FROM_TOP):
        number = max((share * length + whole - 1) // whole, 1)
        told[here] = items[first + (number - 1 if choice == NUMBER else length - number)]
    else:
        way = share * (length - 1)
        below = way // whole
        told[here] = items[first + below]
        told[here + 1] = items[first + min(below + 1, length - 1)]
        told[here + 2] = way - below * whole
