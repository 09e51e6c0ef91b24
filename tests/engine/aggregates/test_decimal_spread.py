"""Variance, deviation and quantiles of decimals, and the deviation of durations, against Python's fractions."""

from __future__ import annotations

import math
import random
from datetime import timedelta
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import ExpressionError, KernelError
from whimbrel.kernels import tier

TYPES = [pa.decimal32(9, 2), pa.decimal64(18, 4), pa.decimal128(5, -2), pa.decimal128(9, 9), pa.decimal128(18, 3),
         pa.decimal128(38, 3), pa.decimal256(60, 3), pa.decimal256(74, 0)]
MANY = Context(prec=200)
ASKED = {"var": wb.var(col.x), "std": wb.std(col.x), "all": wb.var(col.x, sample=False), "mid": wb.median(col.x),
         "low": wb.quantile(col.x, 0.1), "high": wb.quantile(col.x, 0.25, descending=True)}
WINDOWS = {
    "tumbling": (lambda log: log.tumbling_window(20), lambda at, start: start <= at < start + 20),
    "sliding": (lambda log: log.sliding_window(13), lambda at, start: start - 13 < at <= start),
    "hopping": (lambda log: log.hopping_window(20, 5), lambda at, start: start - 15 <= at < start + 5),
}


def values_of(type_: pa.DataType) -> list[Decimal | None]:
    """Close together and far from zero, on both of its sides, or missing."""
    rng = random.Random(str(type_))
    far = 10 ** (type_.precision - 1)
    return [None if rng.random() < 0.1 else
            Decimal(rng.choice([far, far, -far]) + rng.randrange(100)).scaleb(-type_.scale, MANY) for _ in range(80)]


def quantile(values: list[Fraction], share: Fraction) -> Fraction:
    position = share * (len(values) - 1)
    below = values[int(position)]
    above = values[min(int(position) + 1, len(values) - 1)]
    return below + (above - below) * (position - int(position))


def expected(values: list[Fraction]) -> dict[str, Any]:
    if not values:
        return dict.fromkeys(ASKED)
    values, many = sorted(values), len(values)
    mean = sum(values) / many
    distances = sum((value - mean) ** 2 for value in values)
    var = float(distances / (many - 1)) if many > 1 else None
    return {"var": var, "std": None if var is None else math.sqrt(var), "all": float(distances / many),
            "mid": quantile(values, Fraction(1, 2)), "low": quantile(values, Fraction(1, 10)),
            "high": quantile(values, Fraction(3, 4))}


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_nothing_is_rounded_but_the_float_at_the_end(type_: pa.DataType, window: str) -> None:
    values = values_of(type_)
    windowed, active = WINDOWS[window]
    log = wb.from_arrow(pa.table({"t": range(len(values)), "x": pa.array(values, type_)}), time="t")
    found = windowed(log).aggregate(**ASKED).collect().to_pylist()
    assert found
    for row in found:
        right = expected([Fraction(value) for at, value in enumerate(values)
                          if value is not None and active(at, row["start"])])
        assert {name: value if isinstance(value, float | None) else Fraction(value)
                for name, value in row.items() if name in right} == right


def test_a_compiled_loop_says_the_same() -> None:
    type_ = pa.decimal128(38, 3)
    values = values_of(type_)
    log = wb.from_arrow(pa.table({"t": range(len(values)), "x": pa.array(values, type_)}), time="t")
    query = log.sliding_window(13).aggregate(var=wb.var(col.x))
    with tier("interpreted"):
        slow = query.collect()
    with tier("compiled"):
        assert query.collect() == slow


def test_a_quantile_has_the_digits_that_it_needs() -> None:
    cents = pa.array([Decimal("0.01"), Decimal("0.02")], pa.decimal128(10, 2))
    log = wb.from_arrow({"t": [0, 0], "x": cents}, time="t")
    found = log.aggregate(mid=wb.median(col.x), third=wb.quantile(col.x, 1 / 3)).collect()
    assert found.to_pylist()[0] | {"start": 0} == {
        "start": 0, "end": 1, "mid": Decimal("0.015"), "third": Decimal("0.01333333333")}
    assert found.schema.field("mid").type == pa.decimal128(11, 3)
    full = pa.array([Decimal(1), Decimal(2), Decimal(-1), Decimal(-2)], pa.decimal256(76, 0))
    halves = wb.from_arrow({"t": [0, 0, 5, 5], "x": full}, time="t").aggregate(mid=wb.median(col.x)).collect()
    assert halves["mid"].to_pylist() == [Decimal(2), Decimal(-2)]


def test_the_deviation_of_durations_is_one() -> None:
    rng = np.random.default_rng(3)
    ticks = rng.integers(-10**15, 10**15, 40)
    log = wb.from_arrow({"t": range(40), "x": pa.array(ticks, pa.duration("us"))}, time="t")
    found = log.tumbling_window(10).aggregate(s=wb.std(col.x), p=wb.std(col.x, sample=False)).collect().to_pylist()
    for row in found:
        values = [Fraction(int(value)) for value in ticks[row["start"] : row["end"]]]
        mean = sum(values) / 10
        distances = sum((value - mean) ** 2 for value in values)
        for name, many in (("s", 9), ("p", 10)):
            got = row[name] // timedelta(microseconds=1)
            assert (got - Fraction(1, 2)) ** 2 <= distances / many <= (got + Fraction(1, 2)) ** 2


@pytest.mark.parametrize(("ticks", "right"), [([0, 1], 0), ([0, 3], 2), ([7, 7], 0),
                                              ([-2**63 + 1, 2**63 - 1], 2**63 - 1)])
def test_halves_of_a_tick_are_rounded_to_the_even_one(ticks: list[int], right: int) -> None:
    log = wb.from_arrow({"t": [0, 0], "x": pa.array(ticks, pa.int64()).cast(pa.duration("s"))}, time="t")
    found = log.aggregate(s=wb.std(col.x, sample=False)).collect()["s"]
    assert found.cast(pa.int64()).to_pylist() == [right]


def test_what_has_no_meaning_says_why() -> None:
    log = wb.from_arrow({"t": [0, 0], "x": pa.array([-2**63 + 1, 2**63 - 1], pa.int64()).cast(pa.duration("ns")),
                         "d": pa.array([Decimal(1), Decimal(2)], pa.decimal128(9, 0))}, time="t")
    with pytest.raises(ExpressionError, match="squared time") as caught:
        log.aggregate(v=wb.var(col.x))
    assert "std" in str(caught.value.hint)
    with pytest.raises(KernelError, match="overflows duration"):
        log.aggregate(v=wb.std(col.x)).collect()
    with pytest.raises(ExpressionError, match="approx_quantile") as caught:
        log.aggregate(v=wb.approx_quantile(col.d, 0.5))
    assert "quantile(...)" in str(caught.value.hint)


@pytest.mark.parametrize("asked", [wb.sum(col.d), wb.mean(col.d), wb.var(col.d), wb.median(col.d), wb.sum(col.d) * 2,
                                   wb.sum(col.i, widen=True)], ids=lambda asked: asked.show())
def test_intervals_of_decimals_are_refused_in_words(asked: Any) -> None:
    many = 20_000
    cents = pa.array(range(many)).cast(pa.decimal128(20, 0))
    log = wb.from_arrow({"t": range(many), "i": range(many), "d": cents}, time="t")
    query = log.tumbling_window(many).aggregate(v=asked)
    updates = list(query.progressive(every="25%"))
    assert "reads decimals" in updates[0].summary
    assert updates[-1].table["v"].to_pylist() == query.collect()["v"].to_pylist()
