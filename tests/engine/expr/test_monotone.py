"""Monotone analysis against brute force: what it says of an expression holds for all values."""

from __future__ import annotations

import math
import random
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.batch import Field, Schema
from whimbrel.errors import WhimbrelError
from whimbrel.expr import Expr
from whimbrel.expr.monotone import NoOrder, ValueOrder, order_of

ORDERED = {
    "up": ValueOrder("increasing", strict=True), "natural": ValueOrder("increasing", positive=True),
    "down": ValueOrder("decreasing", strict=True), "banded": ValueOrder("increasing", band=5),
    "small": ValueOrder("increasing"), "f": ValueOrder("increasing"), "ts": ValueOrder("increasing"),
    "local": ValueOrder("increasing"),
}
TYPES = {"up": pa.int64(), "natural": pa.int64(), "down": pa.int64(), "banded": pa.int64(), "small": pa.int32(),
         "f": pa.float64(), "ts": pa.timestamp("s"), "local": pa.timestamp("s", "Europe/Berlin"), "wild": pa.int64()}
SCHEMA = Schema(tuple(Field(name, type_) for name, type_ in TYPES.items()))


def values(draw: random.Random, rows: int = 40) -> dict[str, list[Any]]:
    """Columns in the orders that are promised."""
    def upward(low: int, high: int, *, strict: bool = False) -> list[int]:
        return sorted(draw.sample(range(low, high), rows)) if strict else sorted(
            draw.randrange(low, high) for _ in range(rows))

    band, newest = [], -50
    for _ in range(rows):
        newest = max(newest, newest + draw.randrange(-2, 6))
        band.append(newest - draw.randrange(6))
    seconds = upward(1_729_900_000, 1_730_100_000)
    return {"up": upward(-60, 60, strict=True), "natural": upward(0, 30), "down": upward(-60, 60, strict=True)[::-1],
            "banded": band, "small": upward(-9, 9), "f": [each / 7 for each in upward(-99, 99)], "ts": seconds,
            "local": seconds, "wild": [draw.randrange(-9, 9) for _ in range(rows)]}


def expression(draw: random.Random, depth: int) -> Expr:
    if depth == 0 or draw.random() < 0.15:
        name = draw.choice(["up", "up", "natural", "natural", "down", "banded", "small", "f", "wild"])
        return col[name] if draw.random() < 0.8 else wb.lit(draw.choice([-3, 0, 2, 7, 0.5, -1.25]))
    x, y = expression(draw, depth - 1), expression(draw, depth - 1)
    number = draw.choice([-3, -1, 0, 1, 2, 7, 0.5, -1.25])
    return draw.choice([
        lambda: x + y, lambda: x - y, lambda: x * number, lambda: number * x, lambda: x // number, lambda: x / number,
        lambda: x * y, lambda: -x, lambda: x % 5, lambda: x.cast("double"), lambda: x.cast("int64"), lambda: x + number,
        lambda: number - x, x.floor, x.round, lambda: x // y, x.abs,
        lambda: x // 7 + wb.when((x < 0) & (x % 7 != 0)).then(1).otherwise(0),
        lambda: wb.when(x > 0).then(x).otherwise(y)])()


TIMES = {
    "minute": col.ts.dt.floor("1m"), "day": col.ts.dt.floor("1d"), "year": col.ts.dt.year, "hour": col.ts.dt.hour,
    "weekday": col.ts.dt.weekday, "local day": col.local.dt.floor("1d"), "local minute": col.local.dt.floor("1m"),
    "local hour": col.local.dt.hour, "ticks": col.ts.cast("int64") // 3600, "date": col.ts.dt.floor("1w"),
}


