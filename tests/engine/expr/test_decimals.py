"""Decimals are computed to the last digit, at every width of Arrow's, or refused."""

from __future__ import annotations

import operator
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import ExpressionError, KernelError

WIDTHS = (pa.decimal32(9, 2), pa.decimal64(18, 4), pa.decimal128(30, 6), pa.decimal256(40, 10))
OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def values(type_: pa.DataType) -> st.SearchStrategy[Decimal | None]:
    most = 10**type_.precision - 1
    whole = st.integers(-most, most) | st.integers(-500, 500) | st.sampled_from([0, 1, -1, most, -most])
    return st.none() | whole.map(lambda unscaled: Decimal(f"{unscaled}e-{type_.scale}"))


def answer(expr: Any, **columns: pa.Array) -> pa.ChunkedArray:
    rows = len(next(iter(columns.values())))
    return wb.from_arrow({"at": range(rows), **columns}, time="at").with_columns(y=expr).collect()["y"]


@given(st.data(), st.sampled_from(WIDTHS), st.sampled_from(WIDTHS), st.sampled_from([*OPERATORS]))
def test_sums_and_products_are_exact(data: st.DataObject, one: pa.DataType, other: pa.DataType, op: str) -> None:
    left, right = ([data.draw(values(type_), label=str(type_)) for _ in range(3)] for type_ in (one, other))
    with localcontext(prec=200):
        products = [x * y for x, y in zip(left, right, strict=True) if x is not None and y is not None]
    assume(op != "*" or all(len(each.as_tuple().digits) <= 76 for each in products))
    found = answer(OPERATORS[op](col.a, col.b), a=pa.array(left, one), b=pa.array(right, other)).to_pylist()
    with localcontext(prec=200):
        assert found == [None if None in (x, y) else OPERATORS[op](x, y) for x, y in zip(left, right, strict=True)]


@given(st.data(), st.sampled_from(WIDTHS), st.sampled_from(WIDTHS))
def test_quotients_are_rounded_halves_away_from_zero(data: st.DataObject, one: pa.DataType, other: pa.DataType) -> None:
    left, right = ([data.draw(values(type_), label=str(type_)) for _ in range(3)] for type_ in (one, other))
    try:
        found = answer(col.a / col.b, a=pa.array(left, one), b=pa.array(right, other))
    except KernelError:  # more digits than there are
        return
    step = Decimal(f"1e-{found.type.scale}")
    with localcontext(prec=200):
        assert found.to_pylist() == [None if None in (x, y) or y == 0 else (x / y).quantize(step, ROUND_HALF_UP)
                                     for x, y in zip(left, right, strict=True)]


@given(st.data(), st.sampled_from(WIDTHS), st.sampled_from(WIDTHS))
def test_comparisons_are_exact(data: st.DataObject, one: pa.DataType, other: pa.DataType) -> None:
    left, right = ([data.draw(values(type_), label=str(type_)) for _ in range(3)] for type_ in (one, other))
    for compared in (operator.eq, operator.lt, operator.le):
        found = answer(compared(col.a, col.b), a=pa.array(left, one), b=pa.array(right, other)).to_pylist()
        assert found == [None if None in (x, y) else compared(x, y) for x, y in zip(left, right, strict=True)]


PRICES = pa.array([Decimal("1.10"), Decimal("-2.25"), None, Decimal("0.00")], pa.decimal128(10, 2))
EXACT: dict[str, tuple[Any, list[Any]]] = {
    "times an integer": (col.x * 3, ["3.30", "-6.75", None, "0.00"]),
    "plus an integer": (1 + col.x, ["2.10", "-1.25", None, "1.00"]),
    "plus a decimal": (col.x + Decimal("0.005"), ["1.105", "-2.245", None, "0.005"]),
    "over an integer": (col.x / 4, ["0.2750", "-0.5625", None, "0.0000"]),
    "minus": (-col.x, ["-1.10", "2.25", None, "0.00"]),
    "abs": (abs(col.x), ["1.10", "2.25", None, "0.00"]),
    "round": (col.x.round(1), ["1.1", "-2.2", None, "0"]),
    "floor": (col.x.floor(), ["1", "-3", None, "0"]),
    "fewer digits": (col.x.cast(pa.decimal128(4, 1)), ["1.1", "-2.2", None, "0.0"]),
    "filled": (col.x.fill_null(0), ["1.10", "-2.25", "0", "0.00"]),
    "chosen": (wb.when(col.x > 1).then(col.x).otherwise(0), ["1.10", "0", "0", "0"]),
}


@pytest.mark.parametrize("case", EXACT)
def test_operands_of_a_decimal(case: str) -> None:
    expr, right = EXACT[case]
    assert answer(expr, x=PRICES).to_pylist() == [None if each is None else Decimal(each) for each in right]


OTHER: dict[str, tuple[Any, list[Any]]] = {
    "greater": (col.x > 1, [True, False, None, False]),
    "equal to a decimal": (col.x == Decimal("1.1"), [True, False, None, False]),
    "less than a float": (col.x < 1.1, [False, True, None, True]),
    "between": (col.x.between(-3, Decimal("1.1")), [True, True, None, True]),
    "among": (col.x.is_in([Decimal("1.10"), 0]), [True, False, None, True]),
    "times a float": (col.x * 0.5, [0.55, -1.125, None, 0.0]),
    "cast to a float": (col.x.cast(float), [1.1, -2.25, None, 0.0]),
    "cast to an integer": (col.x.cast("int64"), [1, -2, None, 0]),
    "cast to a text": (col.x.cast("string"), ["1.10", "-2.25", None, "0.00"]),
    "root": (abs(col.x).sqrt(), [1.1**0.5, 1.5, None, 0.0]),
}


@pytest.mark.parametrize("case", OTHER)
def test_what_a_decimal_becomes(case: str) -> None:
    expr, right = OTHER[case]
    assert answer(expr, x=PRICES).to_pylist() == right


@given(st.lists(values(pa.decimal128(30, 6)), min_size=1, max_size=4), st.integers(0, 5))
def test_halves_are_rounded_to_even(given_values: list[Decimal | None], digits: int) -> None:
    found = answer(col.x.round(digits), x=pa.array(given_values, pa.decimal128(30, 6))).to_pylist()
    with localcontext(prec=200):
        assert found == [None if value is None else value.quantize(Decimal(f"1e-{digits}"), ROUND_HALF_EVEN)
                         for value in given_values]


def test_what_does_not_fit_is_an_error_that_names_the_expression() -> None:
    large = pa.array([Decimal(10**75)], pa.decimal256(76, 0))
    with pytest.raises(KernelError, match="A decimal does not fit") as caught:
        answer(col.x * 1000, x=large)
    assert caught.value.where == "col.x * 1000"
    with pytest.raises(KernelError, match="A decimal does not fit"):
        answer(col.x.cast(pa.decimal128(2, 2)), x=PRICES)
    with pytest.raises(KernelError, match=r"^Cannot cast: 'abc' is not a decimal number\.") as caught:
        answer(col.x.cast(pa.decimal128(5, 2)), x=pa.array(["1.5", "abc"]))
    assert 'errors="null"' in caught.value.hint
    with pytest.raises(ExpressionError, match=r"more than 76 digits"):
        answer(col.x < col.y, x=large, y=pa.array([Decimal("0.1")], pa.decimal256(76, 70)))
    with pytest.raises(ExpressionError, match="'%' cannot take"):
        answer(col.x % 2, x=PRICES)
