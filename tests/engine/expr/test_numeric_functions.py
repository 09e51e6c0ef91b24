"""Functions of numbers: values, types, and the same bits in every tier."""

from __future__ import annotations

import ctypes
import math
import os
import subprocess
import sys
from datetime import date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.expr.rowloop import loop_source
from tests.engine.expr.tables import batch, values
from whimbrel import col
from whimbrel.errors import ExpressionError, KernelError, WhimbrelError
from whimbrel.expr import SCALARS, Expr, evaluate, greatest, least, type_of
from whimbrel.expr.checked_integers import power_of_ten
from whimbrel.expr.scalar_functions import round_to, round_to_multiple
from whimbrel.kernels.c_library import c_function
from whimbrel.kernels.compile import load_text, tier

INF, NAN = math.inf, math.nan
EDGES = [0.0, -0.0, INF, -INF, NAN, 1.0, -1.0, 2.0, 0.5, -0.5, 5e-324, 2.2e-308, 1.7e308, 709.78, 709.79, -745.2, 1e22]
POWERS = (2, 3, 4, 5, 0, 1, -1, -2, 0.5, -0.5, 1.7, 100, INF, NAN)


def bits(array: np.ndarray) -> np.ndarray:
    """Bits of floats; one NaN is like another."""
    wide = np.array(array, np.float64)
    wide[np.isnan(wide)] = NAN
    return wide.view(np.int64)


def many_floats() -> np.ndarray:
    rng = np.random.default_rng(3)
    whole = rng.integers(0, 2**64, 3000, np.uint64).view(np.float64)
    with np.errstate(all="ignore"):
        scaled = rng.normal(size=3000) * 10.0 ** rng.integers(-20, 20, 3000)
    return np.concatenate([whole, rng.normal(size=3000) * 5, scaled, EDGES])


FUNCTIONS = [
    *(getattr(col.x, name)() for name in ("exp", "log", "sin", "cos", "sqrt", "sign")),
    *(col.x**exponent for exponent in POWERS), 2.0**col.x, 10**col.x, (-8.0) ** col.x, col.x**col.y,
]


@pytest.mark.slow
@pytest.mark.parametrize("type_", (pa.float64(), pa.float32()), ids=str)
def test_every_tier_has_the_same_bits(type_: pa.DataType) -> None:
    x = many_floats()
    with np.errstate(all="ignore"):
        x, y = (pa.array(each.astype(type_.to_pandas_dtype())) for each in (x, np.roll(x, 7)))
    of = batch(x=x, y=y)
    for expr in FUNCTIONS:
        column = evaluate(expr, of)
        text, arrays = loop_source(expr, of, column.values.dtype)
        imports = f"import numpy as np\n{imported(text)}"
        with tier("interpreted"):
            plain, _ = load_text(imports + text, "loop", {})(len(of), *arrays.values())
        with tier("fused"):
            compiled, _ = load_text(imports + text, "loop", {})(len(of), *arrays.values())
        assert np.array_equal(bits(plain), bits(column.values)), expr
        assert np.array_equal(bits(compiled), bits(column.values)), expr


def imported(text: str) -> str:
    return "".join(f"from {SCALARS[name].__module__} import {name}\n" for name in SCALARS if f"{name}(" in text)


def test_whole_columns_have_the_bits_of_the_c_library() -> None:
    x = many_floats()
    of = batch(x=x, y=np.roll(x, 7))
    for name in ("exp", "log", "sin", "cos"):
        expected = [c_function(name)(each) for each in x.tolist()]
        assert np.array_equal(bits(evaluate(getattr(col.x, name)(), of).values), bits(expected)), name
    expected = [c_function("pow")(a, b) for a, b in zip(x.tolist(), np.roll(x, 7).tolist(), strict=True)]
    assert np.array_equal(bits(evaluate(col.x**col.y, of).values), bits(expected))


@pytest.mark.parametrize("exponent", POWERS)
def test_a_written_exponent_is_as_accurate_as_a_column_of_it(exponent: float) -> None:
    x = many_floats()
    of = batch(x=x, y=np.full(len(x), float(exponent)))
    product, power = evaluate(col.x**exponent, of).values, evaluate(col.x**col.y, of).values
    assert np.array_equal(np.isnan(product), np.isnan(power))
    assert np.array_equal(np.signbit(product), np.signbit(power) | np.isnan(product) & np.signbit(product))
    there = np.isfinite(power)
    assert np.array_equal(product[~there & ~np.isnan(power)], power[~there & ~np.isnan(power)])
    with np.errstate(all="ignore"):
        assert (np.abs(product - power)[there] <= 2 * np.spacing(np.abs(power[there]))).all()


