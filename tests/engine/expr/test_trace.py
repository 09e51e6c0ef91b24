from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.engine.expr.tables import batch, values
from whimbrel.errors import ExpressionError, KernelError
from whimbrel.expr import RowFunction, col, columns_of, evaluate, lit, substitute, trace, type_of


def test_a_lambda_becomes_the_expression_it_stands_for():
    assert trace(lambda e: e.x > 3).show() == "col.x > 3"
    assert trace(lambda e: e["my column"].str.lower()).show() == "col('my column').str.lower()"
    assert trace(lambda e: (e.a + 1) / e.b).show() == "(col.a + 1) / col.b"


def test_what_is_no_function():
    assert trace(col.a).show() == "col.a"
    assert trace(3).show() == "lit(3)"
    assert trace("a").show() == "lit('a')"
    assert trace("a", names=True).show() == "col.a"
    with pytest.raises(ExpressionError, match="Cannot use") as caught:
        trace([1], "where([1])")
    assert caught.value.where == "where([1])"


def grade(row) -> str:
    return "high" if row.x > 1 else "low"


@pytest.mark.parametrize(("function", "expected"), (
    (lambda e: e.x if e.x > 1 else 0, [0.0, 2.0, None]),
    (lambda e: e.x > 1 and e.a > 1, [False, True, None]),
    (lambda e: math.sqrt(e["a"]), [1.0, math.sqrt(2), 2.0]),
    (lambda e: e.s.upper().strip(), ["X", "Y", None]),
    (lambda e: max(e.a, 3), [3, 3, 4]),
    (lambda e: e.t.isoweekday(), [4, 4, None]),
    (lambda e: e.d.total_seconds(), [1.0, 2.0, None]),
    (lambda e: 1 if e.a > 1 else 0.5, [0.5, 1.0, 1.0]),
    (grade, ["low", "high", None]),
))
def test_what_cannot_be_traced_runs_row_by_row(function, expected):
    of = batch(x=[0.5, 2.0, None], a=[1, 2, 4], s=pa.array(["x", " y", None]).dictionary_encode(),
               t=pa.array([0, 1, None], pa.timestamp("ns")), d=pa.array([1, 2, None], pa.duration("s")))
    expr = trace(function)
    assert isinstance(expr, RowFunction)
    assert values(expr, of) == expected
    assert values(expr, batch(**{field.name: pa.nulls(2, field.type) for field in of.schema})) == [None, None]


def test_it_says_so():
    expr = trace(lambda e: e.x if e.x > 1 else 0)
    assert expr.show() == "python: lambda e: e.x if e.x > 1 else 0"
    assert (expr + 1).show() == "(python: lambda e: e.x if e.x > 1 else 0) + 1"
    assert trace(grade).show() == "python: grade"


def test_rows_that_do_not_count_are_not_asked():
    assert values(trace(lambda e: 1 // int(e.a)), batch([True, False], a=[0, 1])) == [None, 1]


def test_a_function_that_fails_names_its_row():
    with pytest.raises(KernelError) as caught:
        evaluate(trace(lambda e: 1 / int(e.a)), batch(a=[1, 0]))
    assert caught.value.what == "ZeroDivisionError: division by zero, for the row a=0"
    assert caught.value.where == "python: lambda e: 1 / int(e.a)"


def test_a_result_of_another_type_is_an_error():
    with pytest.raises(KernelError, match="A result is not int64"):
        evaluate(trace(lambda e: e.a if e.a < 5000 else "many"), batch(a=[1, 6000]))


def hours(row: Any) -> date:
    return datetime(2024, 1, 1, int(str(row.a)))


def months(row: Any) -> timedelta:
    return np.timedelta64(int(str(row.a)), "M")


def ticks(row: Any) -> date:
    return np.datetime64(int(str(row.a)), "ns")


def halves(row: Any) -> list[int]:
    return [int(str(row.a)) / 2]


@pytest.mark.parametrize("function", [lambda e: 1 if len(str(e.a)) < 5 else 1.5, hours, months, ticks, halves])
def test_a_result_is_never_cut_to_its_type(function: Any) -> None:
    """Arrow makes 1 of 1.5, a day of a time, and the number of its ticks of a NumPy time."""
    with pytest.raises(KernelError, match="A result is not"):
        evaluate(trace(function), batch(a=[12345 if function.__name__ == "<lambda>" else 5]))


@pytest.mark.parametrize("function", (lambda e: sum(e) + e.a, lambda e: [*e], lambda e: e.undefined(e)))
def test_a_row_used_as_a_whole_is_an_error(function):
    with pytest.raises(ExpressionError, match="uses its row as a whole") as caught:
        trace(function, "where(...)")
    assert "row.name or row['name']" in caught.value.hint


@pytest.mark.parametrize("function", (lambda e: [1] if e.a else ['x'], lambda e: "x" if e.a > 1 else 1))
def test_a_type_that_cannot_be_foreseen_asks_for_an_annotation(function):
    schema = batch(a=[1]).schema
    with pytest.raises(ExpressionError, match="Cannot infer") as caught:
        type_of(trace(function), schema)
    assert "-> float" in caught.value.hint


def test_an_annotation_that_says_nothing_is_as_none():
    def whatever(row) -> Any:
        return "x" * int(row.a)

    assert values(trace(whatever), batch(a=[1, 2])) == ["x", "xx"]


def test_columns_and_substitution():
    expr = trace(lambda e: e.x if e.x > e.y else 0) + col.z.is_in([1]).cast("int64")
    assert columns_of(expr) == {"x", "y", "z"}
    assert columns_of(substitute(expr, {"x": col.a + col.b, "z": lit(1)})) == {"a", "b", "y"}
    doubled = substitute(trace(lambda e: e.x if e.x > 1 else 0), {"x": col.a * 2})
    assert values(doubled, batch(a=[0, 1, 2])) == [0, 2, 4]


def test_literals_come_from_numpy_too():
    of = batch(t=pa.array([datetime(2013, 1, 1)], pa.timestamp("us")))
    assert values(col.t == np.datetime64("2013-01-01"), of) == [True]
    assert values(col.t + np.timedelta64(1, "D") > datetime(2013, 1, 1), of) == [True]
    assert values(lit(np.int32(3)) + 1, of) == [4]
    assert values(lit(timedelta(1)), of) == [timedelta(1)]


def test_an_integer_of_a_function_that_leaves_int64_is_told_what_to_return():
    of = batch(big=pa.array([[1, 2**63]], pa.list_(pa.uint64())))

    def largest(row: Any) -> int:
        return max(list(row.big))

    with pytest.raises(KernelError, match="A result is not int64") as caught:
        evaluate(trace(largest, "select()"), of)
    assert caught.value.hint == "Return a float or a string: integers of a function are int64."
