"""Functions with loops of their own: the same interpreted and compiled, as in plain Python, on random corner cases."""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest

from tests.engine.expr.tables import batch
from whimbrel import col
from whimbrel.expr import Expr, evaluate
from whimbrel.kernels import tier

NAN, INF = math.nan, math.inf
FLOATS = [0.0, -0.0, 1.5, -2.25, NAN, INF, -INF, 1e300, 5e-324, None]
INTEGERS = [0, 1, -1, 7, 2**63 - 1, -(2**63), 2**62, -(2**62), None]
TEXTS = ["", "-", "+", "+5", "-7", "-0", "007", "123456789012345678", "1234567890123456789", "-9223372036854775808",
         "9223372036854775808", "1 ", " 1", "0x1F", "12a", "1.5", None, "٣", "5\n", "--1", "1-", "9" * 5000, "ä" * 5000,
         "0" * 5000 + "42"]
TIMES = ["2024-02-29 23:59:59", "2023-02-29 00:00:00", "2024-2-9 1:2:3", "1969-12-31 23:59:59", "1900-02-29 00:00:00",
         "0001-01-01 00:00:00", "9999-12-31 23:59:59", "2024-13-01 00:00:00", "2024-00-01 00:00:00",
         "2024-01-01 24:00:00", "2024-01-01 00:60:00", "2024-01-01 00:00:60", "2024-01-01  00:00:00",
         "2024-01-01 00:00:00 ", "2024-01-01T00:00:00", "", None, "é", "2024-04-31 00:00:00", "x" * 5000]


def both(expr: Expr, **columns: Any) -> list[Any]:
    """The values of whole and of sliced columns, which are those of the interpreted tier too."""
    of = batch(**columns)
    with tier("interpreted"):
        plain = evaluate(expr, of).to_arrow()
    with tier("primitives"):
        for start, stop in ((0, len(of)), (3, len(of) - 1), (2, 2)):
            found = evaluate(expr, of.slice(start, stop)).to_arrow()
            assert bits(found) == bits(plain.slice(start, stop - start)), expr
    return plain.to_pylist()


def bits(values: pa.Array) -> list[Any]:
    return [None if each is None else each.hex() if isinstance(each, float) else each for each in values.to_pylist()]


def lists_of(items: list[Any], type_: pa.DataType, kind: Any) -> pa.Array:
    rng = random.Random(5)
    rows = [[], None, [None], [None, None], *([rng.choice(items) for _ in range(rng.randrange(9))] for _ in range(200)),
            items * 40, []]
    return pa.array(rows, kind(type_))


@pytest.mark.parametrize("kind", (pa.list_, pa.large_list))
def test_lists_of_integers(kind: Any) -> None:
    lists = lists_of(INTEGERS, pa.int64(), kind)
    kept = [None if row is None else [item for item in row if item is not None] for row in lists.to_pylist()]

    def wanted(function: Any) -> list[Any]:
        return [None if row is None else function(row) for row in kept]

    x = col.x.list
    assert both(x.sum(), x=lists) == wanted(lambda row: total if -(2**63) <= (total := sum(row)) < 2**63 else None)
    assert both(x.min(), x=lists) == wanted(lambda row: min(row, default=None))
    assert both(x.max(), x=lists) == wanted(lambda row: max(row, default=None))
    assert both(x.contains(7), x=lists) == wanted(lambda row: 7 in row)
    values = pa.array([INTEGERS[row % len(INTEGERS)] for row in range(len(lists))], pa.int64())
    assert both(x.contains(col.y), x=lists, y=values) == [
        None if row is None or value is None else value in row
        for row, value in zip(kept, values.to_pylist(), strict=True)]
    for type_ in (pa.int8(), pa.uint32(), pa.uint64(), pa.int32()):
        small = lists_of([0, 1, 100, None], type_, kind)
        assert both(x.sum(), x=small) == [None if row is None else sum(filter(None, row)) for row in small.to_pylist()]


