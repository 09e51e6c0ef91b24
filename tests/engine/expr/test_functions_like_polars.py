"""Functions against those of Polars that have the same names or the same meaning, on rows with corner cases."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta

import polars as pl
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.expr import Expr

NAN, INF = math.nan, math.inf
STRUCTS = pa.struct([("a", pa.int64()), ("b", pa.string())])
TABLE = pa.table({
    "x": pa.array([0.5, -2.25, None, NAN, INF, 0.0, 1e-20], pa.float64()),
    "y": pa.array([1.5, 0.0, 2.0, None, -1.0, -0.5, 3.0], pa.float64()),
    "i": pa.array([3, -4, None, 0, 2**40, -1, 7], pa.int64()),
    "s": [" ab1 ", "x-y-z", None, "7", "", "Ärger über ß", "-12"],
    "r": ["b", None, "c", "d", "e", "f", "12"],
    "d": pa.array([date(2024, 2, 29), date(1969, 12, 28), None, date(2023, 1, 1), date(2021, 1, 1), date(2020, 12, 31),
                   date(1900, 3, 1)]),
    "t": pa.array([datetime(2024, 2, 29, 13, 5, 7, 123456), datetime(1969, 12, 31, 23, 59, 59, 1), None,
                   datetime(2023, 1, 1), datetime(2021, 1, 3, 12), datetime(2020, 12, 31, 0, 30),
                   datetime(2024, 3, 30, 2, 30)], pa.timestamp("us")),
    "l": pa.array([[3, 1, None], [], None, [2, 2], [None], [-5, 7, 7], [0]], pa.list_(pa.int64())),
    "w": pa.array([["a", "b"], [], None, ["c"], ["", "d"], ["e", "e"], ["f"]], pa.list_(pa.string())),
    "v": pa.array([{"a": 1, "b": "u"}, {"a": None, "b": "v"}, None, {"a": 3, "b": None}, {"a": 4, "b": ""},
                   {"a": 5, "b": "w"}, {"a": 6, "b": "x"}], STRUCTS),
    "j": ['{"a":{"b":[1,2]}}', '{"a":{}}', None, "{}", '{"a":{"b":["z"]}}', "[1]", '{"a":null}'],
})
LOG = wb.from_arrow(TABLE.append_column("at", pa.array(range(TABLE.num_rows))), time="at")
FRAME = pl.from_arrow(TABLE)
p = pl.col

CASES: dict[str, tuple[Expr, pl.Expr]] = {
    **{name: (getattr(col.x, name)(), getattr(p("x"), name)()) for name in (
        "sin", "cos", "tan", "sinh", "cosh", "tanh", "degrees", "radians", "cbrt", "sign", "log10", "log1p", "is_nan",
        "is_finite", "abs", "sqrt", "exp", "log", "floor", "ceil")},
    **{name: (getattr(col.x.tanh(), name)(),
              getattr(p("x").tanh(), f"arc{name[1:]}")())
       for name in ("asin", "acos", "atan")},
    "atan2": (col.x.atan2(col.y), pl.arctan2("x", "y")),
    "log2": (col.x.log2(), p("x").log(2)),
    "expm1": (col.y.expm1(), p("y").exp() - 1),
    "hypot": (col.x.hypot(col.y), (p("x") ** 2 + p("y") ** 2).sqrt()),
    "clip": (col.x.clip(-1, 0.25), p("x").clip(-1, 0.25)),
    "clip at one end": (col.i.clip(0), p("i").clip(0)),
    "mod": (col.i.mod(3), p("i").mod(3)),
    "pow": (col.x.pow(2), p("x").pow(2)),
    "least": (wb.least(col.i, 2), pl.min_horizontal("i", pl.lit(2))),
    "greatest": (wb.greatest(col.i, 2), pl.max_horizontal("i", pl.lit(2))),
    "round": (col.x.round(1), p("x").round(1)),
    "bitwise_and": (col.i.bitwise_and(6), p("i").and_(6)),
    "bitwise_or": (col.i.bitwise_or(6), p("i").or_(6)),
    "bitwise_xor": (col.i.bitwise_xor(6), p("i").xor(6)),
    "bitwise_not": (col.i.bitwise_not(), ~p("i")),
    "strip": (col.s.str.strip(), p("s").str.strip_chars()),
    "strip characters": (col.s.str.strip("x-z"), p("s").str.strip_chars("x-z")),
    "lstrip": (col.s.str.lstrip(), p("s").str.strip_chars_start()),
    "rstrip": (col.s.str.rstrip(), p("s").str.strip_chars_end()),
    "replace": (col.s.str.replace("-", "+"), p("s").str.replace_all("-", "+", literal=True)),
    "replace once": (col.s.str.replace("-", "+", count=1), p("s").str.replace("-", "+", literal=True)),
    "replace regex": (col.s.str.replace("[a-z]+", "_", regex=True),
                      p("s").str.replace_all("[a-z]+", "_")),
    "extract": (col.s.str.extract("([a-z])([0-9])", 2), p("s").str.extract("([a-z])([0-9])", 2)),
    "slice": (col.s.str.slice(1, 3), p("s").str.slice(1, 2)),
    "head": (col.s.str.head(2), p("s").str.head(2)),
    "head below 0": (col.s.str.head(-2), p("s").str.head(-2)),
    "tail": (col.s.str.tail(2), p("s").str.tail(2)),
    "pad_start": (col.s.str.pad_start(6, "*"), p("s").str.pad_start(6, "*")),
    "pad_end": (col.s.str.pad_end(6, "*"), p("s").str.pad_end(6, "*")),
    "zfill": (col.s.str.zfill(5), p("s").str.zfill(5)),
    "concat": (col.s.str.concat(col.r, separator="/"), pl.concat_str("s", "r", separator="/")),
    "format": (wb.format("{}={}", col.s, col.i), pl.format("{}={}", "s", "i")),
    "reverse": (col.s.str.reverse(), p("s").str.reverse()),
    "title": (col.r.str.title(), p("r").str.to_titlecase()),
    "count_matches": (col.s.str.count_matches("[a-z]", regex=True), p("s").str.count_matches("[a-z]")),
    "len_bytes": (col.s.str.len_bytes(), p("s").str.len_bytes()),
    "length": (col.s.str.length(), p("s").str.len_chars()),
    "to_integer": (col.s.str.to_integer(), p("s").str.to_integer(strict=False)),
    "to_float": (col.s.str.to_float(), p("s").cast(pl.Float64, strict=False)),
    "strptime": (col.d.cast("string").str.strptime("%Y-%m-%d"),
                 p("d").cast(pl.String).str.strptime(pl.Datetime("us"), "%Y-%m-%d")),
    "like": (col.s.str.like("%b_%"), p("s").str.contains("(?s)^.*b..*$")),
    "ilike": (col.s.str.ilike("%B_%"), p("s").str.contains("(?si)^.*b..*$")),
    "json_extract": (col.j.str.json_extract("$.a.b[0]"), p("j").str.json_path_match("$.a.b[0]")),
    **{name: (getattr(col.t.dt, name), getattr(p("t").dt, name)()) for name in (
        "year", "quarter", "month", "week", "iso_year", "day", "hour", "minute", "second", "millisecond", "microsecond",
        "nanosecond", "date", "time")},
    "day_of_year": (col.t.dt.day_of_year, p("t").dt.ordinal_day()),
    "weekday": (col.t.dt.weekday + 1, p("t").dt.weekday()),
    "is_weekend": (col.d.dt.is_weekend, p("d").dt.weekday() > 5),
    "epoch": (col.t.dt.epoch("s"), p("t").dt.epoch("s")),
    "epoch ms": (col.t.dt.epoch("ms"), p("t").dt.epoch("ms")),
    "strftime": (col.t.dt.strftime("%d.%m.%y %H:%M:%S %j %a"),
                 p("t").dt.strftime("%d.%m.%y %H:%M:%S %j %a")),
    "to_timezone": (col.t.dt.to_timezone("Asia/Kolkata").dt.hour,
                    p("t").dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Kolkata").dt.hour()),
    "replace_timezone": (col.t.dt.replace_timezone("America/New_York").dt.epoch("s"),
                         p("t").dt.replace_time_zone("America/New_York").dt.epoch("s")),
    "dt.floor": (col.t.dt.floor("1mo"), p("t").dt.truncate("1mo")),
    "dt.floor week": (col.t.dt.floor("1w"), p("t").dt.truncate("1w")),
    "dt.round": (col.t.dt.round("1h"), p("t").dt.round("1h")),
    "dt.ceil": (col.t.dt.ceil("15m"), (p("t") - timedelta(microseconds=1)).dt.truncate("15m").dt
                .offset_by("15m")),
    **{f"dt.{name} {step} of dates": (getattr(col.d.dt, name)(step), getattr(p("d").dt, theirs)(step))
       for name, theirs in (("floor", "truncate"), ("round", "round")) for step in ("3d", "1w", "1mo", "1q", "1y")},
    "dt.ceil of dates": (col.d.dt.ceil("1mo"), (p("d") - timedelta(days=1)).dt.truncate("1mo").dt.offset_by("1mo")),
    "days_between": (col.d.dt.days_between(col.t),
                     (p("t").dt.date() - p("d")).dt.total_days()),
    "total_seconds": ((col.t - col.t.dt.floor("1y")).dt.total_seconds,
                      (p("t") - p("t").dt.truncate("1y")).dt.total_microseconds() / 1e6),
    "business_days": (col.d.dt.business_days(col.t, holidays=[date(2024, 1, 1)]),
                      pl.business_day_count("d", p("t").dt.date(), holidays=[date(2024, 1, 1)])),
    "list.length": (col.l.list.length(), p("l").list.len()),
    "list.get": (col.l.list.get(-2), p("l").list.get(-2, null_on_oob=True)),
    "list.get of rows": (col.l.list.get(col.i), p("l").list.get("i", null_on_oob=True)),
    "list.slice of rows": (col.l.list.slice(col.i.clip(0), col.i.clip(0) + 2),
                           pl.when(p("i").is_not_null()).then(p("l").list.slice(p("i").clip(0), 2))),
    "list.slice": (col.l.list.slice(1, 3), p("l").list.slice(1, 2)),
    "list.contains": (col.l.list.contains(7), p("l").list.contains(7, nulls_equal=False)),
    **{f"list.{name}": (getattr(col.l.list, name)(), getattr(p("l").list, name)())
       for name in ("sum", "mean", "min", "max")},
    "list.sort": (col.l.list.sort(), p("l").list.sort(nulls_last=True)),
    "list.sort descending": (col.l.list.sort(descending=True),
                             p("l").list.sort(descending=True, nulls_last=True)),
    "list.unique": (col.l.list.unique(), p("l").list.unique(maintain_order=True)),
    "list.join": (col.w.list.join("-"), p("w").list.join("-")),
    "field": (col.v.field("b"), p("v").struct.field("b")),
    "coalesce": (wb.coalesce(col.i, col.l.list.get(0), -1), pl.coalesce("i", p("l").list.get(
        0, null_on_oob=True), pl.lit(-1))),
    "fill_null": (col.y.fill_null(col.x), p("y").fill_null(p("x"))),
    "nullif": (col.i.nullif(0), pl.when(p("i") != 0).then("i")),
    "cast": (col.s.cast("int64", errors="null"), p("s").cast(pl.Int64, strict=False)),
    "try_cast": (col.s.try_cast("float64"), p("s").cast(pl.Float64, strict=False)),
}


@pytest.mark.parametrize("name", CASES)
def test_functions_mean_the_same(name: str) -> None:
    ours, theirs = CASES[name]
    found = LOG.select(y=ours).collect()["y"].to_pylist()
    expected = FRAME.select(y=theirs)["y"].to_list()
    assert len(found) == len(expected) == TABLE.num_rows
    for one, other in zip(found, expected, strict=True):
        if isinstance(one, float) and isinstance(other, float):
            assert one == other or one == pytest.approx(other, rel=1e-14, abs=1e-15, nan_ok=True)
        else:
            assert one == other


def test_hash_is_of_values_only() -> None:
    first, again = (LOG.select(y=each.hash()).collect()["y"].to_pylist() for each in (col.i, col.i.cast("int64")))
    assert first == again
    assert [each is None for each in first] == [each is None for each in TABLE["i"].to_pylist()]
    assert len(set(first)) == TABLE.num_rows


def test_haversine_is_a_degree_of_the_equator() -> None:
    found = LOG.select(y=wb.haversine(0.0, col.y, 0.0, col.y + 1)).collect()["y"].to_pylist()
    degree = 2 * math.pi * 6_371_008.8 / 360
    assert found == [None if y is None else pytest.approx(degree, rel=1e-12) for y in TABLE["y"].to_pylist()]


def test_unnest_and_explode() -> None:
    frame = FRAME.select("v", "i")
    assert LOG.select("v", "i").unnest("v").collect().drop(["start", "end"]).to_pylist() == \
        frame.unnest("v").to_dicts()
    found = LOG.select("i", "l").explode("l").collect().drop(["start", "end"]).to_pylist()
    without_empty = FRAME.select("i", "l").filter(p("l").list.len() > 0)  # Polars gives an empty list a row
    assert found == without_empty.explode("l").to_dicts()
