"""A function that asks ``is None`` means the row's value, never the column that stands in for it."""

from __future__ import annotations

import whimbrel as wb
from whimbrel import col


def log() -> wb.Stream:
    return wb.from_arrow({"t": [1, 2, 3], "x": [1, None, 5]}, time="t")


def test_a_null_is_none_to_a_function_that_asks() -> None:
    filled = log().select(v=lambda e: -1 if e.x is None else e.x).collect()
    assert filled["v"].to_pylist() == [1, -1, 5]
    large = log().select(v=lambda e: e.x if e.x is not None and e.x > 3 else -1).collect()
    assert large["v"].to_pylist() == [-1, -1, 5]


def test_rows_are_kept_by_whether_a_value_is_there() -> None:
    assert log().where(lambda e: e.x is None).collect()["t"].to_pylist() == [2]
    assert log().where(lambda e: e.x is not None).collect()["t"].to_pylist() == [1, 3]
    assert log().where(lambda e: e.x != None).collect()["t"].to_pylist() == [1, 3]  # noqa: E711
    assert log().where(col.x.is_null()).collect()["t"].to_pylist() == [2]


def test_of_two_lambdas_in_one_statement_each_prints_as_itself() -> None:
    stream = log().select(a=lambda e: e.x if e.x is None else 1, b=lambda e: e.t if e.x is None else 2)
    text = stream.explain()
    assert "a=python: lambda e: e.x if e.x is None else 1" in text
    assert "b=python: lambda e: e.t if e.x is None else 2" in text
