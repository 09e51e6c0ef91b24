"""Dates that move by whole days, and the time between two dates."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.expr.rowloop import interpreted, same
from tests.engine.expr.tables import batch, values
from whimbrel import col
from whimbrel.errors import ExpressionError, KernelError
from whimbrel.expr import Expr, evaluate, inlinable

DAYS = [date(2024, 1, 31), date(1969, 12, 31), None]


@pytest.mark.parametrize("type_", (pa.date32(), pa.date64()), ids=str)
def test_a_date_moves_by_whole_days(type_: pa.DataType) -> None:
    of = batch(d=pa.array(DAYS, type_))
    for by in (timedelta(days=1), timedelta(days=-40), timedelta(hours=48), np.timedelta64(2, "W"), timedelta(0)):
        length = by if isinstance(by, timedelta) else timedelta(days=14)
        for expr, expected in ((col.d + by, [x and x + length for x in DAYS]),
                               (by + col.d, [x and x + length for x in DAYS]),
                               (col.d - by, [x and x - length for x in DAYS])):
            column = evaluate(expr, of)
            assert values(expr, of) == expected
            assert column.type == type_
            assert inlinable(expr, of.schema)
            assert same(interpreted(expr, of, column), column)


def test_dates_and_literals() -> None:
    of = batch(d=pa.array(DAYS))
    assert values(wb.lit(date(2024, 2, 28)) + timedelta(days=2), of)[0] == date(2024, 3, 1)
    assert values(col.d + timedelta(days=1) >= date(2024, 2, 1), of) == [True, False, None]
    assert values(col.d.cast("timestamp[s]") + timedelta(hours=5), of)[0] == datetime(2024, 1, 31, 5)


@pytest.mark.parametrize(("expr", "message"), (
    (col.d + timedelta(hours=5), "whole days, got 5:00:00"),
    (timedelta(days=1, microseconds=1) + col.d, "whole days, got 1 day, 0:00:00.000001"),
    (col.d - np.timedelta64(1, "ns"), "whole days"),
    (col.d + col.n, r"literal of whole days, got duration\[s\]"),
))
def test_a_part_of_a_day_is_refused(expr: Expr, message: str) -> None:
    with pytest.raises(ExpressionError, match=message) as caught:
        evaluate(expr, batch(d=pa.array(DAYS), n=pa.array([1, 2, 3], pa.duration("s"))))
    assert caught.value.hint == "Cast the date to a time first: .cast('timestamp[s]')."


@pytest.mark.parametrize("type_", (pa.date32(), pa.date64()), ids=str)
def test_a_date_that_leaves_its_type_is_an_error(type_: pa.DataType) -> None:
    last = pa.array([2**31 - 1], pa.int32()).cast(pa.date32()) if type_ == pa.date32() else (
        pa.array([2**63 - 1 - (2**63 - 1) % 86_400_000], pa.int64()).cast(pa.date64()))
    of = batch(d=last)
    expr = col.d + timedelta(days=1)
    with pytest.raises(KernelError, match="integer overflow"):
        evaluate(expr, of)
    with pytest.raises(OverflowError):
        interpreted(expr, of, evaluate(col.d + timedelta(0), of))
    with pytest.raises(ExpressionError, match="outside the range"):
        evaluate(col.d + np.timedelta64(2**40 if type_ == pa.date64() else 2**32, "D"), of)


@pytest.mark.parametrize("type_", (pa.date32(), pa.date64()), ids=str)
def test_the_difference_of_dates_is_a_duration(type_: pa.DataType) -> None:
    of = batch(d=pa.array(DAYS, type_), e=pa.array([date(2024, 1, 1)] * 3, type_))
    expected = [x and x - date(2024, 1, 1) for x in DAYS]
    for other in (col.e, date(2024, 1, 1), "2024-01-01"):
        assert values(col.d - other, of) == expected
    assert evaluate(col.d - col.e, of).type == pa.duration("s")
    assert values(col.d - col.e > timedelta(days=29), of) == [True, False, None]


SCALARS = (
    pa.scalar(3), pa.scalar(-3, pa.int8()), pa.scalar(2**64 - 1, pa.uint64()), pa.scalar(2.5, pa.float32()),
    pa.scalar(True), pa.scalar("a"), pa.scalar(date(2024, 1, 1)),
    pa.scalar(date(2024, 1, 1), pa.date64()), pa.scalar(7, pa.timestamp("ns")), pa.scalar(7, pa.timestamp("s")),
    pa.scalar(7_000, pa.timestamp("ns", "Europe/Berlin")), pa.scalar(7, pa.duration("ns")),
    pa.scalar(None, pa.int16()), pa.scalar(None, pa.timestamp("us")), pa.scalar(None),
)


@pytest.mark.parametrize("scalar", SCALARS, ids=repr)
def test_an_arrow_scalar_is_a_literal_of_its_type(scalar: pa.Scalar) -> None:
    of = batch(x=[1, 2])
    column = evaluate(wb.lit(scalar), of).to_arrow()
    assert column.type == scalar.type
    assert column.equals(pa.repeat(scalar, 2))


def test_arrow_scalars_in_expressions() -> None:
    of = batch(x=[1, 2], k=pa.array([1, 2], pa.int8()), t=pa.array([7, 8], pa.timestamp("us")))
    assert values(col.x == pa.scalar(2), of) == [False, True]
    assert evaluate(col.k + pa.scalar(1), of).type == pa.int64()
    assert values(col.t > pa.scalar(7_001, pa.timestamp("ns")), of) == [False, True]
    assert values(col.x.is_in([pa.scalar(2)]), of) == [False, True]
    assert values(wb.lit(pa.scalar(b"a")) == b"a", of) == [True, True]
    assert values(col.t - pa.scalar(1_000, pa.duration("ns")), of) == [datetime(1970, 1, 1, 0, 0, 0, each)
                                                                         for each in (6, 7)]


@pytest.mark.parametrize("scalar", (pa.scalar([1]), pa.scalar({"a": 1})), ids=repr)
def test_arrow_scalars_of_other_types_are_refused(scalar: pa.Scalar) -> None:
    with pytest.raises(ExpressionError, match="in an expression"):
        wb.lit(scalar)
