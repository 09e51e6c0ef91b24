"""One column of each Arrow type, with values that repeat and a null; and one query for each operation."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

import whimbrel as wb
from whimbrel import col

_DAY, _TIME = date(2024, 2, 29), time(12, 34, 56)
_AT = datetime(2024, 2, 29, 12, 34, 56, tzinfo=UTC)
_NAIVE = _AT.replace(tzinfo=None)
_LONG = timedelta(days=1, seconds=5)

VALUES: dict[str, tuple[pa.DataType, Any, Any]] = {
    **{str(type_): (type_, 3, 100) for type_ in (
        pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32())},
    "uint64": (pa.uint64(), 3, 2**64 - 1),
    **{str(type_): (type_, 1.5, -2.25) for type_ in (pa.float16(), pa.float32(), pa.float64())},
    "bool": (pa.bool_(), True, False), "null": (pa.null(), None, None),
    **{str(type_): (type_, "a", "bé") for type_ in (pa.string(), pa.large_string(), pa.string_view())},
    **{str(type_): (type_, b"a", b"\xff\x00") for type_ in (pa.binary(), pa.large_binary(), pa.binary_view())},
    "binary(2)": (pa.binary(2), b"ab", b"\xff\x00"),
    **{str(type_): (type_, Decimal("1.50"), Decimal("-2.25")) for type_ in (
        pa.decimal32(5, 2), pa.decimal64(10, 2), pa.decimal128(20, 2), pa.decimal256(60, 2))},
    "date32": (pa.date32(), _DAY, date(1969, 1, 1)), "date64": (pa.date64(), _DAY, date(1969, 1, 1)),
    **{str(type_): (type_, _TIME, time(0, 0)) for type_ in (
        pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"))},
    **{str(type_): (type_, _NAIVE, _NAIVE - _LONG) for type_ in (
        pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("ns"))},
    "timestamp[us, tz=Europe/Vienna]": (pa.timestamp("us", "Europe/Vienna"), _AT, _AT - _LONG),
    **{str(type_): (type_, _LONG, -_LONG) for type_ in (
        pa.duration("s"), pa.duration("ms"), pa.duration("us"), pa.duration("ns"))},
    "interval": (pa.month_day_nano_interval(), pa.MonthDayNano([1, 2, 3]), pa.MonthDayNano([0, 1, 0])),
    "list": (pa.list_(pa.int64()), [1, None], []), "large_list": (pa.large_list(pa.string()), ["a"], []),
    "fixed_size_list": (pa.list_(pa.int32(), 2), [1, 2], [3, None]),
    "list_view": (pa.list_view(pa.int64()), [1, 2], []), "large_list_view": (pa.large_list_view(pa.int64()), [1], []),
    "list of decimal32": (pa.list_(pa.decimal32(5, 2)), [Decimal("1.50")], []),
    "struct": (pa.struct([("a", pa.int64()), ("b", pa.string())]), {"a": 1, "b": "x"}, {"a": None, "b": "y"}),
    "struct of list": (pa.struct([("a", pa.list_(pa.large_string()))]), {"a": ["x"]}, {"a": []}),
    "map": (pa.map_(pa.string(), pa.int64()), [("a", 1)], []),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), "a", "bé"),
    "dictionary of int": (pa.dictionary(pa.int32(), pa.int64()), 3, 100),
    "dictionary of decimal64": (pa.dictionary(pa.int8(), pa.decimal64(10, 2)), Decimal("1.50"), Decimal("-2.25")),
    "run_end_encoded": (pa.run_end_encoded(pa.int32(), pa.string()), "a", "b"),
    "run_end_encoded of int": (pa.run_end_encoded(pa.int16(), pa.int64()), 3, 100),
    "run_end_encoded of dictionary": (
        pa.run_end_encoded(pa.int32(), pa.dictionary(pa.int8(), pa.string())), "a", "b"),
    "json as string_view": (pa.json_(pa.string_view()), '{"a": 1}', "[]"),
    "struct of string_view": (pa.struct([("a", pa.string_view())]), {"a": "x"}, {"a": None}),
    "struct of runs": (pa.struct([("a", pa.run_end_encoded(pa.int32(), pa.string()))]), {"a": "x"}, {"a": "y"}),
    "list of string_view": (pa.list_(pa.string_view()), ["x", None], []),
    "list of struct": (pa.list_(pa.struct([("a", pa.large_string())])), [{"a": "x"}, None], []),
    "list_view of large_string": (pa.list_view(pa.large_string()), ["x", None], []),
    "fixed_size_list of large_string": (pa.list_(pa.large_string(), 2), ["x", None], ["y", "z"]),
    "map of views": (pa.map_(pa.string_view(), pa.large_string()), [("a", "x")], []),
    "empty struct": (pa.struct([]), {}, {}),
    "decimal128 of negative scale": (pa.decimal128(10, -2), Decimal(100), Decimal(-2500)),
    "decimal256 of negative scale": (pa.decimal256(60, -2), Decimal(100), Decimal(-2500)),
    "dictionary of uuid": (pa.dictionary(pa.int8(), pa.uuid()), uuid.UUID(int=1), uuid.UUID(int=2**127)),
    "list of uuid": (pa.list_(pa.uuid()), [uuid.UUID(int=1)], []),
    "dense_union": (pa.dense_union([pa.field("a", pa.int64()), pa.field("b", pa.string())]), 1, "x"),
    "sparse_union": (pa.sparse_union([pa.field("a", pa.int64()), pa.field("b", pa.string())]), 1, "x"),
    "uuid": (pa.uuid(), uuid.UUID(int=1), uuid.UUID(int=2**127)),
    "json": (pa.json_(), '{"a": 1}', "[]"), "bool8": (pa.bool8(), True, False),
    "tensor": (pa.fixed_shape_tensor(pa.int32(), [2]), [1, 2], [3, 4]),
    "opaque": (pa.opaque(pa.binary(), "thing", "vendor"), b"a", b"b"),
}
"""A type, and two values of it."""


def column(name: str) -> pa.Array:
    """One, the other, null, one."""
    type_, one, other = VALUES[name]
    return array([one, other, None, one], type_)


def array(values: list[Any], type_: pa.DataType) -> pa.Array:
    if pa.types.is_run_end_encoded(type_):
        return pa.RunEndEncodedArray.from_arrays(
            pa.array(range(1, len(values) + 1), type_.run_end_type), array(values, type_.value_type))
    if pa.types.is_dictionary(type_):
        distinct = [value for at, value in enumerate(values) if value is not None and value not in values[:at]]
        codes = [None if value is None else distinct.index(value) for value in values]
        return pa.DictionaryArray.from_arrays(pa.array(codes, type_.index_type), array(distinct, type_.value_type))
    if isinstance(type_, pa.BaseExtensionType):
        storage = [None if value is None else value.bytes if isinstance(value, uuid.UUID) else int(value)
                   if isinstance(value, bool) else value for value in values]
        return type_.wrap_array(array(storage, type_.storage_type))
    if pa.types.is_union(type_):
        return union(values, type_)
    if pa.types.is_struct(type_) and any(pa.types.is_run_end_encoded(field.type) for field in type_):
        parts = [array([None if value is None else value[field.name] for value in values], field.type)
                 for field in type_]
        return pa.StructArray.from_arrays(parts, fields=list(type_), mask=pa.array([v is None for v in values]))
    if pa.types.is_list(type_) and isinstance(type_.value_type, pa.BaseExtensionType):
        ends = [0]
        for value in values:
            ends.append(ends[-1] + len(value or []))
        inside = array([part for value in values for part in value or []], type_.value_type)
        return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), inside,
                                        mask=pa.array([value is None for value in values]))
    return pa.array(values, type_)


def union(values: list[Any], type_: pa.DataType) -> pa.Array:
    """The first field holds ints and nulls, the second one texts."""
    kinds = [int(isinstance(value, str)) for value in values]
    parts = [[value if kind == at else None for value, kind in zip(values, kinds, strict=True)] for at in (0, 1)]
    children = [pa.array(part, field.type) for part, field in zip(parts, type_, strict=True)]
    codes = pa.array(kinds, pa.int8())
    names = [field.name for field in type_]
    if type_.mode == "sparse":
        return pa.UnionArray.from_sparse(codes, children, field_names=names)
    return pa.UnionArray.from_dense(codes, pa.array(range(len(values)), pa.int32()), children, field_names=names)


def log(name: str) -> wb.Stream:
    table = pa.table({"t": [0, 1, 2, 3], "k": ["a", "a", "b", "b"], "x": column(name)})
    return wb.from_arrow(table, time="t")


def window(stream: wb.Stream) -> wb.Stream:
    return stream.tumbling_window(10)


Build = Callable[[wb.Stream], Any]

_SEEN = wb.aggregate(init=0, accumulate=lambda s, x: s + len(str(x)), result=lambda s: s, name="seen")


def _aggregated(name: str, over: Build = window) -> Build:
    return lambda s: over(s).aggregate(v=getattr(wb, name)(col.x))


def _cast(target: str) -> Build:
    return lambda s: s.with_columns(y=col.x.cast(target))


CARRIED: dict[str, Build] = {
    "nothing": lambda s: s,
    "where": lambda s: s.where(col.k.is_not_null()),
    "select": lambda s: s.select("x"),
    "with_columns": lambda s: s.with_columns(y=col.x),
    "rename": lambda s: s.rename(y="x"),
    "drop": lambda s: s.drop("k"),
    "shift": lambda s: s.shift(5),
    "set_duration": lambda s: s.set_duration(4),
    "chop": lambda s: s.set_duration(4).chop(2),
    "tumbling_window": lambda s: s.tumbling_window(2),
    "hopping_window": lambda s: s.hopping_window(4, 2),
    "sliding_window": lambda s: s.sliding_window(3),
    "session_window": lambda s: s.session_window(3),
    "session_close": lambda s: s.session_window(3, emit="close"),
    "sample": lambda s: s.sample(1.0, "k"),
    "clip": lambda s: s.set_duration(3).clip_at(s.where(col.k == "b")),
    "point_at_end": lambda s: s.set_duration(3).point_at_end(),
    "union": lambda s: s.union(s.shift(10)),
    "union_with_nothing": lambda s: s.union(s.where(col.k == "none")),
    "semi_join": lambda s: s.semi_join(s.select(k=col.k), on="k"),
    "join": lambda s: s.join(s.select(k=col.k, z=col.x), on="k"),
    "left_join": lambda s: s.join(s.where(col.k == "a").select(k=col.k, z=col.x), on="k", how="left"),
    "asof_join": lambda s: s.asof_join(s.select(k=col.k, z=col.x), on="k"),
    "cross_join": lambda s: s.cross_join(s.select(z=col.x)),
    "is_null": lambda s: s.with_columns(n=col.x.is_null()),
    "count": lambda s: window(s).aggregate(v=wb.count(col.x)),
    "quantize": lambda s: s.quantize(4, 2),
    "late": lambda s: s.at_latencies(0, 5)[0],
    "all latencies": lambda s: s.at_latencies(0, 5),
}
ASKED: dict[str, Build] = {
    "when": lambda s: s.with_columns(n=wb.when(col.k == "a").then(col.x).otherwise(None)),
    "filled": lambda s: s.with_columns(n=col.x.fill_null(col.x)),
    "collected": lambda s: window(s).aggregate(v=wb.collect(col.x)),
    "first of a group": lambda s: window(s.group_by("k")).aggregate(v=wb.first(col.x)),
    "key": lambda s: window(s.group_by("x")).aggregate(n=wb.count()),
    "two keys": lambda s: window(s.group_by("k", "x")).aggregate(n=wb.count()),
    "sliding key": lambda s: s.group_by("x").sliding_window(2).aggregate(n=wb.count()),
    "session key": lambda s: s.group_by("x").session_window(5).aggregate(n=wb.count()),
    "distinct": lambda s: window(s).distinct(),
    "distinct of one": lambda s: window(s).distinct("x"),
    "join on": lambda s: s.join(s.select(x=col.x, z=col.k), on="x"),
    "semi on": lambda s: s.semi_join(s.select(x=col.x), on="x"),
    "asof on": lambda s: s.asof_join(s.select(x=col.x, z=col.k), on="x"),
    "anti on": lambda s: s.anti_join(s.select(x=col.x), on="x"),
    "stitch": lambda s: s.set_duration(2).stitch(),
    "sample by": lambda s: s.sample(0.5, "x"),
    "pivot": lambda s: window(s).pivot(attribute="k", value="x", values=["a", "b"]),
    "unpivot": lambda s: s.with_columns(y=col.x).unpivot("k"),
    "column by": lambda s: window(s).top_k(1, by="x"),
    "top_k": lambda s: window(s).top_k(1, by=col.x),
    "top": lambda s: window(s).aggregate(v=wb.top_k(col.x, 1)),
    **{name: _aggregated(name) for name in (
        "sum", "mean", "min", "max", "median", "var", "std", "product", "sum_of_squares", "first", "last", "any", "all",
        "count_distinct", "approx_count_distinct", "collect")},
    "quantile": lambda s: window(s).aggregate(v=wb.quantile(col.x, 0.5)),
    "discrete": lambda s: window(s).aggregate(v=wb.quantile(col.x, 0.5, interpolation="discrete")),
    "approx_quantile": lambda s: window(s).aggregate(v=wb.approx_quantile(col.x, 0.5)),
    **{f"sliding {name}": _aggregated(name, lambda s: s.sliding_window(3)) for name in (
        "sum", "mean", "min", "max", "median", "var", "first", "last", "count_distinct", "collect")},
    "equal": lambda s: s.where(col.x == col.x),
    "less": lambda s: s.where(col.x < col.x),
    "less than 2": lambda s: s.where(col.x < 2),
    "equal to a text": lambda s: s.where(col.x == "a"),
    "between": lambda s: s.where(col.x.between(1, 2)),
    "is_in": lambda s: s.where(col.x.is_in([1, 2])),
    "plus": lambda s: s.with_columns(y=col.x + col.x), "minus": lambda s: s.with_columns(y=col.x - col.x),
    "times": lambda s: s.with_columns(y=col.x * col.x), "divided": lambda s: s.with_columns(y=col.x / col.x),
    "floor divided": lambda s: s.with_columns(y=col.x // col.x), "modulo": lambda s: s.with_columns(y=col.x % col.x),
    "power": lambda s: s.with_columns(y=col.x ** 2), "plus 1": lambda s: s.with_columns(y=col.x + 1),
    "times 1.5": lambda s: s.with_columns(y=col.x * 1.5), "1 over": lambda s: s.with_columns(y=1 / col.x),
    "minus it": lambda s: s.with_columns(y=-col.x), "abs": lambda s: s.with_columns(y=abs(col.x)),
    "not": lambda s: s.where(~col.x), "and": lambda s: s.where(col.x & col.x),
    "as condition": lambda s: s.where(col.x),
    "as condition of an aggregate": lambda s: window(s).aggregate(n=wb.count().where(col.x)),
    "when it": lambda s: s.with_columns(y=wb.when(col.x).then(1).otherwise(2)),
    "round": lambda s: s.with_columns(y=col.x.round(1)), "floor": lambda s: s.with_columns(y=col.x.floor()),
    "sqrt": lambda s: s.with_columns(y=col.x.sqrt()),
    "fill_null 0": lambda s: s.with_columns(y=col.x.fill_null(0)),
    "fill_null text": lambda s: s.with_columns(y=col.x.fill_null("a")),
    "lower": lambda s: s.with_columns(y=col.x.str.lower()), "year": lambda s: s.with_columns(y=col.x.dt.year),
    "hour": lambda s: s.with_columns(y=col.x.dt.hour), "dt.floor": lambda s: s.with_columns(y=col.x.dt.floor("1h")),
    "field": lambda s: s.with_columns(y=col.x.field("a")),
    **{f"cast {target}": _cast(target) for target in (
        "int64", "float64", "string", "bool", "timestamp[us]", "date32", "duration[us]", "uint8", "binary")},
    "python": lambda s: s.with_columns(y=lambda e: str(e.x)),
    "explode": lambda s: s.explode("y", [col.x, col.x]),
    "items of it": lambda s: s.explode("x"),
    "detect": lambda s: s.group_by("k").detect(wb.sequence(a=col.x.is_not_null(), b=col.x == col.x), within=5),
    "progress": lambda s: window(s.group_by("k")).aggregate(v=wb.max(col.x)).progressive(block_rows=2).finish(),
    "progress key": lambda s: window(s.group_by("x")).aggregate(n=wb.count()).progressive(block_rows=2).finish(),
    "fill": lambda s: window(s.group_by("x")).aggregate(n=wb.count(), fill=True),
    "fill first": lambda s: window(s).aggregate(v=wb.first(col.x), fill=True),
    "results": lambda s: window(s).aggregate(v=wb.max(col.x).is_null(), w=wb.first(col.x)),
    "two windows": lambda s: window(s).aggregate(v=wb.max(col.x)).hopping_window(20, 10).aggregate(v=wb.max(col.v)),
    "user": lambda s: window(s).aggregate(v=_SEEN(col.x)),
}