def test_outside_of_its_domain_a_function_is_nan() -> None:
    of = batch(x=[-1.0, 0.0, INF, -INF, 1000.0, None])
    assert np.isnan(values(col.x.log(), of)[0])
    assert values(col.x.log(), of)[1:3] == [-INF, INF]
    assert values(col.x.exp(), of)[2:5] == [INF, 0.0, INF]
    assert np.isnan(values(col.x.sin(), of)[2:4]).all()
    assert np.isnan(values(col.x.cos(), of)[2:4]).all()
    assert np.isnan(values(col.x**0.5, of)[0])
    assert np.isnan(values(col.x**1.5, of)[0])
    assert values(col.x**-1, of)[:4] == [-1.0, INF, 0.0, 0.0]
    assert values(col.x**0.5, of)[3] == INF
    assert [values(f(col.x), of)[-1] for f in (lambda x: x.exp(), lambda x: x.log(), lambda x: x**3)] == [None] * 3


def test_types() -> None:
    of = batch(i=pa.array([4], pa.int16()), f=pa.array([4.0], pa.float32()), x=[4.0],
               d=pa.array([Decimal("4.0")], pa.decimal128(9, 1)), u=pa.array([2**63], pa.uint64()))
    of_type = {"i": pa.float64(), "f": pa.float32(), "x": pa.float64(), "d": pa.float64(), "u": pa.float64()}
    for name, type_ in of_type.items():
        for function in ("exp", "log", "sin", "cos", "sqrt"):
            expr = getattr(col(name), function)()
            assert type_of(expr, of.schema) == type_
            expected = INF if (name, function) == ("u", "exp") else getattr(math, function)(values(col(name), of)[0])
            assert values(expr, of)[0] == pytest.approx(expected)
    assert {name: type_of(col(name).sign(), of.schema) for name in "ifxu"} == {
        "i": pa.int64(), "f": pa.float32(), "x": pa.float64(), "u": pa.int64()}
    assert values(col.u.sign(), of) == [1]
    assert type_of(col.i**3, of.schema) == pa.int64()
    assert type_of(col.i**-1, of.schema) == type_of(col.i**0.5, of.schema) == pa.float64()
    assert type_of(col.f**3, of.schema) == type_of(col.f**-0.5, of.schema) == pa.float32()


def test_sign() -> None:
    of = batch(x=[-2.5, -0.0, 0.0, INF, NAN, None], i=pa.array([-3, 0, 9, 1, None, -128], pa.int8()))
    found = values(col.x.sign(), of)
    assert found[:4] == [-1.0, 0.0, 0.0, 1.0]
    assert math.copysign(1, found[1]) == 1
    assert np.isnan(found[4])
    assert found[5] is None
    assert values(col.i.sign(), of) == [-1, 0, 1, 1, None, -1]


@pytest.mark.parametrize(("expr", "message"), (
    (col.s.exp(), "exp takes a number, not string"),
    (col.s.sign(), "sign takes a number, not string"),
    (col.b.sin(), "sin takes a number, not bool"),
    (greatest(col.s, col.i), "cannot take string and int64"),
    (greatest(col.s, 1), "cannot take string and int64"),
    (least(col.items), "least needs values with an order"),
))
def test_wrong_types_are_refused(expr: Expr, message: str) -> None:
    of = batch(s=["a"], b=[True], i=[1], items=pa.array([[1]]))
    with pytest.raises(ExpressionError, match=message):
        evaluate(expr, of)


def test_a_power_that_leaves_int64_is_an_error_in_every_tier() -> None:
    table = {"at": list(range(9)), "x": [10**7] * 9}
    query = wb.from_arrow(table, time="at").assume(periodic=1).sliding_window(2).aggregate(m=wb.max(col.x**3))
    for name in ("interpreted", "fused"):
        with tier(name), pytest.raises(WhimbrelError, match="An integer leaves int64"):
            query.collect()
    with pytest.raises(KernelError, match=r"integer overflow: 10000000 \*\* 3 leaves int64"):
        evaluate(col.x**3, batch(x=[10**7]))


