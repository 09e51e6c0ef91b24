"""A group of values in two sorted parts.

Values are added to the second one, elements are found by number, and both parts are merged. The first part has `tidy`
values from `first` on, and the second one follows. A value that is added moves at most those of the second part, which
is short.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.aggregation.multisets import (
    ALL,
    BETWEEN,
    DISTINCT,
    HIGHEST,
    LOWEST,
    NUMBER,
    NUMBER_FROM_TOP,
    TOP,
    TOP_WITH_TIES,
    index_after,
    is_after,
    put_in_order,
)

Array = np.ndarray[Any, Any]

_LARGE = 1_024
"""Fewer values are moved sooner than a second part is searched."""
_UNKNOWN = -1


def in_parts(starts: Array, tidy: int, choice: int) -> bool:
    """Whether a group is worth two parts, and what is shown can be found in them."""
    return tidy >= _LARGE and choice != ALL and (choice != DISTINCT or starts.shape[0] == 0)


def add_recent(
    items: Array, starts: Array, rank: Array, by_rank: Array, first: Array, tidy: Array, length: Array, group: int,
    choice: int, recent: Array, different: Array,
) -> bool:
    """Sort the values after the `recent` ones into them; False if these are so many that all should be sorted.

    The second part has at most about twice the square root of the number of values: then to insert and to merge cost
    alike. `different` is how many different values the group has.
    """
    maximum = _LARGE // 2 + 2 * int(np.sqrt(tidy[group]))
    head, begin, size = first[group], first[group] + tidy[group], length[group] - tidy[group]
    if size - recent[group] > maximum:
        recent[group] = 0
        different[group] = _UNKNOWN
        return False
    if choice == DISTINCT:
        if different[group] == _UNKNOWN:  # nothing is recent yet
            different[group] = how_many_different(items, head, begin)
        for position in range(recent[group], size):
            key = items[begin + position]
            if not has(items, starts, rank, head, begin, key) and not has(
                    items, starts, rank, begin, begin + position, key):
                different[group] += 1
            put_in_order(items, starts, rank, by_rank, begin, position, position + 1)
    else:
        put_in_order(items, starts, rank, by_rank, begin, recent[group], size)
    recent[group] = size
    if size > maximum:
        merge_parts_of(items, starts, rank, by_rank, first, tidy, length, group, recent)
    return True


def merge_parts(
    items: Array, starts: Array, rank: Array, by_rank: Array, first: Array, tidy: Array, length: Array, recent: Array
) -> None:
    """Sort every group that has a second part: then all its values are tidy."""
    for group in range(recent.shape[0]):
        if recent[group]:
            merge_parts_of(items, starts, rank, by_rank, first, tidy, length, group, recent)


def merge_parts_of(
    items: Array, starts: Array, rank: Array, by_rank: Array, first: Array, tidy: Array, length: Array, group: int,
    recent: Array,
) -> None:
    put_in_order(items, starts, rank, by_rank, first[group], tidy[group], length[group])
    tidy[group] = length[group]
    recent[group] = 0


def has(items: Array, starts: Array, rank: Array, low: int, high: int, key: int) -> bool:
    """Whether a sorted part has a value."""
    index = index_after(items, starts, rank, low, high, key, 0) - 1
    return index >= low and items[index] == key


def how_many_different(items: Array, low: int, high: int) -> int:
    different = 0
    for index in range(low, high):
        if index == low or items[index] != items[index - 1]:
            different += 1
    return different


def element(items: Array, starts: Array, rank: Array, first: int, tidy: int, length: int, number: int) -> int:
    """Where the element of this number lies, in the order of both parts together.

    So many elements of the first part are before it as make the next one belong after all others that are.
    """
    second = first + tidy
    low, high = max(0, number - (length - tidy)), min(number, tidy)
    while low < high:
        middle = (low + high) >> 1
        last = second + number - middle - 1
        if is_after(items, starts, rank, first + middle, items[last], starts[last] if starts.shape[0] else 0):
            high = middle
        else:
            low = middle + 1
    other = second + number - low
    if low < tidy and (other >= first + length or not is_after(
            items, starts, rank, first + low, items[other], starts[other] if starts.shape[0] else 0)):
        return first + low
    return other


def how_many_of_parts(
    items: Array, starts: Array, rank: Array, first: int, tidy: int, length: int, choice: int, numerator: int
) -> int:
    """The number of values that are shown of a multiset in two parts."""
    if choice == BETWEEN:
        return 3
    if choice not in (TOP, TOP_WITH_TIES):
        return 1
    size = min(numerator, length)
    if choice == TOP_WITH_TIES and size > 0:
        last = items[element(items, starts, rank, first, tidy, length, length - size)]
        while size < length and items[element(items, starts, rank, first, tidy, length, length - 1 - size)] == last:
            size += 1
    return size


def choose_of_parts(
    items: Array, starts: Array, rank: Array, first: int, tidy: int, length: int, choice: int, numerator: int,
    whole: int, size: int, chosen: Array, here: int,
) -> None:
    """Write what is shown of a multiset in two parts, which has values; but not how many are different."""
    if choice in (TOP, TOP_WITH_TIES):
        for position in range(size):
            chosen[here + position] = items[element(items, starts, rank, first, tidy, length, length - 1 - position)]
    elif choice == LOWEST:
        chosen[here] = items[element(items, starts, rank, first, tidy, length, 0)]
    elif choice == HIGHEST:
        chosen[here] = items[element(items, starts, rank, first, tidy, length, length - 1)]
    elif choice in (NUMBER, NUMBER_FROM_TOP):
        number = max((numerator * length + whole - 1) // whole, 1)
        number = number - 1 if choice == NUMBER else length - number
        chosen[here] = items[element(items, starts, rank, first, tidy, length, number)]
    else:
        way = numerator * (length - 1)
        below = way // whole
        chosen[here] = items[element(items, starts, rank, first, tidy, length, below)]
        chosen[here + 1] = items[element(items, starts, rank, first, tidy, length, min(below + 1, length - 1))]
        chosen[here + 2] = way - below * whole
