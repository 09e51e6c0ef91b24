from __future__ import annotations

import operator

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.expr.tables import batch, values
from whimbrel.errors import KernelError
from whimbrel.expr import col, evaluate, when

INT_MAX, INT_MIN = 2**63 - 1, -(2**63)
OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod}
edges = st.sampled_from([INT_MIN, INT_MIN + 1, -(2**32), -2, -1, 0, 1, 2, 3, 2**31, 2**32, INT_MAX - 1, INT_MAX])
integers = st.one_of(st.none(), edges, st.integers(-10, 10), st.integers(INT_MIN, INT_MAX))


@pytest.mark.parametrize("op", OPERATORS)
@given(rows=st.lists(st.tuples(integers, integers), min_size=1, max_size=4))
def test_integers_are_pythons_or_an_error(op, rows):
    of = batch(a=pa.array([a for a, _ in rows], pa.int64()), b=pa.array([b for _, b in rows], pa.int64()))
    apply = OPERATORS[op]
    expected = [None if a is None or b is None or (b == 0 and op in "//%") else apply(a, b) for a, b in rows]
    expr = apply(col.a, col.b)
    if all(value is None or INT_MIN <= value <= INT_MAX for value in expected):
        assert values(expr, of) == expected
    else:
        with pytest.raises(KernelError, match="integer overflow") as caught:
            evaluate(expr, of)
        assert caught.value.where == f"col.a {op} col.b"


@given(integers.filter(lambda x: x is not None), st.integers(0, 70))
def test_integer_power_is_pythons_or_an_error(x, exponent):
    of = batch(a=pa.array([x], pa.int64()))
    if INT_MIN <= x**exponent <= INT_MAX:
        assert values(col.a**exponent, of) == [x**exponent]
    else:
        with pytest.raises(KernelError, match="integer overflow"):
            evaluate(col.a**exponent, of)


def test_narrow_integers_compute_in_64_bits():
    of = batch(a=pa.array([100, -128], pa.int8()), b=pa.array([200, 255], pa.uint8()))
    assert values(col.a + col.b, of) == [300, 127]
    assert values(-col.a, of) == [-100, 128]
    assert values(abs(col.a), of) == [100, 128]


def test_uint64_beyond_int64_is_an_overflow():
    of = batch(a=pa.array([1, 2**63], pa.uint64()))
    assert values(col.a > 2**62, of) == [False, True]
    assert values(col.a == 2**63, of) == [False, True]
    with pytest.raises(KernelError, match="integer overflow"):
        evaluate(col.a + 1, of)


@pytest.mark.parametrize("expr", (-col.a, abs(col.a), col.a.cast("int32"), col.a.cast("uint64")), ids=repr)
def test_the_smallest_integer_has_no_opposite(expr):
    with pytest.raises(KernelError, match="integer overflow"):
        evaluate(expr, batch(a=[INT_MIN]))


def test_the_error_names_the_part_that_overflows():
    with pytest.raises(KernelError) as caught:
        evaluate((col.a * col.a + 1) / 2, batch(a=[2**40]))
    assert str(caught.value).splitlines() == [
        "integer overflow: 1099511627776 * 1099511627776 leaves int64", "  where: col.a * col.a",
        "  hint:  Use decimals or floats: .cast(pa.decimal128(38, 0)) or .cast(float)."]


def test_rows_that_are_absent_null_or_not_taken_cannot_fail():
    big = [INT_MAX, 1]
    assert values(col.a + 1, batch([True, False], a=big))[1] == 2
    assert values(col.a + col.b, batch(a=big, b=pa.array([None, 1], pa.int64()))) == [None, 2]
    assert values(when(col.a < 10).then(col.a + 1).otherwise(0), batch(a=big)) == [0, 2]
    assert values(when(col.a > 10).then(0).otherwise(col.a + 1), batch(a=big)) == [0, 2]
    assert values(col.b.fill_null(col.a + 1), batch(a=big, b=pa.array([5, None], pa.int64()))) == [5, 2]


def test_division_is_of_floats_and_by_zero_is_not_an_error():
    of = batch(a=[1, -1, 0, None], x=[1.5, 0.0, float("nan"), None])
    assert values(col.a / 0, of)[:2] == [float("inf"), float("-inf")]
    assert np.isnan(values(col.a / 0, of)[2])
    assert values(col.a / 4, of) == [0.25, -0.25, 0.0, None]
    assert values(col.x // 0.0, of)[0] == float("inf")
    assert values(col.a // 0, of) == values(col.a % 0, of) == [None] * 4
    assert values(-7 // col.a, batch(a=[2, 0])) == [-4, None]
    assert values(-7 % col.a, batch(a=[4, -4])) == [1, -3]
    assert values(col.x % -1.0, batch(x=[1.5, -1.5])) == [-0.5, -0.5]


def test_float32_stays_float32_with_itself_and_plain_numbers():
    of = batch(f=pa.array([1.5, 16777217.0, None], pa.float32()), i=[1, 2, 3], d=[0.5, 0.5, 0.5])
    for expr in (col.f + col.f, col.f * 0.1, 1 / col.f, col.f - 1, col.f.sqrt(), col.f // 2, -col.f, col.f**2):
        assert evaluate(expr, of).type == pa.float32()
    for expr in (col.f + col.i, col.f * col.d):
        assert evaluate(expr, of).type == pa.float64()
    assert values(col.f > 0.1, batch(f=pa.array([0.1], pa.float32()))) == [False]


def test_functions_of_numbers():
    of = batch(x=[2.5, -2.5, 3.14159, None], i=[4, 9, 16, None])
    assert values(col.x.floor(), of) == [2.0, -3.0, 3.0, None]
    assert values(col.x.ceil(), of) == [3.0, -2.0, 4.0, None]
    assert values(col.x.round(), of) == [2.0, -2.0, 3.0, None]
    assert values(col.x.round(2), of) == [2.5, -2.5, 3.14, None]
    assert values(col.x.abs(), of) == [2.5, 2.5, 3.14159, None]
    assert values(col.i.sqrt(), of) == [2.0, 3.0, 4.0, None]
    assert values(col.i.floor(), of) == [4, 9, 16, None]
    assert values((col.i * 0).exp(), of) == [1.0, 1.0, 1.0, None]
    assert values(((col.i * 0).log()), of) == [float("-inf")] * 3 + [None]
    assert np.isnan(values((col.x * 0 - 1).sqrt(), of)[0])
