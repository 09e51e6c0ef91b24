"""Functions of a row with the same of Polars, Arrow and DuckDB: each is a row of a table."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

import whimbrel as wb
from whimbrel import col
from whimbrel.expr import Expr

p = pl.col
SECOND, DAY, MICRO = "%Y-%m-%d %H:%M:%S", "%Y-%m-%d", "%Y-%m-%d %H:%M:%S.%f"


@dataclass(frozen=True)
class Case:
    """One function; None for a peer that has none like it.

    Parameters
    ----------
    ours : Expr
    polars : polars.Expr, optional
    arrow : callable, optional
        Of the table in memory.
    duckdb : str, optional
        An expression in SQL.
    """

    ours: Expr
    polars: pl.Expr | None = None
    arrow: Callable[[pa.Table], Any] | None = None
    duckdb: str | None = None


def table_of(rows: int, names: Collection[str], *, nulls: bool = False) -> pa.Table:
    """Columns of random numbers, texts, times, lists, addresses and JSON; with `nulls`, a tenth of each is null."""
    random = np.random.default_rng(1)
    words = pa.array(["carefully final", "deposits détectent", "slyly regular accounts sleep", "furiously", "Requests"])

    def of(values: Any) -> Any:
        mask = random.random(rows) < 0.1 if nulls else None
        if isinstance(values, pa.Array):
            return values if mask is None else pc.if_else(pa.array(mask), pa.scalar(None, values.type), values)
        return pa.array(values, mask=mask)

    def integers(low: int, high: int, count: int = rows) -> Any:
        return random.integers(low, high, count)

    def taken(count: int = rows) -> Any:
        return words.take(pa.array(integers(0, 5, count)))

    def lists(items: Any) -> Any:
        return pa.ListArray.from_arrays(pa.array(np.arange(0, 3 * rows + 1, 3).astype(np.int32)), items)

    def times(unit: str = "us", each_ticks: int = 1_000_000) -> Any:
        return pa.array(integers(1_600_000_000 * each_ticks, 1_700_000_000 * each_ticks), pa.timestamp(unit))

    def addresses() -> Any:
        log = wb.from_arrow({"at": np.arange(rows), "a": of(integers(0, 2**32))}, time="at")
        return log.select(b=col.a.ip.to_text()).collect()["b"].combine_chunks()

    columns: dict[str, Callable[[], Any]] = {
        "x": lambda: of(random.uniform(0.1, 9.0, rows)), "y": lambda: of(random.uniform(-9.0, 9.0, rows)),
        "u": lambda: of(random.uniform(-0.9, 0.9, rows)),
        "n": lambda: of(integers(-1_000_000, 1_000_000)), "m": lambda: of(integers(0, 60)),
        "t": lambda: of(times()), "v": lambda: of(times()), "g": lambda: of(times("s", 1)),
        "z": lambda: of(times().cast(pa.timestamp("us", "Europe/Berlin"))), "e": lambda: of(times().cast(pa.date32())),
        "span": lambda: of(pa.array(integers(0, 10**12), pa.duration("us"))),
        "d": lambda: of(pc.strftime(times("s", 1), format=DAY)),
        "c": lambda: of(pc.strftime(times("s", 1), format=SECOND)),
        "f": lambda: of(pc.strftime(times(), format=SECOND)),
        "i": lambda: of(pa.array(integers(-999, 999_999)).cast(pa.string())),
        "r": lambda: of(pa.array(random.uniform(0, 999, rows).round(3)).cast(pa.string())),
        "h": lambda: of(pc.binary_join_element_wise(taken(), pa.array(np.arange(rows)).cast(pa.string()), taken(),
                                                    " ")),
        "s": lambda: of(pc.binary_join_element_wise(taken(), taken(), " ")), "q": lambda: of(taken()),
        "l": lambda: of(lists(pa.array(integers(0, 100, 3 * rows)))),
        "k": lambda: of(lists(pa.array(integers(0, 100, 3 * rows)).cast(pa.float64()))),
        "w": lambda: of(lists(taken(3 * rows))),
        "a": lambda: of(integers(0, 2**32)), "b": addresses,
        "j": lambda: of(pc.binary_join_element_wise(
            '{"a":{"b":', pa.array(integers(0, 99)).cast(pa.string()), ',"c":[1,2]}}', "")),
        "o": lambda: pa.StructArray.from_arrays([of(integers(-1_000_000, 1_000_000)),
                                                 of(random.uniform(0.1, 9.0, rows))], ["n", "x"]),
    }
    return pa.table({"at": np.arange(rows), **{name: columns[name]() for name in sorted(names)}})


def _alike(names: str, column: str, duckdb: str = "{0}({1})") -> dict[str, Case]:
    """Functions of one number that all sides call alike."""
    return {name: Case(getattr(col(column), name)(), getattr(p(column), name, lambda: None)(),
                       None if (arrow := getattr(pc, name, None)) is None else
                       lambda t, arrow=arrow: arrow(t[column]),  # type: ignore[misc]
                       duckdb.format(name, column)) for name in names.split()}


def _part(name: str, polars: pl.Expr | None = None, arrow: Any = None, duckdb: str | None = None) -> Case:
    return Case(getattr(col.t.dt, name), polars, None if arrow is None else lambda t: arrow(t["t"]), duckdb)


_PRIVATE = tuple((int(net[0]), int(net[-1])) for net in map(
    ipaddress.ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))
"""First and last addresses of private networks: peers compare numbers, and do not check texts."""
_NUMBER_OF_PARTS = reduce(lambda number, k: number * 256 + p("b").str.split_exact(".", 3).struct.field(
    f"field_{k}").cast(pl.Int64), range(4), pl.lit(0, pl.Int64))
s, t, l = col.s.str, col.t.dt, col.l.list  # noqa: E741
CASES: dict[str, Case] = {
    **_alike("abs sign ceil floor", "y"),
    **_alike("sqrt exp sin cos tan atan sinh cosh tanh", "x"), **_alike("asin acos", "u"),
    "log": Case(col.x.log(), p("x").log(), lambda t: pc.ln(t["x"]), "ln(x)"),
    "log10": Case(col.x.log10(), p("x").log10(), lambda t: pc.log10(t["x"]), "log10(x)"),
    "log2": Case(col.x.log2(), p("x").log(2), lambda t: pc.log2(t["x"]), "log2(x)"),
    "log1p": Case(col.x.log1p(), p("x").log1p(), lambda t: pc.log1p(t["x"])),
    "expm1": Case(col.x.expm1(), None, lambda t: pc.expm1(t["x"])),
    **_alike("cbrt degrees radians", "x"),
    "is_nan": Case(col.x.is_nan(), p("x").is_nan(), lambda t: pc.is_nan(t["x"]), "isnan(x)"),
    "is_finite": Case(col.x.is_finite(), p("x").is_finite(), lambda t: pc.is_finite(t["x"]), "isfinite(x)"),
    "round": Case(col.x.round(1), p("x").round(1), lambda t: pc.round(t["x"], 1), "round_even(x, 1)"),
    "atan2": Case(col.y.atan2(col.x), pl.arctan2("y", "x"), lambda t: pc.atan2(t["y"], t["x"]), "atan2(y, x)"),
    "hypot": Case(col.y.hypot(col.x), None, lambda t: pc.hypot(t["y"], t["x"])),
    "clip": Case(col.y.clip(-1, 2), p("y").clip(-1, 2), None, "greatest(least(y, 2), -1)"),
    "nullif": Case(col.m.nullif(3), p("m").replace(3, None), None, "nullif(m, 3)"),
    "mod": Case(col.n.mod(7), p("n") % 7),
    "pow": Case(col.x.pow(2.5), p("x").pow(2.5), lambda t: pc.power(t["x"], 2.5), "pow(x, 2.5)"),
    "bitwise_and": Case(col.n.bitwise_and(col.m), p("n") & p("m"), lambda t: pc.bit_wise_and(t["n"], t["m"]), "n & m"),
    "bitwise_or": Case(col.n.bitwise_or(col.m), p("n") | p("m"), lambda t: pc.bit_wise_or(t["n"], t["m"]), "n | m"),
    "bitwise_xor": Case(col.n.bitwise_xor(col.m), p("n") ^ p("m"), lambda t: pc.bit_wise_xor(t["n"], t["m"]),
                        "xor(n, m)"),
    "bitwise_not": Case(col.n.bitwise_not(), ~p("n"), lambda t: pc.bit_wise_not(t["n"]), "~n"),
    "shift_left": Case(col.m.shift_left(col.m), None, lambda t: pc.shift_left(t["m"], t["m"])),
    "shift_right": Case(col.n.shift_right(col.m), None, lambda t: pc.shift_right(t["n"], t["m"])),
    "hash": Case(col.n.hash(), p("n").hash(), None, "hash(n)"),
    "hash of texts": Case(col.s.hash(), p("s").hash(), None, "hash(s)"),
    "is_null": Case(col.n.is_null(), p("n").is_null(), lambda t: pc.is_null(t["n"]), "n IS NULL"),
    "is_not_null": Case(col.n.is_not_null(), p("n").is_not_null(), lambda t: pc.is_valid(t["n"]), "n IS NOT NULL"),
    "fill_null": Case(col.n.fill_null(7), p("n").fill_null(7), lambda t: pc.fill_null(t["n"], 7), "coalesce(n, 7)"),
    "is_in": Case(col.m.is_in([3, 12, 40]), p("m").is_in([3, 12, 40]),
                  lambda t: pc.is_in(t["m"], pa.array([3, 12, 40])), "m IN (3, 12, 40)"),
    "between": Case(col.m.between(3, 12), p("m").is_between(3, 12), None, "m BETWEEN 3 AND 12"),
    "cast": Case(col.n.cast("float64"), p("n").cast(pl.Float64), lambda t: t["n"].cast(pa.float64()), "n::DOUBLE"),
    "try_cast": Case(col.i.try_cast("int64"), p("i").cast(pl.Int64, strict=False), lambda t: t["i"].cast(pa.int64()),
                     "try_cast(i AS BIGINT)"),
    "field": Case(col.o.field("n"), p("o").struct.field("n"), lambda t: pc.struct_field(t["o"], "n"), "o.n"),
    "str.contains": Case(s.contains("regular"), p("s").str.contains("regular", literal=True),
                         lambda t: pc.match_substring(t["s"], "regular"), "contains(s, 'regular')"),
    "str.contains, regex": Case(s.contains("f[a-z]+ [rs]", regex=True), p("s").str.contains("f[a-z]+ [rs]"),
                                lambda t: pc.match_substring_regex(t["s"], "f[a-z]+ [rs]"),
                                "regexp_matches(s, 'f[a-z]+ [rs]')"),
    "str.contains, regex, distinct": Case(
        col.h.str.contains("f[a-z]+ [rs]", regex=True), p("h").str.contains("f[a-z]+ [rs]"),
        lambda t: pc.match_substring_regex(t["h"], "f[a-z]+ [rs]"), "regexp_matches(h, 'f[a-z]+ [rs]')"),
    "str.starts_with": Case(s.starts_with("slyly"), p("s").str.starts_with("slyly"),
                            lambda t: pc.starts_with(t["s"], "slyly"), "starts_with(s, 'slyly')"),
    "str.ends_with": Case(s.ends_with("final"), p("s").str.ends_with("final"), lambda t: pc.ends_with(t["s"], "final"),
                          "suffix(s, 'final')"),
    "str.index_of": Case(s.index_of("final"), None, None, "instr(s, 'final') - 1"),
    "str.lower": Case(s.lower(), p("s").str.to_lowercase(), lambda t: pc.utf8_lower(t["s"]), "lower(s)"),
    "str.upper": Case(s.upper(), p("s").str.to_uppercase(), lambda t: pc.utf8_upper(t["s"]), "upper(s)"),
    "str.length": Case(s.length(), p("s").str.len_chars(), lambda t: pc.utf8_length(t["s"]), "length(s)"),
    "str.slice": Case(s.slice(2, 9), p("s").str.slice(2, 7), lambda t: pc.utf8_slice_codeunits(t["s"], 2, 9),
                      "substring(s, 3, 7)"),
    "str.strip": Case(s.strip("fl"), p("s").str.strip_chars("fl"), lambda t: pc.utf8_trim(t["s"], "fl"),
                      "trim(s, 'fl')"),
    "str.lstrip": Case(s.lstrip(), p("s").str.strip_chars_start(), lambda t: pc.utf8_ltrim_whitespace(t["s"]),
                       "ltrim(s)"),
    "str.rstrip": Case(s.rstrip(), p("s").str.strip_chars_end(), lambda t: pc.utf8_rtrim_whitespace(t["s"]),
                       "rtrim(s)"),
    "str.replace": Case(s.replace("final", "last"), p("s").str.replace_all("final", "last", literal=True),
                        lambda t: pc.replace_substring(t["s"], "final", "last"), "replace(s, 'final', 'last')"),
    "str.replace, regex": Case(s.replace("f[a-z]+y", "so", regex=True), p("s").str.replace_all("f[a-z]+y", "so"),
                               lambda t: pc.replace_substring_regex(t["s"], "f[a-z]+y", "so"),
                               "regexp_replace(s, 'f[a-z]+y', 'so', 'g')"),
    "str.replace, regex, distinct": Case(
        col.h.str.replace("f[a-z]+y", "so", regex=True), p("h").str.replace_all("f[a-z]+y", "so"),
        lambda t: pc.replace_substring_regex(t["h"], "f[a-z]+y", "so"), "regexp_replace(h, 'f[a-z]+y', 'so', 'g')"),
    "str.split_part": Case(s.split_part(" ", 2), None, None, "split_part(s, ' ', 2)"),
    "str.extract": Case(s.extract("([a-z]+)ly", 1), p("s").str.extract("([a-z]+)ly", 1),
                        lambda t: pc.struct_field(pc.extract_regex(t["s"], "(?P<a>[a-z]+)ly"), "a"), None),
    "str.extract, distinct": Case(
        col.h.str.extract("([a-z]+)ly", 1), p("h").str.extract("([a-z]+)ly", 1),
        lambda t: pc.struct_field(pc.extract_regex(t["h"], "(?P<a>[a-z]+)ly"), "a"), None),
    "str.pad_start": Case(s.pad_start(40, "."), p("s").str.pad_start(40, "."),
                          lambda t: pc.utf8_lpad(t["s"], 40, "."), None),
    "str.pad_end": Case(s.pad_end(40, "."), p("s").str.pad_end(40, "."), lambda t: pc.utf8_rpad(t["s"], 40, "."), None),
    "str.reverse": Case(s.reverse(), p("s").str.reverse(), lambda t: pc.utf8_reverse(t["s"]), "reverse(s)"),
    "str.repeat": Case(s.repeat(2), p("s").repeat_by(2).list.join(""), lambda t: pc.binary_repeat(t["s"], 2),
                       "repeat(s, 2)"),
    "str.title": Case(s.title(), p("s").str.to_titlecase(), lambda t: pc.utf8_title(t["s"])),
    "str.zfill": Case(col.i.str.zfill(8), p("i").str.zfill(8), lambda t: pc.utf8_zero_fill(t["i"], 8)),
    "str.len_bytes": Case(s.len_bytes(), p("s").str.len_bytes(), lambda t: pc.binary_length(t["s"]), "strlen(s)"),
    "str.count_matches": Case(s.count_matches("ly"), p("s").str.count_matches("ly", literal=True),
                              lambda t: pc.count_substring(t["s"], "ly")),
    "str.head": Case(s.head(5), p("s").str.head(5), lambda t: pc.utf8_slice_codeunits(t["s"], 0, 5), "left(s, 5)"),
    "str.tail": Case(s.tail(5), p("s").str.tail(5), lambda t: pc.utf8_slice_codeunits(t["s"], -5), "right(s, 5)"),
    "str.to_integer": Case(col.i.str.to_integer(), p("i").str.to_integer(), lambda t: t["i"].cast(pa.int64()),
                           "i::BIGINT"),
    "str.to_float": Case(col.r.str.to_float(), p("r").cast(pl.Float64), lambda t: t["r"].cast(pa.float64()),
                         "r::DOUBLE"),
    "str.strptime, day": Case(col.d.str.strptime(DAY), p("d").str.strptime(pl.Datetime("us"), DAY),
                              lambda t: pc.strptime(t["d"], format=DAY, unit="us"), f"strptime(d, '{DAY}')"),
    "str.strptime, second": Case(col.c.str.strptime(SECOND), p("c").str.strptime(pl.Datetime("us"), SECOND),
                                 lambda t: pc.strptime(t["c"], format=SECOND, unit="us"), f"strptime(c, '{SECOND}')"),
    "str.strptime, micro": Case(col.f.str.strptime(MICRO), p("f").str.strptime(pl.Datetime("us"), SECOND + "%.f"), None,
                                f"strptime(f, '{MICRO}')"),
    "str.like": Case(s.like("%final%s"), None, lambda t: pc.match_like(t["s"], "%final%s"), "s LIKE '%final%s'"),
    "str.ilike": Case(s.ilike("%FINAL%s"), None, lambda t: pc.match_like(t["s"], "%FINAL%s", ignore_case=True),
                      "s ILIKE '%FINAL%s'"),
    "str.json_extract": Case(col.j.str.json_extract("$.a.b"), p("j").str.json_path_match("$.a.b"), None, None),
    "str.concat": Case(s.concat(col.q, separator="-"), pl.concat_str("s", "q", separator="-"),
                       lambda t: pc.binary_join_element_wise(t["s"], t["q"], "-"), "s || '-' || q"),
    "dt.year": _part("year", p("t").dt.year(), pc.year, "year(t)"),
    "dt.month": _part("month", p("t").dt.month(), pc.month, "month(t)"),
    "dt.day": _part("day", p("t").dt.day(), pc.day, "day(t)"),
    "dt.hour": _part("hour", p("t").dt.hour(), pc.hour, "hour(t)"),
    "dt.hour, in a zone": Case(col.z.dt.hour, p("z").dt.hour(), lambda t: pc.hour(t["z"])),
    "dt.minute": _part("minute", p("t").dt.minute(), pc.minute, "minute(t)"),
    "dt.second": _part("second", p("t").dt.second(), pc.second, "second(t)"),
    "dt.weekday": _part("weekday", p("t").dt.weekday() - 1, pc.day_of_week, "isodow(t) - 1"),
    "dt.millisecond": _part("millisecond", p("t").dt.millisecond(), pc.millisecond),
    "dt.microsecond": _part("microsecond", p("t").dt.microsecond()),
    "dt.nanosecond": _part("nanosecond", p("t").dt.nanosecond()),
    "dt.iso_year": _part("iso_year", p("t").dt.iso_year(), pc.iso_year, "isoyear(t)"),
    "dt.date": _part("date", p("t").dt.date(), lambda t: t.cast(pa.date32()), "t::DATE"),
    "dt.is_weekend": _part("is_weekend", p("t").dt.weekday() > 5, None, "isodow(t) > 5"),
    "dt.quarter": _part("quarter", p("t").dt.quarter(), pc.quarter, "quarter(t)"),
    "dt.week": _part("week", p("t").dt.week(), pc.iso_week, "week(t)"),
    "dt.day_of_year": _part("day_of_year", p("t").dt.ordinal_day(), pc.day_of_year, "dayofyear(t)"),
    "dt.floor, hours": Case(t.floor("1h"), p("t").dt.truncate("1h"), lambda t: pc.floor_temporal(t["t"], 1, "hour"),
                            "date_trunc('hour', t)"),
    "dt.floor": Case(t.floor("1mo"), p("t").dt.truncate("1mo"), lambda t: pc.floor_temporal(t["t"], 1, "month"),
                     "date_trunc('month', t)::TIMESTAMP"),
    "dt.floor, in a zone": Case(col.z.dt.floor("1d"), p("z").dt.truncate("1d"),
                                lambda t: pc.floor_temporal(t["z"], 1, "day")),
    "dt.ceil": Case(t.ceil("15m"), None, lambda t: pc.ceil_temporal(t["t"], 15, "minute")),
    "dt.round": Case(t.round("1h"), p("t").dt.round("1h"), lambda t: pc.round_temporal(t["t"], 1, "hour")),
    "dt.at_time_zone": Case(col.z.dt.at_time_zone("Asia/Tokyo"),
                            p("z").dt.convert_time_zone("Asia/Tokyo").dt.replace_time_zone(None),
                            lambda t: pc.local_timestamp(t["z"].cast(pa.timestamp("us", "Asia/Tokyo")))),
    "dt.time": _part("time", None, lambda t: t.cast(pa.time64("us")), "t::TIME"),
    "dt.total_seconds": Case(col.span.dt.total_seconds, p("span").dt.total_seconds(fractional=True)),
    "dt.epoch": Case(t.epoch("s"), p("t").dt.epoch("s"), None, "epoch_us(t) // 1000000"),
    "dt.strftime": Case(t.strftime(SECOND), p("t").dt.strftime(SECOND), None, f"strftime(t, '{SECOND}')"),
    "dt.strftime, day": Case(t.strftime("%d.%m.%Y"), p("t").dt.strftime("%d.%m.%Y"), None, "strftime(t, '%d.%m.%Y')"),
    "dt.strftime, micro": Case(t.strftime(MICRO), p("t").dt.strftime(MICRO.replace(".%f", "%.6f")), None,
                               f"strftime(t, '{MICRO}')"),
    "dt.to_timezone": Case(col.z.dt.to_timezone("Asia/Tokyo"), p("z").dt.convert_time_zone("Asia/Tokyo"),
                           lambda t: t["z"].cast(pa.timestamp("us", "Asia/Tokyo"))),
    "dt.replace_timezone": Case(t.replace_timezone("Asia/Tokyo"), p("t").dt.replace_time_zone("Asia/Tokyo"),
                                lambda t: pc.assume_timezone(t["t"], "Asia/Tokyo")),
    "dt.days_between": Case(t.days_between(col.v), None, lambda t: pc.days_between(t["t"], t["v"]),
                            "date_diff('day', t, v)"),
    "dt.date_diff": Case(t.date_diff(col.v, "month"), None, None, "date_diff('month', t, v)"),
    "dt.business_days": Case(t.business_days(col.v), pl.business_day_count(p("t").dt.date(), p("v").dt.date())),
    "list.length": Case(l.length(), p("l").list.len(), lambda t: pc.list_value_length(t["l"]), "len(l)"),
    "list.get": Case(l.get(1), p("l").list.get(1, null_on_oob=True), lambda t: pc.list_element(t["l"], 1), "l[2]"),
    "list.slice": Case(l.slice(1, 3), p("l").list.slice(1, 2), lambda t: pc.list_slice(t["l"], 1, 3), "l[2:3]"),
    "list.contains": Case(l.contains(5), p("l").list.contains(5), None, "list_contains(l, 5)"),
    "list.sum": Case(l.sum(), p("l").list.sum(), None, "list_sum(l)::BIGINT"),
    "list.sum, floats": Case(col.k.list.sum(), p("k").list.sum(), None, "list_sum(k)"),
    "list.mean": Case(l.mean(), p("l").list.mean(), None, "list_avg(l)"),
    "list.min": Case(l.min(), p("l").list.min(), None, "list_min(l)"),
    "list.max": Case(l.max(), p("l").list.max(), None, "list_max(l)"),
    "list.max, floats": Case(col.k.list.max(), p("k").list.max(), None, "list_max(k)"),
    "list.sort": Case(l.sort(), p("l").list.sort(), None, "list_sort(l)"),
    "list.unique": Case(l.unique(), p("l").list.unique(maintain_order=True)),
    "list.join": Case(col.w.list.join("-"), p("w").list.join("-"), lambda t: pc.binary_join(t["w"], "-"),
                      "array_to_string(w, '-')"),
    "ip.to_text": Case(col.a.ip.to_text(), pl.concat_str(*((p("a") // 256**k) % 256 for k in (3, 2, 1, 0)),
                                                         separator="."), None,
                       "concat_ws('.', a >> 24, (a >> 16) & 255, (a >> 8) & 255, a & 255)"),
    "ip.to_ipv4": Case(col.b.ip.to_ipv4(), _NUMBER_OF_PARTS, None, "+".join(
        f"split_part(b, '.', {k + 1})::BIGINT * {256**(3 - k)}" for k in range(4))),
    "ip.to_ipv6": Case(col.a.ip.to_ipv6()),
    "ip.version": Case(col.b.ip.version(), pl.when(p("b").str.contains(":", literal=True)).then(6).otherwise(4), None,
                       "CASE WHEN contains(b, ':') THEN 6 ELSE 4 END"),
    "ip.is_private": Case(col.a.ip.is_private(), pl.any_horizontal(*(
        p("a").is_between(first, last) for first, last in _PRIVATE)), None, " OR ".join(
            f"a BETWEEN {first} AND {last}" for first, last in _PRIVATE)),
    "ip.in_prefix": Case(col.a.ip.in_prefix("10.0.0.0/8"), p("a").is_between(*_PRIVATE[0]),
                         lambda t: pc.and_(pc.greater_equal(t["a"], _PRIVATE[0][0]),
                                           pc.less_equal(t["a"], _PRIVATE[0][1])),
                         f"a BETWEEN {_PRIVATE[0][0]} AND {_PRIVATE[0][1]}"),
    "ip.network": Case(col.a.ip.network(24), p("a") & 0xFFFFFF00, lambda t: pc.bit_wise_and(t["a"], 0xFFFFFF00),
                       f"a & {0xFFFFFF00}"),
    "ip.lookup": Case(col.a.ip.lookup(wb.prefix_table({"10.0.0.0/8": "x"})),
                      pl.when(p("a").is_between(*_PRIVATE[0])).then(pl.lit("x")), None,
                      f"CASE WHEN a BETWEEN {_PRIVATE[0][0]} AND {_PRIVATE[0][1]} THEN 'x' END"),
    "wb.greatest": Case(wb.greatest(col.x, col.y), pl.max_horizontal("x", "y"),
                        lambda t: pc.max_element_wise(t["x"], t["y"]), "greatest(x, y)"),
    "wb.least": Case(wb.least(col.x, col.y), pl.min_horizontal("x", "y"),
                     lambda t: pc.min_element_wise(t["x"], t["y"]), "least(x, y)"),
    "wb.coalesce": Case(wb.coalesce(col.x, col.y), pl.coalesce("x", "y"), lambda t: pc.coalesce(t["x"], t["y"]),
                        "coalesce(x, y)"),
    "wb.format": Case(wb.format("{} of {}", col.m, col.q), pl.format("{} of {}", "m", "q"), None,
                      "format('{} of {}', m, q)"),
    "wb.haversine": Case(wb.haversine(col.x, col.y, 48.8, 2.3)),
    "wb.concat_list": Case(wb.concat_list(col.x, col.y), None, None, "list_value(x, y)"),
    "wb.when": Case(wb.when(col.m > 30).then(col.x).otherwise(col.y), pl.when(p("m") > 30).then("x").otherwise("y"),
                    lambda t: pc.if_else(pc.greater(t["m"], 30), t["x"], t["y"]), "CASE WHEN m > 30 THEN x ELSE y END"),
}
"""Functions by the names of their reference page, and after a comma other arguments of some of them."""
