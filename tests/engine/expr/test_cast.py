from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from tests.engine.expr.tables import batch, values
from whimbrel.errors import KernelError
from whimbrel.expr import col, evaluate, lit
from whimbrel.expr.type_names import data_type


@pytest.mark.parametrize(("given", "type_", "expected"), (
    (pa.array([1.9, -1.9, None]), "int64", [1, -1, None]),
    (pa.array([1, 0, None]), bool, [True, False, None]),
    (pa.array([True, False, None]), int, [1, 0, None]),
    (pa.array([1, 2, None]), "float32", [1.0, 2.0, None]),
    (pa.array(["1", "-2", None]), int, [1, -2, None]),
    (pa.array(["1.5", None]).dictionary_encode(), float, [1.5, None]),
    (pa.array([1, None]), str, ["1", None]),
    (pa.array(["2013-07-04"]), "date32", [date(2013, 7, 4)]),
    (pa.array(["2013-07-04T12:00:00"]), "timestamp[s]", [datetime(2013, 7, 4, 12)]),
    (pa.array([-1500], pa.timestamp("ms")), "timestamp[s]", [datetime(1969, 12, 31, 23, 59, 58)]),
    (pa.array([1], pa.timestamp("s")), pa.timestamp("ns", "UTC"), [datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)]),
    (pa.array([1], pa.timestamp("s")), "int64", [1]),
    (pa.array([1], pa.int64()), "timestamp[s]", [datetime(1970, 1, 1, 0, 0, 1)]),
    (pa.array([datetime(2013, 7, 4, 23)], pa.timestamp("s")), "date32", [date(2013, 7, 4)]),
    (pa.array([Decimal("1.50"), None]), float, [1.5, None]),
    (pa.nulls(2), "int64", [None, None]),
), ids=str)
def test_casts(given, type_, expected):
    assert values(col.x.cast(type_), batch(x=given)) == expected


@pytest.mark.parametrize(("given", "type_", "what"), (
    (pa.array([300]), "int8", "integer overflow"),
    (pa.array([-1]), "uint8", "integer overflow"),
    (pa.array([float("nan")]), "int64", "integer overflow"),
    (pa.array([1e19]), "int64", "integer overflow"),
    (pa.array(["x"]), "int64", "Cannot cast"),
    (pa.array(["x"]).dictionary_encode(), "int64", "Cannot cast"),
), ids=str)
def test_what_does_not_fit_is_an_error_where_it_counts(given, type_, what):
    with pytest.raises(KernelError, match=what) as caught:
        evaluate(col.x.cast(type_), batch(x=given))
    assert caught.value.where == f"col.x.cast('{pa.type_for_alias(type_)}')"
    assert evaluate(col.x.cast(type_), batch([True], x=given)).type == pa.type_for_alias(type_)


def test_literals_can_be_cast():
    of = batch(a=[1, 2])
    assert values(lit(1).cast("float32"), of) == [1.0, 1.0]
    assert values(lit("7").cast(int), of) == [7, 7]
    assert values(lit(None).cast("string"), of) == [None, None]


def test_decimals_compare():
    of = batch(c=pa.array([Decimal("1.50"), Decimal("2.00"), None]))
    assert values(col.c == col.c, of) == [True, True, None]
    assert values(col.c.cast(float) > 1.6, of) == [False, True, None]
    assert values(col.c.is_null(), of) == [False, False, True]


@pytest.mark.parametrize("type_", [pa.timestamp("us", "UTC"), pa.timestamp("ms", "Europe/Berlin")], ids=str)
def test_a_type_may_be_written_as_it_is_printed(type_: pa.DataType) -> None:
    assert data_type(str(type_), col.x.show) == type_
