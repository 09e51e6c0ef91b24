"""Values at the ends of what numbers can be, in every physical form, against exact fractions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.kernels import tier

INF, NAN, LEAST, MOST = math.inf, math.nan, -(2**63), 2**63 - 1
FLOATS = {
    "below everything": [-INF, 5.0], "above everything": [5.0, INF], "both": [-INF, INF],
    "twice below": [-INF, -INF, 5.0, 6.0],
    "no number": [NAN, 1.0, -INF], "only that": [NAN, NAN], "far apart": [-1e308, 1e308],
    "huge": [1e308, 1.7e308, 1e308],
    "huge and small": [1e308, 1.0, -1e308, 3.0], "denormal": [5e-324, 1e-320, -5e-324], "equal": [0.1] * 7,
    "equal and huge": [1.7e308] * 3, "equal and small": [1e-5] * 9, "one ulp": [1.0, 1.0 + 2**-52, 1.0],
    "far from 0": [1e15 + 0.125, 1e15 + 0.25, 1e15 + 0.5], "zeros": [0.0, -0.0], "one": [3.5],
    "of two signs": [-1.0, 1.0 + 2**-52], "of sizes": [1e8, 0.1, 0.1, 0.1, -1e-8],
}
INTEGERS = {
    "ends": [LEAST, MOST], "least": [LEAST, LEAST, LEAST + 1], "most": [MOST, MOST - 2],
    "times": [*[1_700_000_000_000_000_001] * 3, 1_700_000_000_000_000_003],
    "beyond floats": [2**53 + 1, 2**53 + 3, -(2**53) - 1], "small": [1, 2, 4, -9],
    "equal": [2**62 + 1] * 5, "one less": [0, -1], "one": [MOST],
}
UNSIGNED = {
    "large": [2**63 + 1, 2**63 + 3], "ends": [0, 2**64 - 1], "most": [2**64 - 1] * 3, "small": [1, 2],
    "equal": [2**63 + 5] * 4, "mixed": [2**64 - 1, 2**63, 3],
}
CASES = {**{f"float {name}": (pa.float64(), values) for name, values in FLOATS.items()},
         **{f"int {name}": (pa.int64(), values) for name, values in INTEGERS.items()},
         **{f"uint {name}": (pa.uint64(), values) for name, values in UNSIGNED.items()}}


def mean(values: Sequence[Any]) -> float:
    odd = {value for value in values if not math.isfinite(value)}
    if odd:
        return odd.pop() if len(odd) == 1 else NAN
    return float(sum(map(Fraction, values)) / len(values))


def quantile(values: Sequence[Any], q: str) -> float:
    ordered = sorted(values, key=lambda value: (math.isnan(value), value))
    way = Fraction(q) * (len(ordered) - 1)
    low, high, part = ordered[math.floor(way)], ordered[math.ceil(way)], way - math.floor(way)
    if part == 0 or low == high:
        return float(low)
    if not (math.isfinite(low) and math.isfinite(high)):
        return float(low) + float(high)  # the one that is not finite; NaN of both
    return float(Fraction(low) + (Fraction(high) - Fraction(low)) * part)


def variance(values: Sequence[Any], fewest: int) -> float | None:
    if len(values) < fewest:
        return None
    if not all(abs(value) < 1e150 for value in values):
        return NAN
    exact = [Fraction(value) for value in values]
    middle = sum(exact) / len(exact)
    return float(sum((value - middle) ** 2 for value in exact) / (len(exact) - fewest + 1))


AGGREGATES: dict[str, tuple[Any, Callable[[Sequence[Any]], Any]]] = {
    "mean": (wb.mean(col.x), mean), "median": (wb.median(col.x), lambda values: quantile(values, "0.5")),
    "quantile": (wb.quantile(col.x, 0.3), lambda values: quantile(values, "0.3")),
    "from_top": (wb.quantile(col.x, 0.1, descending=True), lambda values: quantile(values, "0.9")),
    "approx": (wb.approx_quantile(col.x, 0.5), lambda values: quantile(values, "0.5")),
    "var": (wb.var(col.x), lambda values: variance(values, 2)),
    "var_of_all": (wb.var(col.x, sample=False), lambda values: variance(values, 1)),
    "std": (wb.std(col.x), lambda values: None if (of := variance(values, 2)) is None else math.sqrt(of)),
}
MEASURES = {name: aggregate for name, (aggregate, _) in AGGREGATES.items()}
NUMERIC = {name: aggregate for name, aggregate in MEASURES.items() if name != "approx"}


def log(type_: pa.DataType, values: Sequence[Any]) -> wb.Stream:
    """Values one tick apart, one null among them, from 0 on."""
    held = [*values[:1], None, *values[1:]]
    return wb.from_arrow(pa.table({"t": range(len(held)), "x": pa.array(held, type_), "k": ["a"] * len(held)}),
                         time="t")


def tumbling(log: wb.Stream) -> wb.Stream:
    return log.tumbling_window(100).aggregate(**MEASURES)


def hopping(log: wb.Stream) -> wb.Stream:
    return log.hopping_window(100, 50).aggregate(**MEASURES).where(wb.start_time() == 0)


def close(log: wb.Stream) -> wb.Stream:
    return log.hopping_window(100, 50).aggregate(**MEASURES, emit="close").where(wb.start_time() == 50)


def by_key(log: wb.Stream) -> wb.Stream:
    return log.group_by("k").tumbling_window(100).aggregate(**MEASURES).drop("k")


def session(log: wb.Stream) -> wb.Stream:
    return log.session_window(50, emit="close").aggregate(**MEASURES)


FORMS = {"tumbling": tumbling, "hopping": hopping, "by key": by_key, "session": session}


SQUARES = ("var", "var_of_all", "std")


def wrong(found: dict[str, Any], values: Sequence[Any], where: str) -> list[str]:
    """What is not as it should be; squares of the smallest numbers are 0."""
    faults = []
    for name in found.keys() & AGGREGATES.keys():
        result, right = found[name], AGGREGATES[name][1](values)
        if result is None or right is None:
            same = result is right
        else:
            same = result == pytest.approx(right, rel=1e-12 if name in SQUARES else 4e-16,
                                           abs=1e-300 if name in SQUARES else 1e-322, nan_ok=True)
        if not same:
            faults.append(f"{where}: {name} of {values} is {result}, not {right}")
    return faults


@pytest.mark.share(3)
@pytest.mark.parametrize("name", ["interpreted", "primitives", "fused"])
@pytest.mark.parametrize("form", FORMS)
def test_windows(form: str, name: str) -> None:
    faults: list[str] = []
    for case, (type_, values) in CASES.items():
        with tier(name):  # type: ignore[arg-type]
            rows = FORMS[form](log(type_, values)).collect().to_pylist()
        faults += wrong(rows[0], values, f"{form}, {case}")
    assert not faults, "\n".join(faults)


@pytest.mark.share(2)
@pytest.mark.parametrize("name", ["interpreted", "primitives"])
@pytest.mark.parametrize("size", [2, 3, 1000])
def test_rows_that_leave(size: int, name: str) -> None:
    faults: list[str] = []
    for case, (type_, values) in CASES.items():
        for grouped in (False, True):
            stream = log(type_, values)
            windows = stream.group_by("k").sliding_window(size) if grouped else stream.sliding_window(size)
            with tier(name):  # type: ignore[arg-type]
                rows = windows.aggregate(**MEASURES).collect().to_pylist()
            held = [*values[:1], None, *values[1:]]
            for row in rows:
                there = [value for at, value in enumerate(held) if at <= row["start"] < at + size and value is not None]
                if there:
                    faults += wrong(row, there, f"sliding {size}, {case}, at {row['start']}")
    assert not faults, "\n".join(faults)


ZEROS = {"min": wb.min(col.x), "max": wb.max(col.x), "first": wb.first(col.x), "last": wb.last(col.x),
         "arg_min": wb.arg_min(col.x, col.y), "arg_max": wb.arg_max(col.x, col.y), "mode": wb.mode(col.x),
         "collect": wb.collect(col.x), "lower": wb.quantile(col.x, 0.5, interpolation="discrete"),
         "approx": wb.approx_quantile(col.x, 0.5), "top_k": wb.top_k(col.x, 1)}
ROWS_OF_ZEROS: dict[str, Callable[[wb.Stream], wb.Stream]] = {
    "tumbling": lambda log: log.tumbling_window(5).aggregate(**ZEROS),
    "by key": lambda log: log.group_by("x").tumbling_window(5).aggregate(**ZEROS),
    "sliding": lambda log: log.sliding_window(5).aggregate(**ZEROS),
    "so far": lambda log: log.tumbling_window(5).aggregate(m=wb.min(col.x)).select(m=wb.max(col.m).so_far()),
    "distinct": lambda log: log.tumbling_window(5).distinct("x"),
    "distinct within": lambda log: log.distinct_within(5, by="x"),
    "largest row": lambda log: log.tumbling_window(5).top_k(1, by=col.x, ties=False),
    "one of equal rows": lambda log: log.tumbling_window(5).top_k(1, by=col.y, ties=False),
}


@pytest.mark.parametrize(("form", "name"), [*((form, "interpreted") for form in ROWS_OF_ZEROS),
                                            ("tumbling", "primitives")])  # what compiles is the same elsewhere
def test_the_sign_of_zero_does_not_depend_on_arrival(form: str, name: str) -> None:
    found = set()
    for type_ in (pa.float64(), pa.float32()):
        for values in ([0.0, -0.0], [-0.0, 0.0]):
            log = wb.from_arrow(pa.table({"t": [0, 0], "x": pa.array(values, type_), "y": [1.0, 1.0]}), time="t")
            with tier(name):  # type: ignore[arg-type]
                found.add(repr(ROWS_OF_ZEROS[form](log.drop("t")).collect().to_pylist()))
    assert len(found) == 1
    assert ("-0.0" in found.pop()) == (form in ("distinct within", "largest row", "one of equal rows"))


@pytest.mark.parametrize("parts", [2, 3])
def test_parts_are_merged(parts: int) -> None:
    """What progress and partitions do: states of blocks, merged."""
    faults: list[str] = []
    for case, (type_, values) in CASES.items():
        query = log(type_, values).tumbling_window(100).aggregate(**NUMERIC)
        progress = query.progressive(block_rows=-(-(len(values) + 1) // parts))
        faults += wrong(progress.finish().to_pylist()[0], values, f"merged, {case}")
    assert not faults, "\n".join(faults)


def test_periodic_windows() -> None:
    faults: list[str] = []
    for case, (type_, values) in CASES.items():
        held = [*values[:1], None, *values[1:]]
        stream = log(type_, values).assume(periodic=1)
        query = stream.sliding_window(3).aggregate(**{name: each for name, each in MEASURES.items() if name in (
            "mean", "var", "var_of_all", "std")})
        for row in query.collect().to_pylist():
            there = [value for at, value in enumerate(held) if at <= row["start"] < at + 3 and value is not None]
            if there:
                faults += wrong(row, there, f"periodic, {case}, at {row['start']}")
    assert not faults, "\n".join(faults)


def test_bands() -> None:
    faults: list[str] = []
    for case, (type_, values) in CASES.items():
        held = [*values[:1], None, *values[1:]]
        table = pa.table({"t": [*range(1, len(held)), 0], "x": pa.array([*held[1:], held[0]], type_)})
        bands = wb.from_arrow(table, time="t").tumbling_window(100).aggregate(**MEASURES).at_latencies(0, 20)
        faults += wrong(bands[-1].collect().to_pylist()[0], values, f"bands, {case}")
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("values", [[-1e308, 1e308], [1.7e308, 1.6e308], [-INF, 1e308], [5e-324, 1e308]])
def test_a_digest_of_many_values_at_the_ends_of_floats(values: list[float]) -> None:
    many = np.repeat(np.array(values), 20_000)
    table = pa.table({"t": np.arange(len(many)), "x": many})
    found = wb.from_arrow(table, time="t").tumbling_window(len(many)).aggregate(
        low=wb.approx_quantile(col.x, 0.1), high=wb.approx_quantile(col.x, 0.9)).collect().to_pylist()[0]
    assert found["low"] == pytest.approx(min(values), rel=1e-12, abs=1e-300)
    assert found["high"] == pytest.approx(max(values))


def test_means_of_many_large_integers_are_exact() -> None:
    chance = np.random.default_rng(5)
    values = chance.integers(LEAST, MOST, 50_000)
    keys = chance.integers(0, 3, 50_000)
    table = pa.table({"t": np.arange(50_000) // 10, "x": values, "k": keys})
    for windows in (wb.from_arrow(table, time="t").group_by("k").tumbling_window(5_000),
                    wb.from_arrow(table, time="t").group_by("k").sliding_window(700)):
        for row in windows.aggregate(m=wb.mean(col.x), n=wb.count()).collect().to_pylist()[::97]:
            size = 5_000 if row["end"] == 5_000 and row["start"] == 0 else 700
            t = np.arange(50_000) // 10
            since = row["start"] - 699 if size == 700 else 0
            inside = (keys == row["k"]) & (t >= since) & (t < since + size)
            assert row["n"] == inside.sum()
            assert row["m"] == float(sum(map(int, values[inside]))) / int(inside.sum())