@pytest.mark.parametrize("type_", (pa.float64(), pa.float32()))
def test_lists_of_floats_are_taken_in_order(type_: pa.DataType) -> None:
    lists = lists_of([*FLOATS[:4], 0.1, 1e17, None], type_, pa.list_)
    kept = [None if row is None else [item for item in row if item is not None] for row in lists.to_pylist()]
    sums = [None if row is None else float(np.add.accumulate([0.0, *row])[-1]) for row in kept]
    assert both(col.x.list.sum(), x=lists) == sums
    assert both(col.x.list.mean(), x=lists) == [None if not row else total / len(row)
                                                for row, total in zip(kept, sums, strict=True)]
    assert both(col.x.list.max(), x=lists) == [None if not row else max(row) for row in kept]
    strange = lists_of(FLOATS, type_, pa.list_)
    for expr, pick in ((col.x.list.min(), min), (col.x.list.max(), max)):
        for found, row in zip(both(expr, x=strange), strange.to_pylist(), strict=True):
            items = [item for item in row or () if item is not None]
            numbers = [item for item in items if not math.isnan(item)]
            if not items:
                assert found is None
            elif not numbers or (pick is max and len(numbers) < len(items)):
                assert math.isnan(found)
            else:
                assert found == pick(numbers)


def test_hashes_and_bits() -> None:
    floats, integers = pa.array(FLOATS * 3), pa.array(INTEGERS * 3)
    zero, negative = both(col.x.hash(), x=floats)[:2]
    assert zero == negative
    assert both(col.x.hash(), x=pa.array(floats.to_pylist(), pa.float32()))[:6] == both(col.x.hash(), x=floats)[:6]
    assert both(col.x.hash(), x=integers)[:2] == [0xE220A8397B1DCDAF >> 1, 5225608189600411232]
    assert both(col.x.hash(), x=integers.cast(pa.timestamp("us"))) == both(col.x.hash(), x=integers)
    assert both(col.x.is_nan(), x=floats) == [None if each is None else math.isnan(each) for each in floats.to_pylist()]
    assert both(col.x.is_finite(), x=floats) == [None if each is None else math.isfinite(each)
                                                 for each in floats.to_pylist()]
    assert both(col.x.bitwise_xor(6), x=integers) == [None if each is None else each ^ 6 for each in INTEGERS * 3]
    counts = pa.array(list(range(-3, 24)))
    assert both(col.x.shift_right(col.n), x=integers, n=counts) == [
        None if each is None or count < 0 else each >> count
        for each, count in zip(INTEGERS * 3, counts.to_pylist(), strict=True)]
    assert both(col.x.shift_left(65), x=integers) == [None] * 27


@pytest.mark.parametrize("type_", (pa.string(), pa.large_string()))
def test_texts_to_integers(type_: pa.DataType) -> None:
    def plain(text: str | None) -> int | None:
        sign, digits = ("-" if (text or "").startswith("-") else "", (text or "").removeprefix("-"))
        digits = "5" if text == "+5" else digits
        text = sign + digits.lstrip("0").rjust(1, "0")
        right = digits.isascii() and digits.isdigit() and len(text) < 100
        return int(text) if right and -(2**63) <= int(text) < 2**63 else None

    assert both(col.x.str.to_integer(), x=pa.array(TEXTS * 2, type_)) == [plain(text) for text in TEXTS * 2]


@pytest.mark.parametrize("type_", (pa.string(), pa.large_string()))
def test_length_of_texts(type_: pa.DataType) -> None:
    assert both(col.x.str.length(), x=pa.array(TEXTS * 2, type_)) == [
        None if text is None else len(text) for text in TEXTS * 2]


@pytest.mark.parametrize("type_", (pa.string(), pa.large_string()))
def test_hashes_of_texts(type_: pa.DataType) -> None:
    def stirred(word: int) -> int:
        word = (word + 0x9E3779B97F4A7C15) % 2**64
        word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
        return word ^ word >> 31

    def plain(text: str) -> int:
        data = text.encode()
        one, other, at = len(data), 0x9E3779B97F4A7C15, 0
        while at + 16 < len(data):
            low, high = (int.from_bytes(data[at + shift : at + shift + 8], "little") for shift in (0, 8))
            one, other, at = stirred(one ^ low), stirred(other ^ high), at + 16
        if len(data) < 8:
            one ^= int.from_bytes(data, "big")
        else:
            begin = max(0, len(data) - 16)
            one ^= int.from_bytes(data[begin : begin + 8], "little")
            other ^= int.from_bytes(data[-8:], "little")
        return stirred(stirred(one) ^ other) >> 1

    texts = [*TEXTS, *(("ab€" * 20)[:size] for size in range(40))]
    assert both(col.x.hash(), x=pa.array(texts, type_)) == [None if text is None else plain(text) for text in texts]