def test_greatest_and_least_leave_nulls_out() -> None:
    of = batch(a=[1, 5, None, None], b=[4, 2, 3, None], c=pa.array([0, None, 9, None], pa.int8()))
    assert values(greatest(col.a, col.b, col.c), of) == [4, 5, 9, None]
    assert values(least(col.a, col.b, col.c), of) == [0, 2, 3, None]
    assert values(greatest(col.a, 2), of) == [2, 5, 2, 2]
    assert values(least(3, col.a), of) == [1, 3, 3, 3]
    assert values(greatest(col.c), of) == [0, None, 9, None]
    assert values(greatest(col.a, None), of) == [1, 5, None, None]
    assert type_of(greatest(col.c, col.c), of.schema) == pa.int8()
    assert type_of(greatest(1, col.c), of.schema) == pa.int8()
    assert type_of(greatest(col.c, 1000), of.schema) == pa.int64()
    assert type_of(greatest(col.c, 0.5), of.schema) == pa.float64()


@pytest.mark.parametrize(("low", "high"), [
    (-1, 2), (0, 1), (-0.0, 1.0), (0.5, None), (None, -0.5), (None, 0), (2, -1), (NAN, 1), (2**53 + 1, None),
    (-INF, INF), (0.1, 0.1)])
def test_clip_compares_with_one_end_after_the_other(low: float | None, high: float | None) -> None:
    def inside(x: float | None) -> float | None:
        if x is None or (low is not None and x < low):
            return None if x is None else low
        return high if high is not None and x > high else x

    numbers = [*EDGES, None, 9007199254740992.0]
    found = values(col.x.clip(low, high), batch(x=numbers))
    expected = [inside(x) for x in numbers]
    assert [x is None for x in found] == [x is None for x in expected]
    assert bits([x for x in found if x is not None]).tolist() == bits([x for x in expected if x is not None]).tolist()
    integers = [-3, 0, None, 1, 2**62]
    assert np.array_equal(values(col.n.clip(low, high), batch(n=integers)), [inside(n) for n in integers])


def test_zeros_of_both_signs_keep_them_in_greatest_and_least() -> None:
    zeros = [0.0, -0.0, 0.0, -0.0, 3.0]
    others = [-0.0, 0.0, 0.0, -0.0, 0.0]
    of = batch(x=zeros, y=others)
    assert bits(values(greatest(col.x, col.y), of)).tolist() == bits(zeros).tolist()
    assert bits(values(least(col.x, col.y), of)).tolist() == bits([*zeros[:4], 0.0]).tolist()


def test_nullif_keeps_other_values() -> None:
    of = batch(n=[1, 2, None, 2], x=[NAN, 2.0, None, -0.0])
    assert values(col.n.nullif(2), of) == [1, None, None, None]
    assert values(wb.when(col.n == 2).then(col.n).otherwise(None), of) == [None, 2, None, 2]
    assert values(col.x.nullif(0.0), of)[1:] == [2.0, None, None]
    assert values(wb.when(True).then(None).otherwise(col.n), of) == [None] * 4


def test_nan_is_greater_than_every_number() -> None:
    of = batch(x=[NAN, 1.0, NAN, -0.0], y=[2.0, NAN, NAN, 0.0])
    assert np.isnan(values(greatest(col.x, col.y), of)[:3]).all()
    assert values(least(col.x, col.y), of)[:2] == [2.0, 1.0]
    assert np.isnan(values(least(col.x, col.y), of)[2])
    assert [math.copysign(1, values(f(col.x, col.y), of)[3]) for f in (greatest, least)] == [-1, -1]
    log = wb.from_arrow({"at": [1, 1, 1], "x": [NAN, 1.0, 2.0]}, time="at").aggregate(m=wb.max(col.x), n=wb.min(col.x))
    assert log.collect().select(["m", "n"]).to_pylist()[0]["n"] == 1.0


def test_greatest_of_other_types() -> None:
    days = [date(2024, 1, 5), None]
    of = batch(s=["b", None], t=pa.array([datetime(2024, 1, 1), None], pa.timestamp("s")), d=pa.array(days),
               u=pa.array([timedelta(milliseconds=1500), None], pa.duration("ms")), p=[True, None],
               m=pa.array([Decimal("1.25"), None], pa.decimal128(9, 2)))
    assert values(greatest(col.s, "a"), of) == ["b", "a"]
    assert values(least(col.s, wb.lit("a")), of) == ["a", "a"]
    assert values(greatest(col.t, datetime(2024, 1, 1, 0, 0, 0, 5000)), of) == [datetime(2024, 1, 1, 0, 0, 0, 5000)] * 2
    assert values(greatest(col.d, date(2024, 1, 6)), of) == [date(2024, 1, 6)] * 2
    assert values(least(col.u, timedelta(seconds=1)), of) == [timedelta(seconds=1)] * 2
    assert values(greatest(col.p, False), of) == [True, False]
    assert values(greatest(col.m, 1), of) == [Decimal("1.25"), Decimal("1.00")]
    assert values(greatest(None, None), of) == [None, None]


