"""Results of sorted lists of values: the most frequent, sums, quantiles, deviations."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.aggregates.approximate import numbers, quantile_sorted
from whimbrel.batch import Column, scaled, unscaled
from whimbrel.errors import KernelError

Array = np.ndarray[Any, Any]

_HALF = Fraction(1, 2)
_HALF_BITS = 32
_LOW = 2**_HALF_BITS - 1


def spans(ends: Array) -> tuple[Array, Array]:
    """Where the values of each list begin, and the number of the list of each value."""
    begins = np.append(0, ends[:-1]).astype(np.int64)
    return begins, np.repeat(np.arange(len(ends)), ends - begins)


def runs(values: Column, ends: Array) -> tuple[Array, Array, Array]:
    """Equal neighbors of a list: where each run begins, how many values it has, and the number of its list."""
    begins, lists = spans(ends)
    count = len(lists)
    new = np.ones(count, np.bool_)
    if values.fixed:
        data = np.asarray(values.values)
        differ = data[1:] != data[:-1]
        if data.dtype.kind == "f":
            differ &= ~(np.isnan(data[1:]) & np.isnan(data[:-1]))
        new[1:] = differ
    elif count > 1:
        data = values.to_arrow()
        new[1:] = np.asarray(pc.not_equal(data.slice(1), data.slice(0, count - 1)))
    new[begins[ends > begins]] = True
    first = np.flatnonzero(new)
    return first, np.diff(np.append(first, count)), lists[first]


def mode_of_runs(values: Column, ends: Array) -> Column:
    """The first of the longest runs of each list; null without a value."""
    first, lengths, lists = runs(values, ends)
    longest = np.zeros(len(ends), np.int64)
    np.maximum.at(longest, lists, lengths)
    hits = np.flatnonzero(lengths == longest[lists])
    known, which = np.unique(lists[hits], return_index=True)
    rows = np.zeros(len(ends), np.int64)
    rows[known] = first[hits[which]]
    return values.take_or_null(rows, longest > 0)


def sum_of_different(type_: pa.DataType, where: str, values: Column, ends: Array) -> Column:
    """The sum of the different values of each list, smallest first; 0 without a value."""
    first, _, lists = runs(values, ends)
    if pa.types.is_decimal(type_):
        sums = [0] * len(ends)
        for number, value in zip(lists.tolist(), unscaled(values.to_arrow().take(pa.array(first))), strict=True):
            sums[number] += value
        if any(abs(each) >= 10**type_.precision for each in sums):
            raise _overflow(type_, where)
        return Column(type_, scaled(sums, type_))
    data = np.asarray(values.values)[first]
    if pa.types.is_floating(type_):
        found = np.zeros(len(ends))
        with np.errstate(invalid="ignore", over="ignore"):
            np.add.at(found, lists, data.astype(np.float64))
        return Column(type_, found)
    return Column(type_, whole_sums(data, lists, len(ends), _overflow(type_, where)))


def whole_sums(data: Array, lists: Array, count: int, overflow: Exception) -> Array:
    """Sums of integers of some lists, which must fit into int64."""
    wide = data.astype(np.uint64 if data.dtype == np.uint64 else np.int64)
    high, low = np.zeros(count, np.int64), np.zeros(count, np.int64)
    np.add.at(high, lists, (wide >> wide.dtype.type(_HALF_BITS)).astype(np.int64))
    np.add.at(low, lists, (wide & wide.dtype.type(_LOW)).astype(np.int64))
    high += low >> _HALF_BITS
    if (np.abs(high) > 2**31).any() or (high == 2**31).any():
        raise overflow
    return (high << _HALF_BITS) + (low & _LOW)


def quantile_lists(fractions: Sequence[Fraction], values: Column, ends: Array) -> Column:
    """The linear quantiles of each list, as a list; null without a value."""
    begins, _ = spans(ends)
    there = ends > begins
    turned = pa.types.is_uint64(values.type)
    data = numbers(values)
    found = np.empty((int(there.sum()), len(fractions)))
    for column, fraction in enumerate(fractions):
        found[:, column] = quantile_sorted(fraction, data, begins[there], ends[there], turned=turned)
    offsets = np.append(0, np.cumsum(np.where(there, len(fractions), 0))).astype(np.int32)
    mask = None if there.all() else pa.array(~there)
    lists = pa.ListArray.from_arrays(pa.array(offsets), pa.array(found.ravel()), mask=mask)
    return Column(pa.list_(pa.float64()), lists)


def median_deviation(values: Column, ends: Array) -> Column:
    """The median of the distances from the median of each list; null without a value."""
    begins, lists = spans(ends)
    there = ends > begins
    turned = pa.types.is_uint64(values.type)
    medians = np.zeros(len(ends))
    medians[there] = quantile_sorted(_HALF, numbers(values), begins[there], ends[there], turned=turned)
    with np.errstate(invalid="ignore", over="ignore"):
        distances = np.abs(np.asarray(values.values).astype(np.float64) - medians[lists])
    distances = distances[np.lexsort((distances, lists))]
    found = np.zeros(len(ends))
    found[there] = quantile_sorted(_HALF, distances, begins[there], ends[there])
    return Column(pa.float64(), found, there)


def entropy_of_runs(values: Column, ends: Array) -> Column:
    """The entropy of the different values of each list in bits; null without a value."""
    _, lengths, lists = runs(values, ends)
    begins, _ = spans(ends)
    there = ends > begins
    share = lengths / (ends - begins)[lists]
    found = np.zeros(len(ends))
    np.add.at(found, lists, -share * np.log2(share))
    return Column(pa.float64(), found + 0.0, there)


def joined_texts(separator: str, descending: bool, values: Column, ends: Array) -> Column:
    """The texts of each list with a separator between them; null without a value."""
    begins, lists = spans(ends)
    texts = values.to_arrow()
    if pa.types.is_dictionary(texts.type):
        texts = texts.dictionary_decode()
    if descending:
        at = np.arange(len(lists))
        texts = texts.take(pa.array(begins[lists] + ends[lists] - 1 - at))
    mask = None if (ends > begins).all() else pa.array(ends == begins)
    offsets = pa.array(np.append(0, ends).astype(np.int32))
    joined = pc.binary_join(pa.ListArray.from_arrays(offsets, texts.cast(pa.string()), mask=mask), separator)
    return Column(values.type, joined.cast(values.type))


def counter_increase(type_: pa.DataType, where: str, values: Column, ends: Array) -> Column:
    """How much a counter has grown from value to value of each list; null without two of them."""
    begins, lists = spans(ends)
    there = ends - begins > 1
    data = np.asarray(values.values)
    later = np.flatnonzero(lists[1:] == lists[:-1]) + 1
    now, before = data[later], data[later - 1]
    with np.errstate(invalid="ignore", over="ignore"):
        grown = np.where(now < before, now, now - before)
    if pa.types.is_floating(type_):
        found = np.zeros(len(ends))
        with np.errstate(invalid="ignore", over="ignore"):
            np.add.at(found, lists[later], grown.astype(np.float64))
        return Column(type_, found, there)
    return Column(type_, whole_sums(grown, lists[later], len(ends), _overflow(type_, where)), there)


def _overflow(type_: pa.DataType, where: str) -> KernelError:
    return KernelError(f"The sum does not fit into {type_}.", where=where,
                       hint="Cast the column to floats: .cast(float).")
