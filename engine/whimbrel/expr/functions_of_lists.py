"""Functions of lists of the table of functions.

A list is null where its row is; nulls within a list are left out of aggregates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as t

from whimbrel.batch import Column, logical_type
from whimbrel.batch.fixed_width import present
from whimbrel.errors import ExpressionError
from whimbrel.expr.function_entry import Function, Types, held
from whimbrel.expr.list_reductions import (
    Items,
    contain,
    distinct_items,
    extremes,
    items_at,
    items_of,
    lengths_of,
    sums_of_floats,
    sums_of_integers,
)
from whimbrel.expr.type_predicates import is_number, is_ordered, is_text

_INT = pa.int64()


def _spans(lists: Any) -> tuple[Any, Any, Any]:
    """The items of an array of lists, and where those of each row begin and end; a null has none."""
    offsets = np.asarray(lists.offsets).astype(np.int64)
    first, last = offsets[:-1], offsets[1:]
    if lists.null_count:
        last = np.where(np.asarray(lists.is_valid()), last, first)
    return lists.values, first, last


def _rows(first: Any, last: Any) -> tuple[Any, Any]:
    """The row of each item in order, and where it stands among all items."""
    lengths = last - first
    rows = np.repeat(np.arange(len(first)), lengths)
    begins = np.cumsum(lengths) - lengths
    return rows, np.arange(len(rows)) + np.repeat(first - begins, lengths)


def _lists(items: Any, lengths: Any, lists: Any, there: Any = None) -> Any:
    """An array of lists from their items, null where `lists` is, or where `there` is false."""
    offsets = pa.array(np.append(0, np.cumsum(lengths)).astype(np.int32))
    mask = pa.array(~there) if there is not None else pc.invert(lists.is_valid()) if lists.null_count else None
    return pa.ListArray.from_arrays(offsets, items, type=lists.type if t.is_list(lists.type) else None, mask=mask)


def _present(lists: Any) -> tuple[Any, Any]:
    """Items that are not null, in order, and how many each row has."""
    values, first, last = _spans(lists)
    lengths = last - first
    if len(first) and (first[1:] == last[:-1]).all():  # nothing lies between the lists
        items = values.slice(first[0], last[-1] - first[0])
    else:
        items = values.take(pa.array(_rows(first, last)[1]))
    if items.null_count:
        there = items.is_valid()
        lengths = _counts(np.asarray(there), lengths)
        items = items.filter(there)
    return items, lengths


def _counts(hits: Any, lengths: Any) -> Any:
    """How many of the items of each row are hits."""
    totals = np.append(0, np.cumsum(hits))
    ends = np.cumsum(lengths)
    return totals[ends] - totals[ends - lengths]


def _filled(lengths: Any) -> tuple[Any, Any]:
    """The rows that have items, and where those begin."""
    rows = np.flatnonzero(lengths)
    return rows, (np.cumsum(lengths) - lengths)[rows]


def _length(lists: Any) -> Any:
    return held(_INT, lengths_of(lists), True, lists)


def _indexes(column: Any) -> Any:
    """Positions within lists as int64, cut to such as no list has; 0 for null."""
    largest = np.int64(2**31)
    return np.asarray(column.fill_null(0)).clip(-largest, largest) if t.is_signed_integer(column.type) else (
        np.minimum(np.asarray(column.fill_null(0)), np.uint64(largest)).astype(np.int64))


def _get(lists: Any, index: Any) -> Any:
    number, items = _indexes(index), items_of(lists)
    if items is not None and (found := items_at(items, number)) is not None:
        return held(lists.type.value_type, *found, lists, index)
    values, first, last = _spans(lists)
    at = np.where(number >= 0, first, last) + number
    missing = (at < first) | (at >= last)
    return values.take(pa.array(at, mask=missing if not index.null_count else missing | ~present(index)))


def _slice(lists: Any, start: Any, stop: Any = None) -> Any:
    values, first, last = _spans(lists)
    low, high = _bound(start, first, last), last if stop is None else _bound(stop, first, last)
    high = np.maximum(low, high)
    bounds = [bound for bound in (start, stop) if bound is not None and bound.null_count]
    there = reduce(np.logical_and, [present(each) for each in (lists, *bounds)]) if bounds else None
    if there is not None:
        high = np.where(there, high, low)
    return _lists(values.take(pa.array(_rows(low, high)[1])), high - low, lists, there)


def _bound(index: Any, first: Any, last: Any) -> Any:
    number = _indexes(index)
    return np.clip(np.where(number >= 0, first, last) + number, first, last)


def _contains(lists: Any, value: Any) -> Any:
    found, fits = None, np.True_
    if value.type != lists.type.value_type and t.is_primitive(value.type):
        value, fits = _as_item(value, lists.type.value_type)
    if value.type == lists.type.value_type and (items := items_of(lists)) is not None:
        found = contain(items, Column.from_arrow(value).values)
    if found is None:
        kept, lengths = _present(lists)
        sought = value.take(pa.array(np.repeat(np.arange(len(lengths)), lengths)))
        found = _counts(np.asarray(pc.fill_null(pc.equal(kept, sought), pa.scalar(value=False))), lengths) > 0
    return held(pa.bool_(), found & fits, True, lists, value)


def _as_item(value: Any, item: pa.DataType) -> tuple[Any, Any]:
    """Numbers at the type of the items, and whether they are the same numbers there; a float may round them."""
    cast = pc.cast(value, item, safe=False)
    if t.is_floating(item):
        return cast, np.True_
    zero, other_zero = pa.scalar(0, value.type), pa.scalar(0, item)
    same = pc.and_(pc.equal(pc.cast(cast, value.type, safe=False), value),
                   pc.equal(pc.less(value, zero), pc.less(cast, other_zero)))
    return cast, np.asarray(same.fill_null(False))


def _sum(lists: Any) -> Any:
    items = items_of(lists)
    if not t.is_integer(lists.type.value_type):
        return held(pa.float64(), *_float_sums(lists, items)[:1], True, lists)
    found = None if items is None else sums_of_integers(items)
    sums, fits = found or _integer_sums(lists)
    return held(_INT, sums, fits, lists)


def _float_sums(lists: Any, items: Items | None) -> tuple[Any, Any]:
    """Sums as floats, and how many items there are."""
    if items is None:
        return np.zeros(len(lists)), np.zeros(len(lists), np.int64)
    return sums_of_floats(items)


def _integer_sums(lists: Any) -> tuple[Any, Any]:
    """Sums by NumPy, and whether they fit."""
    items, lengths = _present(lists)
    numbers = np.asarray(items)
    numbers = numbers if numbers.dtype == np.uint64 else numbers.astype(np.int64)
    rows, starts = _filled(lengths)
    sums = np.zeros(len(lengths), np.int64)
    fits = np.ones(len(lengths), np.bool_)
    if len(rows):  # halves of the bits, so that no sum of halves leaves int64
        high = np.add.reduceat((numbers >> numbers.dtype.type(32)).astype(np.int64), starts)
        low = np.add.reduceat((numbers & numbers.dtype.type(2**32 - 1)).astype(np.int64), starts)
        high += low >> 32
        sums[rows] = (high << 32) | (low & (2**32 - 1))
        fits[rows] = (high >= -2**31) & (high < 2**31)
    return sums, fits


def _mean(lists: Any) -> Any:
    sums, counts = _float_sums(lists, items_of(lists))
    return held(pa.float64(), sums / np.maximum(counts, 1), counts > 0, lists)


def _order(items: Any, rows: Any, *, descending: bool) -> Any:
    """The order of items within their rows; NaN and then null come last."""
    table = pa.table({"row": pa.array(rows, _INT), "item": items})
    keys = [("row", "ascending"), ("item", "descending" if descending else "ascending")]
    return pc.sort_indices(table, sort_keys=keys)


def _extreme(place: int) -> Callable[[Any], Any]:
    def compute(lists: Any) -> Any:
        if not t.is_temporal(lists.type.value_type) and (numbers := items_of(lists)) is not None:
            return held(lists.type.value_type, *extremes(numbers, greatest=place == 1), lists)
        items, lengths = _present(lists)
        rows, starts = _filled(lengths)
        ordered = _order(items, np.repeat(np.arange(len(lengths)), lengths), descending=False)
        at = np.full(len(lengths), -1, np.int64)
        at[rows] = np.asarray(ordered).astype(np.int64)[starts if place == 0 else starts + lengths[rows] - 1]
        return items.take(pa.array(at, mask=at < 0))

    return compute


def _sort(lists: Any, descending: bool) -> Any:
    values, first, last = _spans(lists)
    rows, at = _rows(first, last)
    items = values.take(pa.array(at))
    return _lists(items.take(_order(items, rows, descending=descending)), last - first, lists)


def _unique(lists: Any) -> Any:
    found = distinct_items(lists)
    if found is not None:
        return _lists(*found, lists)
    values, first, last = _spans(lists)
    rows, at = _rows(first, last)
    items = values.take(pa.array(at))
    numbers = pc.add(items, pa.scalar(0, items.type)) if t.is_float32(items.type) or t.is_float64(items.type) else items
    coded = numbers.dictionary_encode(null_encoding="encode")
    codes = np.asarray(coded.indices).astype(np.int64) + rows * np.int64(len(coded.dictionary) + 1)
    kept = np.sort(np.unique(codes, return_index=True)[1])
    return _lists(items.take(pa.array(kept)), np.bincount(rows[kept], minlength=len(first)), lists)


def _join(lists: Any, separator: str) -> Any:
    kind = lists.type.value_type
    return pc.binary_join(lists, pa.scalar(separator, kind)).cast(pa.string())


def _concat(*columns: Any) -> Any:
    rows = len(columns[0])
    order = np.arange(rows)[:, None] + rows * np.arange(len(columns))
    items = pa.concat_arrays(list(columns)).take(pa.array(order.ravel()))
    there = np.logical_and.reduce([np.asarray(column.is_valid()) for column in columns])
    offsets = pa.array(np.arange(0, order.size + 1, len(columns)).astype(np.int32))
    return pa.ListArray.from_arrays(offsets, items, mask=None if there.all() else pa.array(~there))


def _list_type(given: Types, _: Sequence[Any]) -> pa.DataType:
    return pa.list_(given[0])


def _check_alike(given: Types, _: Sequence[Any], shown: str) -> None:
    other = next((type_ for type_ in given if type_ != given[0]), None)
    if other is not None:
        raise ExpressionError(f"A list has values of one type, got {given[0]} and {other}.", where=shown,
                              hint=f"Use .cast('{given[0]}') for the other values.")


def _item(given: Types) -> pa.DataType:
    return pa.null() if t.is_null(given[0]) else logical_type(given[0].value_type)


def _same_type(given: Types, _: Sequence[Any]) -> pa.DataType:
    """Lists as before; those of a fixed size may have another length afterwards."""
    if t.is_null(given[0]):
        return pa.string()
    return pa.list_(given[0].value_field) if t.is_fixed_size_list(given[0]) else given[0]


def _item_type(given: Types, _: Sequence[Any]) -> pa.DataType:
    return _item(given)


def _needs(fits: Callable[[pa.DataType], bool], words: str) -> Callable[[Types, Sequence[Any], str], None]:
    def check(given: Types, _: Sequence[Any], shown: str) -> None:
        item = _item(given)
        if not t.is_null(item) and not fits(item):
            raise ExpressionError(f"This function takes a list of {words}, not {given[0]}.", where=shown,
                                  hint="Use explode() first, and a function of its rows.")

    return check


def _check_contains(given: Types, _: Sequence[Any], shown: str) -> None:
    item = _item(given)
    if is_number(item) and is_number(given[1]):
        return
    if not t.is_null(item) and not t.is_null(given[1]) and item != given[1]:
        raise ExpressionError(f"A list of {item} cannot contain {given[1]}.", where=shown,
                              hint=f"Use wb.lit(...).cast('{item}').")


_NUMBERS = _needs(is_number, "numbers")
_ORDERED = _needs(is_ordered, "values with an order")

LISTS: Final[dict[str, Function]] = {
    "concat_list": Function("a plain value", _list_type, _concat, 0, sql="list_value", check=_check_alike, arrays=True),
    "list.length": Function("a list", _INT, _length, sql="list_length", arrays=True),
    "list.get": Function(("a list", "an index"), _item_type, _get, 2, sql=None, arrays=True),
    "list.slice": Function(("a list", "an index", "an index"), _same_type, _slice, 0, sql=None, arrays=True),
    "list.contains": Function(("a list", "a plain value"), pa.bool_(), _contains, 2, sql="list_contains",
                              check=_check_contains, arrays=True),
    "list.sum": Function("a list", lambda given, _: _INT if t.is_integer(_item(given)) else pa.float64(), _sum,
                         sql="list_sum", check=_NUMBERS, arrays=True),
    "list.mean": Function("a list", pa.float64(), _mean, sql="list_avg", check=_NUMBERS, arrays=True),
    "list.min": Function("a list", _item_type, _extreme(0), sql="list_min", check=_ORDERED, arrays=True),
    "list.max": Function("a list", _item_type, _extreme(1), sql="list_max", check=_ORDERED, arrays=True),
    "list.sort": Function("a list", _same_type, _sort, options=(bool,), sql=None, check=_ORDERED, arrays=True),
    "list.unique": Function("a list", _same_type, _unique, sql="list_distinct", check=_ORDERED, arrays=True),
    "list.join": Function("a list", pa.string(), _join, options=(str,), sql=None, check=_needs(is_text, "strings"),
                          arrays=True),
}
"""Functions by the names of their calls."""