@pytest.mark.parametrize("type_", (pa.decimal128(9, 2), pa.decimal256(50, 2),
                                   pa.large_string(), pa.dictionary(pa.int32(), pa.string()), pa.time32("s"),
                                   pa.time64("ns"), pa.date64(), pa.uint8(), pa.null()), ids=str)
def test_greatest_of_each_type(type_: pa.DataType) -> None:
    given = {"a": [1, None, 3], "b": [2, 2, 1]}
    plain = type_.value_type if pa.types.is_dictionary(type_) else type_
    if pa.types.is_null(plain):
        made = {name: pa.nulls(3) for name in given}
    elif pa.types.is_temporal(plain):
        ticks = pa.int32() if plain.bit_width == 32 else pa.int64()
        a_day = 86_400_000 if plain == pa.date64() else 1
        made = {name: pa.array([x and x * a_day for x in each], ticks).cast(plain) for name, each in given.items()}
    else:
        as_given = Decimal if pa.types.is_decimal(plain) else int if pa.types.is_integer(plain) else str
        made = {name: pa.array([x and as_given(x) for x in each], plain) for name, each in given.items()}
    a, b = made["a"], made["b"]
    of = batch(a=a.cast(type_), b=b.cast(type_))
    one, other = a.to_pylist(), b.to_pylist()
    for function, choose in ((greatest, max), (least, min)):
        expected = [choose((x for x in pair if x is not None), default=None) for pair in zip(one, other, strict=True)]
        assert values(function(col.a, col.b), of) == expected


def test_greatest_of_nothing_is_refused() -> None:
    with pytest.raises(ExpressionError, match=r"least\(\) needs at least one value"):
        wb.least()


INLINE = [
    col.x.exp(), col.x.log(), col.x.sin(), col.x.cos(), col.x.sign(), col.x**3, col.x**0.5, col.x**-1.5, 2**col.x,
    wb.greatest(col.x, col.y, 0.5), wb.least(col.x, col.y), abs(col.y) ** col.x, col.k**3, wb.greatest(col.k, 3),
]


@pytest.mark.parametrize("expr", INLINE, ids=repr)
def test_functions_run_inside_of_periodic_loops(expr: Expr) -> None:
    rng = np.random.default_rng(5)
    table = pa.table({"at": np.arange(300), "x": rng.normal(size=300), "k": rng.integers(-9, 9, 300),
                      "y": pa.array([None if row % 7 == 0 else row % 5 for row in range(300)], pa.float64())})
    log = wb.from_arrow(table, time="at").assume(periodic=1)
    query = log.sliding_window(5).aggregate(m=wb.mean(expr))
    assert "periodic_loop(" in str(query.explain())
    beforehand = log.select(v=expr).sliding_window(5).aggregate(m=wb.mean(col.v))
    column = log.select(v=expr).collect()["v"].to_numpy()
    with tier("interpreted"):
        found = query.collect()["m"].to_numpy()
        assert np.array_equal(bits(found), bits(beforehand.collect()["m"].to_numpy()))
    for row in range(10, 300, 50):
        window = column[row - 4 : row + 1]
        window = window[~np.isnan(window)] if "y" in repr(expr) else window
        assert found[row] == pytest.approx(window.mean(), nan_ok=True)


@pytest.mark.slow
def test_loops_have_the_same_bits_in_every_tier() -> None:
    rng = np.random.default_rng(5)
    table = pa.table({"at": np.arange(300), "x": rng.normal(size=300), "k": rng.integers(-9, 9, 300),
                      "y": pa.array([None if row % 7 == 0 else row % 5 for row in range(300)], pa.float64())})
    plain = wb.from_arrow(table, time="at")
    log = plain.assume(periodic=1)
    named = {f"m{at}": wb.mean(expr) for at, expr in enumerate(INLINE)}
    for query in (log.sliding_window(5).aggregate(**named), log.tumbling_window(5).aggregate(**named),
                  plain.group_by(odd=col.k % 2).hopping_window(20, 5).aggregate(**named)):
        found = {}
        for name in ("interpreted", "fused"):
            with tier(name):
                found[name] = query.collect()
        for name in named:
            assert np.array_equal(*(bits(each[name].to_numpy()) for each in found.values())), name


