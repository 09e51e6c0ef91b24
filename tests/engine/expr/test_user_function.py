"""Functions of users in expressions."""

from __future__ import annotations

import math
from typing import Any

import pytest

import whimbrel as wb
from tests.engine.stream.printed import built_again
from whimbrel.errors import ExpressionError, KernelError, PlanError, SqlError
from whimbrel.expr import substitute
from whimbrel.plan import explain
from whimbrel.run.checkpoint import describe_plans

col = wb.col
LOG = wb.from_arrow({"at": [0, 1, 2, 3], "x": [1, 4, None, 9], "s": ["a1", "b", "c3", None]}, time="at", name="log")


@wb.function(cost="cheap")
def half(x: Any) -> Any:
    return x / 2


@wb.function
def size(x: Any) -> str:
    return "none" if x is None else "large" if x > 3 else "small"


@wb.function(cost="expensive")
def both(x: Any, y: Any) -> Any:
    return x + y > 5


root = wb.function(math.sqrt, cost="cheap")
digit = wb.function(lambda s: s.str.contains("[0-9]", regex=True), cost="cheap")
length = wb.function(lambda s: len(s) * 10)


@pytest.mark.parametrize(("expr", "text", "values"), [
    (half(col.x), "half(col.x)", [0.5, 2.0, None, 4.5]),
    (half(half(col.x) + 1) * 2, "half(half(col.x) + 1) * 2", [1.5, 3.0, None, 5.5]),
    (size(col.x), "size(col.x)", ["small", "large", "none", "large"]),
    (size(half(col.x)), "size(half(col.x))", ["small", "small", "none", "large"]),
    (both(col.x, 2), "both(col.x, 2)", [False, True, None, True]),
    (~both(2, col.x), "~both(2, col.x)", [True, False, None, False]),
    (root(col.x), "sqrt(col.x)", [1.0, 2.0, None, 3.0]),
    (digit(col.s) & (col.x > 0), "col.s.str.contains('[0-9]', regex=True) & (col.x > 0)", [True, False, None, None]),
    (length(col.s), "(lambda s: len(s) * 10)(col.s)", [20, 10, 20, None]),
    (wb.when(both(col.x, 1)).then(half(col.x)).otherwise(0.0), "when(both(col.x, 1)).then(half(col.x)).otherwise(0.0)",
     [0.0, 0.0, 0.0, 4.5]),
    (wb.function(lambda x: x)(col.x), "col.x", [1, 4, None, 9]),
])
def test_a_function_is_called_with_expressions_or_for_each_row(expr: Any, text: str, values: list[Any]) -> None:
    assert expr.show() == text
    assert LOG.select(y=expr).collect()["y"].to_pylist() == values
    moved = substitute(expr, {"x": col.x2 - 1, "s": col.t})
    renamed = LOG.select(x2=col.x + 1, t=col.s)
    assert renamed.select(y=moved).collect()["y"].to_pylist() == values
    assert renamed.select(x=col.x2 - 1, s=col.t).select(y=expr).collect()["y"].to_pylist() == values


@pytest.mark.parametrize(("query", "has_name"), [
    (lambda s: s.where(both(col.x, half(col.x))), True), (lambda s: s.where(lambda e: both(e.x, 1)), True),
    (lambda s: s.select(z=size(half(col.x))), True), (lambda s: s.where(length(col.s) > 10), False),
])
def test_what_is_printed_calls_the_function_again(query: Any, has_name: bool) -> None:
    stream = query(LOG)
    assert explain(built_again(stream).node) == explain(stream.node)
    if has_name:
        functions = {"both": both, "half": half, "size": size}
        assert explain(wb.sql(stream.sql(), log=LOG, functions=functions).node) == explain(stream.node)
    else:
        with pytest.raises(PlanError, match="no word"):
            stream.sql()


def test_plain_values_give_plain_values_and_a_row_can_call_it() -> None:
    assert (half(3), root(16), both.cost, half.name, repr(digit)) == (1.5, 4.0, "expensive", "half", "function")
    found = LOG.where(lambda e: half(e.x) > 1 and size(e.x) == "large").collect()
    assert found["x"].to_pylist() == [4, 9]


def test_errors_name_the_values_of_the_row() -> None:
    with pytest.raises(KernelError, match=r"ZeroDivisionError.*for the row x=4"):
        LOG.select(y=wb.function(lambda x: 1 / (int(x) - 4))(col.x)).collect()
    with pytest.raises(ExpressionError, match="cost must be"):
        wb.function(len, cost="free")  # type: ignore[call-overload]
    with pytest.raises(ExpressionError, match="needs a function"):
        wb.function(3)  # type: ignore[call-overload]


@pytest.mark.parametrize("values", [(), (1, 2), (1, 2, 3)])
def test_a_wrong_number_of_values_is_refused(values: Any) -> None:
    one, both = wb.function(lambda x: x + 1), wb.function(math.atan2)
    for function, count in ((one, 1), (both, 2)):
        if len(values) + 1 != count:
            with pytest.raises(ExpressionError, match=r"wrong number of values: (missing|too many)"):
                function(col.x, *values)
    with pytest.raises(SqlError, match=r"^f\(\) has the wrong number .*'y'"):
        wb.sql("SELECT f(x) AS z FROM log", log=LOG, functions={"f": wb.function(lambda x, y: x + y)})


def test_a_plan_with_another_mark_or_body_is_another_plan() -> None:
    def plan(function: Any, cost: Any) -> list[str]:
        return describe_plans([LOG.where(wb.function(function, cost=cost)(col.x) > 1).node])

    one, two = (lambda x: x * 2), (lambda x: x * 3)
    assert plan(one, "cheap") == plan(one, "cheap")
    plans = [plan(one, "cheap"), plan(one, "expensive"), plan(one, None), plan(two, "cheap"), plan(math.sqrt, "cheap"),
             plan(math.sqrt, None)]
    assert len(set(map(str, plans))) == len(plans)