@pytest.mark.parametrize("unit", ("s", "us", "ns"))
@pytest.mark.parametrize("form", ("%Y-%m-%d %H:%M:%S", "%F %T"))
def test_texts_to_times(unit: str, form: str) -> None:
    def plain(text: str | None) -> datetime | None:
        try:
            found = datetime.strptime(text or "", "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
        except ValueError:
            return None
        return found.replace(tzinfo=None) if unit != "ns" or 1678 <= found.year <= 2261 else None

    usual = [text for text in TIMES if text not in ("0001-01-01 00:00:00", "9999-12-31 23:59:59", "2024-01-01 00:00:60",
                                                    "2024-01-01  00:00:00", "2024-01-01 00:00:00 ")]
    many = [str(datetime(1700, 1, 1) + timedelta(days=97 * day, seconds=7919 * day)) for day in range(2_000)]
    assert both(col.x.str.strptime(form, unit=unit), x=pa.array([*usual, *many])) == [
        plain(text) for text in [*usual, *many]]
    both(col.x.str.strptime(form, unit=unit), x=pa.array(TIMES * 2, pa.large_string()))


def test_fractions_and_offsets_of_times() -> None:
    texts = [f"2024-05-06T07:08:09.{'123456789'[:digits]}{zone}" for digits in range(10)
             for zone in ("+0000", "-05:30", "+01", "Z", "+2500", "", "+14:00")]
    found = both(col.x.str.strptime("%Y-%m-%dT%H:%M:%S.%f%z", unit="ns").dt.epoch("ns"), x=pa.array(texts))
    seconds = int(datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC).timestamp())
    for text, nanos in zip(texts, found, strict=True):
        digits, zone = text[20:].rstrip("Z").partition("+" if "+" in text else "-05")[::2]
        shift = {"0000": 0, ":30": -19_800}.get(zone)
        if shift is not None and digits and not text.endswith("Z"):
            assert nanos == (seconds - shift) * 10**9 + int(digits.ljust(9, "0")), text
        elif not digits:
            assert nanos is None, text


@pytest.mark.parametrize("form", ("%Y-%m-%d", "%d.%m.%Y %H:%M:%S", "%F %T.%f", "%H%M%%", "ä%Y%m%dT%R"))
@pytest.mark.parametrize("zone", (None, "America/New_York"))
def test_times_to_texts(form: str, zone: str | None) -> None:
    rng = random.Random(9)
    known = [datetime(1000, 1, 2), datetime(1969, 12, 31, 23, 59, 59, 999_999), datetime(2024, 2, 29, 12), None,
             datetime(2000, 12, 31), datetime(2024, 11, 3, 5, 59), datetime(2024, 11, 3, 6), datetime(9999, 12, 30)]
    times = [*known, *(datetime(1970, 1, 1) + timedelta(microseconds=rng.randrange(-10**16, 2 * 10**15))
                       for _ in range(300))]
    wall = times if zone is None else [
        None if each is None else each.replace(tzinfo=UTC).astimezone(ZoneInfo(zone)) for each in times]
    long = form.replace("%F", "%Y-%m-%d").replace("%T", "%H:%M:%S").replace("%R", "%H:%M")
    assert both(col.x.dt.strftime(form), x=pa.array(times, pa.timestamp("us", zone))) == [
        None if each is None else each.strftime(long) for each in wall]
    if zone is None:
        days = pa.array(times).cast(pa.date32())
        assert both(col.x.dt.strftime(form), x=days) == [
            None if day is None else datetime(day.year, day.month, day.day).strftime(long) for day in days.to_pylist()]


def test_membership_of_few_and_of_many_numbers() -> None:
    for values in (INTEGERS, FLOATS):
        x = pa.array(values * 3)
        for sought in ([7], [0, 1], [1.5, -2.25, 0.0], list(range(20))):
            if x.type == pa.int64() and 1.5 in sought:
                continue
            assert both(col.x.is_in(sought), x=x) == [None if each is None else each in sought for each in values * 3]