@pytest.mark.long
@pytest.mark.slow
def test_cached_machine_code_finds_the_functions_again(tmp_path) -> None:
    script = ("import numpy as np, whimbrel as wb\nfrom whimbrel.kernels.compile import tier\n"
              "log = wb.from_arrow({'at': np.arange(9), 'x': np.arange(9.0)}, time='at').assume(periodic=1)\n"
              "with tier('fused'):\n"
              "    print(log.sliding_window(2).aggregate(m=wb.mean(wb.col.x.exp())).collect()['m'].to_pylist())\n")
    answers = [subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True,
                              env={**os.environ, "WHIMBREL_CACHE": str(tmp_path)}).stdout for _ in range(2)]
    assert answers[0] == answers[1]
    assert any((tmp_path / "kernels").glob("__pycache__/*.nbc"))


def test_a_c_function_that_is_missing_is_an_error() -> None:
    assert isinstance(c_function("pow"), ctypes._CFuncPtr)
    with pytest.raises(AttributeError):
        c_function("no_such_function")


@pytest.mark.parametrize("type_", (pa.int64(), pa.int32(), pa.int8(), pa.uint8(), pa.uint64()), ids=str)
@pytest.mark.parametrize("digits", (0, -1, -2, -3, -18, -19, -20))
def test_integers_are_rounded_to_tens(type_: pa.DataType, digits: int) -> None:
    limits = np.iinfo(type_.to_pandas_dtype())
    given = [value for value in (7, 64, -15, 15, 25, -25, 5, -5, 0, 50, 150, 149, 250, -50, 127, -128, limits.min,
                                 limits.max, limits.max // 2, 5 * 10**18, 5 * 10**18 + 1, 15 * 10**17)
             if limits.min <= value <= limits.max]
    for value in given:
        rounded = round(value, digits)  # of Python: exact, halves to even
        of = batch(x=pa.array([None, value], type_))
        if limits.min <= rounded <= limits.max:
            column = evaluate(col.x.round(digits), of)
            assert column.to_arrow() == pa.array([None, rounded], type_), value
        else:
            with pytest.raises(KernelError, match="integer overflow"):
                evaluate(col.x.round(digits), of)


def test_integers_are_rounded_to_tens_in_filters_and_sql() -> None:
    log = wb.from_arrow({"at": [1, 2, 3], "x": [7, 64, -15]}, time="at")
    assert log.where(col.x.round(-1) + 1 > 11).select(y=col.x.round(-1) * 2).collect()["y"].to_pylist() == [120]
    found = wb.sql("SELECT round(x, -1) AS y FROM log", log=log).collect()["y"].to_pylist()
    assert found == log.select(y=col.x.round(-1)).collect()["y"].to_pylist() == [10, 60, -20]


@pytest.mark.parametrize(("digits", "expected"), [
    (2, [1e308, -1e308, 1.23, -0.0, math.inf]), (305, [1e308, -1e308, 1.234, -0.0, math.inf]),
    (310, [1e308, -1e308, 1.234, -0.0, math.inf]), (-307, [1e308, -1e308, 0.0, -0.0, math.inf]),
    (-400, [0.0, -0.0, 0.0, -0.0, math.inf])])
def test_no_float_is_too_large_to_be_rounded(digits: int, expected: list[float]) -> None:
    x = np.array([1e308, -1e308, 1.234, -0.0, math.inf])
    assert bits(evaluate(col.x.round(digits), batch(x=x)).values).tolist() == bits(np.array(expected)).tolist()
    rounded = round_to if digits >= 0 else round_to_multiple
    with np.errstate(all="ignore"):
        one_by_one = [rounded(each, np.float64(power_of_ten(abs(digits)))) for each in x]
    assert bits(np.array(one_by_one)).tolist() == bits(np.array(expected)).tolist()
    assert evaluate(col.x.round(digits), batch(x=np.array([1.25], np.float32))).values.dtype == np.float32


@pytest.mark.parametrize("digits", (-1, -5, -7, -23))
def test_floats_are_rounded_to_tens_in_every_tier(digits: int) -> None:
    x = np.concatenate([np.arange(-300.0, 300), np.arange(-50.0, 50) * 7]) * 10.0 ** (-digits - 1)
    log = wb.from_arrow({"at": range(len(x)), "x": x}, time="at")
    found = log.select(y=col.x.round(digits)).collect()["y"].to_numpy()
    assert bits(found).tolist() == bits(evaluate(col.x.round(digits), batch(x=x)).values).tolist()
    if digits > -23:  # powers of ten that are floats, with multiples that are
        assert found.tolist() == [float(round(int(value), digits)) for value in x]
    assert log.where(col.x.round(digits) > 0).select(n=col.x).collect().num_rows == int((found > 0).sum())