def check(expr: Expr, columns: dict[str, list[Any]]) -> bool:
    """Whether an order was found; it then holds for these values."""
    try:
        found = order_of(expr, SCHEMA, ORDERED)
        table = pa.table({name: pa.array(columns[name], type_) for name, type_ in TYPES.items()})
        rows = wb.from_arrow({"at": range(table.num_rows)} | {name: table[name] for name in TYPES}, time="at")
        made = rows.select(v=expr).collect()["v"]
    except WhimbrelError:
        return False  # an expression without a type, or an overflow
    if isinstance(found, NoOrder):
        return False
    if pa.types.is_timestamp(made.type):
        made = made.cast(pa.int64())
    seen = [each for each in made.to_pylist() if each is not None and not math.isnan(each)]
    shown = f"{expr.show()}: {found} {seen}"
    sign = -1 if found.direction == "decreasing" else 1
    farthest = None
    for number in seen:
        assert not found.positive or number >= 0, shown
        if farthest is not None:
            assert found.direction != "constant" or number == farthest, shown
            assert sign * number >= farthest - found.band, shown
            assert not found.strict or sign * number > farthest, shown
        farthest = sign * number if farthest is None else max(farthest, sign * number)
    return True


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 25))])
def test_an_order_that_is_found_holds(seed: int) -> None:
    draw = random.Random(seed)
    found = sum(check(expression(draw, draw.randrange(1, 4)), values(draw)) for _ in range(120))
    assert found > 15


@pytest.mark.parametrize("name", TIMES)
def test_functions_of_time(name: str) -> None:
    draw = random.Random(name)
    assert check(TIMES[name], values(draw)) == (name not in ("hour", "weekday", "local hour"))


@pytest.mark.share(4)
@pytest.mark.parametrize(("zone", "day", "back"), [
    ("Europe/Berlin", 20_022, 3_600), ("Australia/Lord_Howe", 19_819, 3_600), ("America/Goose_Bay", 6_877, 7_200),
    ("Pacific/Kwajalein", -93, 82_800)])
def test_times_rounded_by_local_clocks_are_banded(zone: str, day: int, back: int) -> None:
    """Days on which clocks go back; on Kwajalein a whole day less an hour came twice, in 1969."""
    times = pa.array(range((day - 1) * 86_400, (day + 2) * 86_400, 900), pa.timestamp("s", zone))
    stream = wb.from_arrow({"ts": times}, time="ts")
    for size, seconds in (("30m", 1_800), ("1h", 3_600), ("2h", 7_200), ("6h", 21_600)):
        expr = col.ts.dt.floor(size)
        found = order_of(expr, stream.schema, {"ts": ValueOrder("increasing")})
        assert found == ValueOrder("increasing", band=seconds + back)
        made = stream.select(v=expr).collect()["v"].cast(pa.int64()).to_pylist()
        assert all(value >= most - seconds - back for value, most in zip(made, accumulate(made, max), strict=True))


@pytest.mark.parametrize(("expr", "part", "reason"), [
    (col.up % 60 + 1, "col.up % 60", "repeats"),
    (col.ts.dt.hour, "col.ts.dt.hour", "repeats"),
    (col.local.dt.year, "col.local.dt.year", "reads clocks of Europe/Berlin, which go back"),
    (col.up * col.small, "col.up * col.small", "multiplies values that may be negative"),
    (col.up - col.natural, "col.up - col.natural", "adds values of opposite order"),
    (col.up.cast("int32"), "col.up.cast('int32')", "is a narrowing cast"),
    (10 / col.natural, "10 / col.natural", "divides by a value that is not a literal"),
    (col.wild + 1, "col.wild", "is in no order"),
    (col.up > 3, "col.up > 3", "is a condition"),
])
def test_the_reason_names_the_part(expr: Expr, part: str, reason: str) -> None:
    assert order_of(expr, SCHEMA, ORDERED) == NoOrder(part, reason)


@pytest.mark.parametrize(("expr", "order"), [
    (col.up // 60 + 3, ValueOrder("increasing")), (2 * col.up - 1, ValueOrder("increasing", strict=True)),
    (col.down * -2, ValueOrder("increasing", strict=True)), (-col.banded, ValueOrder("decreasing", band=5)),
    (col.banded * 3, ValueOrder("increasing", band=15)), (col.banded // 2, ValueOrder("increasing", band=3)),
    (col.natural * col.natural, ValueOrder("increasing", positive=True)),
    (col.up * 0, ValueOrder("constant", positive=True)),
    (col.up // 7 + wb.when((col.up < 0) & (col.up % 7 != 0)).then(1).otherwise(0), ValueOrder("increasing")),
    (col.small.cast("int64"), ValueOrder("increasing")), (col.ts.dt.year, ValueOrder("increasing")),
])
def test_the_order(expr: Expr, order: ValueOrder) -> None:
    assert order_of(expr, SCHEMA, ORDERED) == order
