"""Casts that may fail, and clocks of time zones."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import ExpressionError, KernelError

VALUES = {
    "s": ["1", "x", "3.5", "-7", None, "99999999999999999999"], "f": [1.5, float("nan"), 1e30, -2.5, None, 3.0],
    "i": [1, 300, -1, 70000, None, 2**40], "d": ["2020-01-02", "2020-13-01", "x", "2020-02-30", None, "2021-05-06"],
    "b": ["true", "false", "x", "1", None, "0"]}
LOG = wb.from_arrow(pa.table({"at": pa.array(range(6), pa.int64()), **VALUES}), time="at")


@pytest.mark.parametrize(("column", "type_", "expected"), [
    ("s", "int64", [1, None, None, -7, None, None]), ("s", float, [1.0, None, 3.5, -7.0, None, 1e20]),
    ("f", int, [1, None, None, -2, None, 3]), ("i", "int16", [1, 300, -1, None, None, None]),
    ("i", "uint8", [1, None, None, None, None, None]), ("i", str, ["1", "300", "-1", "70000", None, "1099511627776"]),
    ("d", "date32", [date(2020, 1, 2), None, None, None, None, date(2021, 5, 6)]),
    ("d", "timestamp[s]", [datetime(2020, 1, 2), None, None, None, None, datetime(2021, 5, 6)]),
    ("b", bool, [True, False, None, True, None, False]),
    ("f", "decimal(3, 1)", [Decimal("1.5"), None, None, Decimal("-2.5"), None, Decimal("3.0")]),
    ("s", "decimal(5, 2)", [Decimal("1.00"), None, Decimal("3.50"), Decimal("-7.00"), None, None]),
])
def test_what_does_not_fit_is_null(column: str, type_: object, expected: list[object]) -> None:
    assert LOG.select(x=col(column).try_cast(type_)).collect()["x"].to_pylist() == expected  # type: ignore[arg-type]


TEXTS = ["0x1f", "+5", "-5", " 5", "0X1F", "-0x1f", "+", "++5", "+-5", "007", "+1.5", "1e3", "+0x1", None, "-0", "5\n"]
READ = [None, 5, -5, None, None, None, None, None, None, 7, None, None, None, None, 0, None]


@pytest.mark.parametrize("text", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())], ids=str)
@pytest.mark.parametrize("type_", ["int64", "int8"])
def test_texts_of_integers_are_decimal(text: pa.DataType, type_: str) -> None:
    log = wb.from_arrow(pa.table({"at": range(len(TEXTS)), "s": pa.array(TEXTS).cast(text)}), time="at")
    assert log.select(y=col.s.cast(type_, errors="null")).collect()["y"].to_pylist() == READ
    fitting = [n for n, value in enumerate(READ) if value is not None]
    only = wb.from_arrow(pa.table({"at": fitting, "s": pa.array([TEXTS[n] for n in fitting]).cast(text)}), time="at")
    assert only.select(y=col.s.cast(type_)).collect()["y"].to_pylist() == [READ[n] for n in fitting]
    for bad in ("0x1f", "+0x1f", "x", "++5"):
        one = wb.from_arrow(pa.table({"at": [1], "s": pa.array([bad]).cast(text)}), time="at")
        with pytest.raises(KernelError, match="Cannot cast: Failed to parse string") as caught:
            one.select(y=col.s.cast(type_)).collect()
        assert 'errors="null"' in caught.value.hint


def test_literals_of_integers_are_decimal() -> None:
    found = LOG.select(a=wb.lit("0x1f").try_cast(int), b=wb.lit("+7").cast(int)).collect()
    assert (found["a"].to_pylist(), found["b"].to_pylist()) == ([None] * 6, [7] * 6)


def test_values_that_fit_are_those_of_cast() -> None:
    numbers = wb.from_arrow({"at": range(100), "x": [f"{n * n}" for n in range(100)]}, time="at")
    both = numbers.select(a=col.x.cast("int32"), b=col.x.try_cast("int32")).collect()
    assert both["a"].to_pylist() == both["b"].to_pylist()


def test_literals_and_branches() -> None:
    found = LOG.select(a=wb.lit("x").try_cast(int), b=wb.lit("7").try_cast(int),
                       c=wb.when(col.s.is_null()).then(0).otherwise(col.s.try_cast(int).fill_null(-1))).collect()
    assert found["a"].to_pylist() == [None] * 6
    assert found["b"].to_pylist() == [7] * 6
    assert found["c"].to_pylist() == [1, -1, -1, -7, 0, -1]


def test_a_cast_that_no_value_has_is_refused() -> None:
    with pytest.raises(ExpressionError, match="Cannot cast"):
        LOG.with_columns(t=wb.start_time().cast("timestamp[s]")).select(x=col.t.try_cast(bool))


WALLS = [datetime(2024, 3, 31, 2, 30), datetime(2024, 10, 27, 2, 30), datetime(2024, 7, 1, 12), None]


def test_when_a_clock_shows_a_time() -> None:
    """As PostgreSQL and DuckDB have it: the later one of two; a skipped time has the offset from before."""
    walls = wb.from_arrow(pa.table({"at": pa.array(range(4), pa.int64()), "t": pa.array(WALLS, pa.timestamp("us"))}),
                          time="at")
    found = walls.select(t=col.t.dt.at_time_zone("Europe/Berlin")).collect()["t"]
    assert found.type == pa.timestamp("us", "Europe/Berlin")
    assert found.cast(pa.timestamp("us", "UTC")).to_pylist() == [
        datetime(2024, 3, 31, 1, 30, tzinfo=UTC), datetime(2024, 10, 27, 1, 30, tzinfo=UTC),
        datetime(2024, 7, 1, 10, tzinfo=UTC), None]


def test_what_a_clock_shows() -> None:
    instants = wb.from_arrow(pa.table({"at": pa.array([0], pa.timestamp("s", "UTC"))}), time="at")
    found = instants.select(t=col.at.dt.at_time_zone("Asia/Kolkata")).collect()["t"]
    assert found.type == pa.timestamp("s")
    assert found.to_pylist() == [datetime(1970, 1, 1, 5, 30)]


def test_zones_and_types_are_checked() -> None:
    with pytest.raises(ExpressionError, match="There is no time zone 'Mars'"):
        LOG.select(t=col.d.try_cast("timestamp[s]").dt.at_time_zone("Mars"))
    with pytest.raises(ExpressionError, match="A clock shows times, got int64"):
        LOG.select(t=col.i.dt.at_time_zone("UTC"))


FIRST, LAST = -62_135_596_800, 253_402_300_799
"""Seconds of years 1 to 9999."""


@pytest.mark.parametrize(("type_", "least", "greatest"), [
    ("timestamp[s]", FIRST, LAST), ("timestamp[ms]", FIRST * 1000, LAST * 1000 + 999),
    ("timestamp[us]", FIRST * 10**6, LAST * 10**6 + 999_999), ("date64", FIRST * 1000, LAST * 1000),
    ("timestamp[ns]", -2**63, 2**63 - 1), ("time64[us]", 0, 86_400 * 10**6 - 1)])
def test_casts_give_years_1_to_9999(type_: str, least: int, greatest: int) -> None:
    rows = [least, greatest, None, *(each for each in (least - 1, greatest + 1) if -2**63 <= each < 2**63)]
    log = wb.from_arrow({"at": range(len(rows)), "n": pa.array(rows, pa.int64())}, time="at")
    found = log.select(t=col.n.cast(type_, errors="null")).collect()["t"]
    assert found.is_valid().to_pylist() == [each is not None and least <= each <= greatest for each in rows]
    assert found.cast(pa.int64()).to_pylist()[:3] == rows[:3]
    assert log.where(col.n.between(least, greatest)).select(t=col.n.cast(type_)).collect().num_rows == 2
    if len(rows) > 3:
        words = "of a day" if type_ == "time64[us]" else "of years 1 to 9999"
        with pytest.raises(KernelError, match=f"^Cannot cast {rows[3]} to .*: it is outside {words}") as caught:
            log.select(t=col.n.cast(type_)).collect()
        assert 'errors="null"' in caught.value.hint


def test_other_casts_to_times_that_do_not_fit() -> None:
    far = pa.array([253_402_300_800, 2**62, 0, None], pa.int64()).cast(pa.timestamp("s"))
    days = pa.array([date(9999, 12, 31), date(1, 1, 1), date(1970, 1, 1), None])
    log = wb.from_arrow(pa.table({"at": range(4), "t": far, "d": days, "s": ["0000-01-01", "10000-01-01", "1970-01-01",
                                                                             None]}), time="at")
    for x, type_ in ((col.t, "date32"), (col.t, "date64"), (col.t, "time64[us]"), (col.d, "timestamp[ns]"),
                     (col.d.cast("date64"), "timestamp[ns]"), (col.s, "timestamp[us]"), (col.s, "date32")):
        found = log.select(y=x.cast(type_, errors="null")).collect()["y"].is_valid().to_pylist()
        assert found == [False, False, True, False], (x, type_)
        with pytest.raises(KernelError, match=r"9999|outside the range of timestamp\[ns\]|Failed to parse"):
            log.select(y=x.cast(type_)).collect()
    assert log.select(y=col.s.str.strptime("%Y-%m-%d")).collect()["y"].is_valid().to_pylist() == [
        False, False, True, False]
