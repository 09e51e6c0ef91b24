"""Evaluate functions of segments on whole columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Column, SampleBlocks, Segments, SegmentType, sample_dtype
from whimbrel.errors import KernelError
from whimbrel.expr.nodes import Call
from whimbrel.expr.segment_functions_scipy import HAAR
from whimbrel.expr.segment_haar import haar
from whimbrel.expr.segment_moments import complete, crossings, moment
from whimbrel.expr.segment_types import lag_limit, sample_rate
from whimbrel.expr.value import PRESENT, Scope, Value

Array = np.ndarray[Any, Any]

_SAMPLES_AT_ONCE = 1 << 21
"""About as many samples a function gets in one call: windows that overlap are more than the signal."""


def segment_value(expr: Call, args: Sequence[Value], result: pa.DataType, scope: Scope) -> Value:
    """The result of a function of segments for each row."""
    name, rows = expr.function.removeprefix("seg."), len(scope.batch)
    inputs = [_segments(arg, rows) for arg in args if isinstance(arg.type, SegmentType)]
    x = inputs[0]
    match name:
        case "length":
            return _numbers(result, x.size, x.validity())
        case "missing":
            return _numbers(result, x.missing(), x.validity())
        case "slice" | "since" | "at":
            return _part(name, x, args[1:], result, rows)
        case "crossings":
            return _numbers(result, crossings(x, expr.options[0]), complete(x))
        case "argmin" | "argmax" | "min" | "max":
            return _of_samples(result, moment(x, name), x)
        case "sum":
            return _sum(expr, x, result, scope)
        case "mean" | "std" | "rms" | "energy" | "kurtosis" | "crest":
            return _floats(x, _STATISTICS[name](x))
        case "apply":
            return _array_function(expr, inputs, result, scope)
        case "majority":
            return _mapped(inputs, result, _majority)
        case "correlate":
            return _correlated(inputs, result)
    from whimbrel.expr import segment_functions_scipy as transforms  # SciPy takes a while to import

    match name:
        case "lag":
            limit, period = lag_limit(expr, x.type), 1 / sample_rate(x.type)
            return _mapped(inputs, result, partial(transforms.lag, limit=limit, period=period))
        case "rfft":
            return _mapped(inputs, result, transforms.rfft)
        case "psd":
            rate, (window,) = sample_rate(x.type), expr.options
            return _mapped(inputs, result, partial(transforms.psd, rate=rate, window=window, where=expr.show()))
        case "band":
            low, high, window = expr.options
            return _mapped(inputs, result, partial(transforms.band, rate=sample_rate(x.type), low=low, high=high,
                                                   window=window, where=expr.show()))
        case "envelope":
            return _mapped(inputs, result, transforms.envelope)
    wavelet, level, kind = expr.options
    if wavelet in HAAR and not len(x.blocks.missing) and isinstance(result, SegmentType):
        return Value(result, haar(x, result, level=level, part=kind, where=expr.show()))
    return _mapped(inputs, result, partial(transforms.wavelet, wavelet=wavelet, level=level, part=kind,
                                           where=expr.show()), stride=2 ** level)


def _segments(value: Value, rows: int) -> Segments:
    return value.column(rows).segments


_STATISTICS: dict[str, Callable[[Segments], Array]] = {
    "mean": lambda x: moment(x, "mean"),
    "std": lambda x: np.sqrt(moment(x, "second") / x.size),
    "rms": lambda x: np.sqrt(moment(x, "energy") / x.size),
    "energy": lambda x: moment(x, "energy"),
    "kurtosis": lambda x: moment(x, "fourth") * x.size / moment(x, "second") ** 2 - 3,
    "crest": lambda x: np.maximum(np.abs(moment(x, "min").astype(np.float64)),
                                  np.abs(moment(x, "max").astype(np.float64)))
    / np.sqrt(moment(x, "energy") / x.size),
}


def _numbers(type_: pa.DataType, data: Array, valid: Array) -> Value:
    return Value(type_, data, PRESENT if valid.all() else valid)


def _floats(x: Segments, data: Array) -> Value:
    """Floats of rows: NaN where a sample is missing, null for rows without samples."""
    there = complete(x)
    if there.all():
        return Value(pa.float64(), data)
    return _numbers(pa.float64(), np.where(there, data, np.nan), x.validity() & (x.size > 0))


def _of_samples(result: pa.DataType, data: Array, x: Segments) -> Value:
    """Samples of rows: NaN where one is missing, and null if their type has no NaN."""
    if data.dtype.kind != "f":
        return _numbers(result, data, complete(x))
    lost = ~complete(x)
    return _numbers(result, np.where(lost, data.dtype.type(np.nan), data), x.validity() & (x.size > 0))


def _sum(expr: Call, x: Segments, result: pa.DataType, scope: Scope) -> Value:
    total = moment(x, "total")
    if pa.types.is_floating(result):
        return _floats(x, total)
    if "exact_total" in x.memo:
        return _numbers(result, x.memo["exact_total"], complete(x))
    sums = np.array([sum(int(value) for value in x.samples(row).tolist()) if there else 0
                     for row, there in enumerate(complete(x).tolist())], object)
    bad = np.array([not -2**63 <= each < 2**63 for each in sums.tolist()], np.bool_)
    scope.refuse(bad, complete(x), expr, "integer overflow: a sum leaves int64", "Cast the samples to float first.")
    return _numbers(result, np.where(bad, 0, sums).astype(np.int64), complete(x))


def _part(name: str, x: Segments, positions: Sequence[Value], result: pa.DataType, rows: int) -> Value:
    columns = [position.column(rows) for position in positions]
    given = [np.broadcast_to(np.asarray(column.values), (rows,)).astype(np.int64) for column in columns]
    valid = x.validity()
    for column in columns:
        valid = valid & column.validity()
    start = given[0]
    if name != "at":
        stop = given[1] if name == "slice" else x.size
        first = np.clip(start, 0, x.size)
        part = x.part(first, np.maximum(0, stop - first))
        return Value(result, part if valid.all() else part.take_or_null(np.arange(rows), valid))
    valid = valid & (start >= 0) & (start < x.size)
    one = x.part(np.where(valid, start, 0), valid.astype(np.int64))
    data = np.zeros(rows, x.dtype)
    there = np.flatnonzero(valid & (one.missing() == 0))
    for some, array, begin in one.in_arrays(there):
        data[some] = array[begin]
    present = np.zeros(rows, np.bool_)
    present[there] = True
    return _numbers(result, data, present)


def _array_function(expr: Call, inputs: Sequence[Segments], result: pa.DataType, scope: Scope) -> Value:
    function = expr.options[0].function
    many = pa.types.is_list(result)
    dtype = _dtype(result.value_type if many else result)

    def call(*windows: Array) -> Array:
        try:
            answer = np.asarray(function(*windows))
        except Exception as error:
            said = next(iter(str(error).splitlines()), "")
            hint = ("Copy the windows first: they are read-only." if "read-only" in said
                    else f"Call the function with np.zeros({windows[0].shape}) to find the cause.")
            raise KernelError(f"{type(error).__name__}: {said}, for windows of shape {windows[0].shape}",
                              where=expr.show(), hint=hint) from error
        shape = (len(windows[0]), "m") if many else (len(windows[0]),)
        if answer.ndim != len(shape) or len(answer) != len(windows[0]):
            wanted = str(shape).replace("'", "")
            raise KernelError(f"The function must answer an array of shape {wanted}, got {answer.shape}.",
                              where=expr.show(), hint="Answer one row per window.")
        if not np.can_cast(answer.dtype, dtype, "same_kind"):
            declared = repr(str(answer.dtype)) if not many else f"a list of {answer.dtype}"
            raise KernelError(f"The function must answer {dtype}, got {answer.dtype}.", where=expr.show(),
                              hint=f"Declare returns={declared}, or convert the answer."
                              if answer.dtype.kind in "biufc" else "Answer an array of numbers.")
        return answer.astype(dtype, copy=False)

    return _mapped(inputs, result, call)


def _mapped(inputs: Sequence[Segments], result: pa.DataType, function: Callable[..., Array],
            stride: int = 1) -> Value:
    """Apply a function of arrays (windows, size), one size after the other, to rows that are null in no column.

    `stride` is how many samples of the input one of the output stands for, where the result is a segment.
    """
    rows, sizes = len(inputs[0]), [x.size for x in inputs]
    valid = np.logical_and.reduce([complete(x) if not len(x.blocks.missing) else x.validity() & (x.size > 0)
                                   for x in inputs])
    parts = list[tuple[Array, Array]]()
    for some in _alike(sizes, valid):
        parts.append((some, function(*(x.blocks.matrix(x.position[some], int(x.size[some[0]])) for x in inputs))))
    if isinstance(result, SegmentType):
        return Value(result, _as_segments(result, inputs[0], parts, valid, stride))
    if pa.types.is_list(result):
        return _as_lists(result, parts, rows)
    out = np.zeros(rows, _dtype(result))
    for some, answer in parts:
        out[some] = answer
    return _pairs(result, out, valid) if out.dtype.kind == "c" else _numbers(result, out, valid)


def _dtype(type_: pa.DataType) -> np.dtype[Any]:
    found = sample_dtype(type_)
    assert found is not None
    return found


def _pairs(type_: pa.DataType, values: Array, valid: Array) -> Value:
    """Complex numbers as pairs of floats."""
    return Value(type_, Column.of_samples(type_, values, None if valid.all() else valid).values)


def _alike(sizes: Sequence[Array], valid: Array) -> Iterator[Array]:
    """Rows of one size, not too many at once."""
    there = np.flatnonzero(valid)
    if not len(there):
        return
    if len(there) == len(valid) and all(int(size.min()) == int(size.max()) for size in sizes):  # as windows mostly are
        groups = [(int(sizes[0][there[0]]), there)]
    else:
        kinds, kind = np.unique(np.stack([size[there] for size in sizes], axis=1), axis=0, return_inverse=True)
        groups = [(size, there[kind.reshape(-1) == number]) for number, size in enumerate(kinds[:, 0].tolist())]
    for size, some in groups:
        step = max(1, _SAMPLES_AT_ONCE // size)
        for first in range(0, len(some), step):
            yield some[first:first + step]


def _as_segments(type_: SegmentType, x: Segments, parts: Sequence[tuple[Array, Array]], valid: Array,
                 stride: int) -> Segments:
    position, size = np.zeros(len(x), np.int64), np.zeros(len(x), np.int64)
    arrays, offset = list[Array](), 0
    for some, answer in parts:
        position[some] = offset + np.arange(len(some)) * answer.shape[1]
        size[some] = answer.shape[1]
        arrays.append(np.ascontiguousarray(answer).reshape(-1))
        offset += answer.size
    blocks = SampleBlocks.of(*(arrays or [np.empty(0, x.dtype)]))
    return Segments(type_, blocks, x.index // stride, size, position, None if valid.all() else valid)


def _as_lists(type_: pa.DataType, parts: Sequence[tuple[Array, Array]], rows: int) -> Value:
    if not parts:
        return Value(type_, pa.nulls(rows, type_))
    order = np.concatenate([some for some, _ in parts])
    sizes = np.concatenate([np.full(len(some), answer.shape[1]) for some, answer in parts])
    values = np.concatenate([np.ascontiguousarray(answer).reshape(-1) for _, answer in parts])
    items = (_pairs(type_.value_type, values, np.ones(len(values), np.bool_)).data if values.dtype.kind == "c"
             else Column(type_.value_type, values).to_arrow())
    offsets = Column(pa.int32(), np.append(0, np.cumsum(sizes)).astype(np.int32)).to_arrow()
    lists = pa.ListArray.from_arrays(offsets, items, type=type_)
    if len(order) == rows and (order == np.arange(rows)).all():
        return Value(type_, lists)
    place = np.full(rows, -1, np.int64)
    place[order] = np.arange(len(order))
    return Value(type_, lists.take(Column(pa.int64(), np.maximum(place, 0), place >= 0).to_arrow()))


def _majority(*windows: Array) -> Array:
    """The bits that more than half of the windows have."""
    dtype = windows[0].dtype
    if dtype.kind not in "iu":
        raise KernelError("majority() cannot vote on missing samples.", where="majority()",
                          hint="Remove such ranges with where(col.x.seg.missing() == 0).")
    words = [np.ascontiguousarray(each).view(f"u{dtype.itemsize}") for each in windows]
    counts = list[Array]()  # of set bits, one binary digit in each array
    for word in words:
        carry = word
        for digit, count in enumerate(counts):
            counts[digit], carry = count ^ carry, count & carry
        if len(counts) < len(words).bit_length():
            counts.append(carry)
    most = np.zeros_like(words[0])
    ties = ~most
    for digit in reversed(range(len(counts))):  # more than a half, from the highest digit on
        if len(words) // 2 >> digit & 1:
            ties = ties & counts[digit]
        else:
            most, ties = most | (ties & counts[digit]), ties & ~counts[digit]
    return most.view(dtype)


def _correlated(inputs: Sequence[Segments], result: pa.DataType) -> Value:
    """Correlations of two columns; what several correlations of a column have in common is computed once."""
    sizes = {size for x in inputs if len(x) for size in (int(x.size.min()), int(x.size.max()))}
    whole = len(sizes) == 1 and all(complete(x).all() for x in inputs)
    if not whole or len(inputs[0]) * sizes.pop() > _SAMPLES_AT_ONCE:
        return _mapped(inputs, result, _correlation)
    for x in inputs:
        if "distance" not in x.memo:
            x.memo["distance"], x.memo["squares"] = _distances(x.matrix())
    return Value(result, _cosine(*((x.memo["distance"], x.memo["squares"]) for x in inputs)))


def _correlation(first: Array, second: Array) -> Array:
    return _cosine(_distances(first), _distances(second))


def _distances(windows: Array) -> tuple[Array, Array]:
    """Of each sample from the mean of its window, and the sum of their squares."""
    with np.errstate(all="ignore"):
        x = windows - windows.mean(axis=1, keepdims=True, dtype=np.float64)
        return x, (x * x).sum(axis=1)


def _cosine(first: tuple[Array, Array], second: tuple[Array, Array]) -> Array:
    (x, of_x), (y, of_y) = first, second
    with np.errstate(all="ignore"):
        return np.asarray((x * y).sum(axis=1) / np.sqrt(of_x * of_y))
