"""Read and reduce lists by compiled loops, or by NumPy before."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types as t

from whimbrel.batch import Column, frozen, numpy_type
from whimbrel.batch.fixed_width import present
from whimbrel.kernels import Compiled
from whimbrel.kernels.primitives.lists import list_reductions as loops

Array = np.ndarray[Any, Any]

_sum_integers, _sum_floats = Compiled(loops.sum_integers), Compiled(loops.sum_floats)
_extremes, _items = Compiled(loops.find_extremes), Compiled(loops.find_items)
_get, _lengths = Compiled(loops.get_items), Compiled(loops.write_lengths)
_distinct = Compiled(loops.find_distinct_items)
_INT = pa.int64()
_NO_MASK = frozen(np.empty(0, np.bool_))


@dataclass(frozen=True, slots=True)
class Items:
    """The items of an array of lists, as NumPy has them.

    Parameters
    ----------
    values : numpy.ndarray
        Items from the first list to the last one; what lies under a null is harmless.
    there : numpy.ndarray of bool
        False where an item is null; empty where none is.
    offsets : numpy.ndarray
        Where each list begins and the last one ends.
    base : int
        The first offset.
    """

    values: Array
    there: Array
    offsets: Array
    base: int

    @property
    def rows(self) -> int:
        return len(self.offsets) - 1

    @property
    def given(self) -> tuple[Array, Array, Array, int]:
        """What loops take first."""
        return self.values, self.there, self.offsets, self.base


def items_of(lists: pa.Array) -> Items | None:
    """The items of an array of lists of numbers or times; None for other lists."""
    type_ = lists.type.value_type
    if numpy_type(type_) is None or t.is_boolean(type_) or not len(lists):
        return None
    offsets = _offsets(lists)
    inside = _inside(lists, offsets)
    there = present(inside) if inside.null_count else _NO_MASK
    return Items(Column.from_arrow(inside).values, frozen(there), offsets, int(offsets[0]))


def _offsets(lists: pa.Array) -> Array:
    """Where each list begins and the last one ends; there is one."""
    wide = np.int64 if t.is_large_list(lists.type) else np.int32
    return frozen(np.frombuffer(lists.buffers()[1], wide, len(lists) + 1, lists.offset * np.dtype(wide).itemsize))


def _inside(lists: pa.Array, offsets: Array) -> pa.Array:
    """The items from the first list to the last one."""
    return lists.values.slice(int(offsets[0]), int(offsets[-1]) - int(offsets[0]))


def lengths_of(lists: pa.Array, out: Array | None = None) -> Array:
    """How many items each list has, perhaps written to an array; any number for a null."""
    lengths = np.empty(len(lists), np.int64) if out is None else out
    if not len(lists):
        return lengths
    offsets = _offsets(lists)
    if _lengths.ready(offsets, lengths):
        _lengths(offsets, lengths)
    else:
        lengths[:] = np.diff(offsets)
    return lengths


def items_at(items: Items, indexes: Array) -> tuple[Array, Array] | None:
    """The item at a place of each list, and whether it is there; None where the loop is not ready."""
    found, filled = np.empty(items.rows, items.values.dtype), np.empty(items.rows, np.bool_)
    if not _get.ready(*items.given, frozen(indexes), found, filled):
        return None
    _get(*items.given, frozen(indexes), found, filled)
    return found, filled


def distinct_items(lists: pa.Array) -> tuple[pa.Array, Array] | None:
    """The first of equal items of all lists, and how many each list has; None where the loop is not ready.

    Floats are equal by their bits, as in a dictionary of Arrow, but 0.0 and -0.0 are equal.
    """
    items = items_of(lists)
    if items is not None:
        inside = _inside(lists, items.offsets)
        values = items.values + items.values.dtype.type(0) if t.is_floating(lists.type.value_type) else items.values
        items = replace(items, values=values.view(f"i{items.values.dtype.itemsize}"))
    elif len(lists):
        offsets = _offsets(lists)
        inside = _inside(lists, offsets)
        codes = np.asarray(inside.dictionary_encode(null_encoding="encode").indices)
        items = Items(frozen(codes), _NO_MASK, offsets, int(offsets[0]))
    else:
        return None
    lengths = np.empty(items.rows, np.int64)
    longest = int(np.diff(items.offsets).max())
    slots, kept = np.full(1 << longest.bit_length() + 1, -1, np.int64), np.empty(len(inside), np.int64)
    if not _distinct.ready(*items.given, slots, kept, lengths):
        return None
    done = _distinct(*items.given, slots, kept, lengths)
    return inside if done == len(kept) else inside.take(Column(_INT, kept[:done]).to_arrow()), lengths


def sums_of_integers(items: Items) -> tuple[Array, Array] | None:
    """The sum of each list and whether it fits; None where the loop is not ready."""
    if items.values.dtype == np.uint64:
        return None
    sums, fits = np.empty(items.rows, np.int64), np.empty(items.rows, np.bool_)
    if not _sum_integers.ready(*items.given, sums, fits):
        return None
    _sum_integers(*items.given, sums, fits)
    return sums, fits


def sums_of_floats(items: Items) -> tuple[Array, Array]:
    """The sum of each list as a float, and how many items it has."""
    sums, counts = np.zeros(items.rows), np.zeros(items.rows, np.int64)
    if _sum_floats.ready(*items.given, sums, counts):
        _sum_floats(*items.given, sums, counts)
    else:
        for rows, at in _in_order(items):
            sums[rows] += items.values[at]
            counts[rows] += 1
    return sums, counts


def extremes(items: Items, *, greatest: bool) -> tuple[Array, Array]:
    """The least or greatest item of each list, and whether it has any."""
    found, filled = np.zeros(items.rows, items.values.dtype), np.zeros(items.rows, np.bool_)
    if _extremes.ready(*items.given, greatest, found, filled):
        _extremes(*items.given, greatest, found, filled)
        return found, filled
    for rows, at in _in_order(items):
        item, best = items.values[at], found[rows]
        better = ((item > best) | (np.isnan(item) & ~np.isnan(best)) if greatest else
                  (item < best) | (np.isnan(best) & ~np.isnan(item)))
        found[rows] = np.where(better | ~filled[rows], item, best)
        filled[rows] = True
    return found, filled


def contain(items: Items, values: Array) -> Array | None:
    """Whether each list has the value of its row, or the only value; None where the loop is not ready."""
    found = np.empty(items.rows, np.bool_)
    if not _items.ready(*items.given, frozen(values), found):
        return None
    _items(*items.given, frozen(values), found)
    return found


def _in_order(items: Items) -> Any:
    """Rows and places of the first items, then of the second ones, and so on, but for nulls."""
    first = items.offsets[:-1].astype(np.int64) - items.base
    lengths = np.diff(items.offsets)
    rows = np.flatnonzero(lengths)
    for number in range(int(lengths.max(initial=0))):
        rows = rows[lengths[rows] > number]
        at = first[rows] + number
        kept = items.there[at] if len(items.there) else np.ones(len(at), np.bool_)
        yield rows[kept], at[kept]
