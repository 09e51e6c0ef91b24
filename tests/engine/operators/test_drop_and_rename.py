"""drop and rename: columns go, or go by another name."""

from __future__ import annotations

import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import PlanError, SchemaError

EVENTS = wb.from_arrow({"at": [1], "x": [10], "y": [5]}, time="at")


def test_the_other_columns_stay_in_place() -> None:
    assert EVENTS.drop("x").schema.names == ("at", "y")
    assert EVENTS.rename(x="y", y="x").schema.names == ("at", "y", "x")
    assert EVENTS.rename(price=col.x, volume="y").drop("at").collect().to_pylist() == \
        [{"start": 1, "end": 2, "price": 10, "volume": 5}]
    assert EVENTS.rename({"x": "price"}, volume="y").schema.names == ("at", "price", "volume")
    assert EVENTS.rename({"x": "unit price"}).rename({"unit price": "x"}).schema.names == ("at", "x", "y")


@pytest.mark.parametrize(("build", "kind", "what"), [
    (lambda: EVENTS.drop("z"), SchemaError, "no column 'z'"),
    (lambda: EVENTS.drop("at", "x", "y"), PlanError, "must leave at least one column"),
    (lambda: EVENTS.rename(a="z"), SchemaError, "no column 'z'"),
    (lambda: EVENTS.rename(a="x", b="x"), PlanError, "must give each column one name"),
    (lambda: EVENTS.rename(y="x"), SchemaError, "Two columns would be named 'y'"),
    (lambda: EVENTS.rename({"z": "a"}), SchemaError, "no column 'z'"),
    (lambda: EVENTS.rename({"x": "a"}, b="x"), PlanError, "must give each column one name"),
    (lambda: EVENTS.rename({"x": 1}), PlanError, "name"),
    (lambda: EVENTS.rename({1: "a"}), PlanError, "must be the name of a column"),
    (lambda: EVENTS.rename("x"), PlanError, "takes a dict of names"),
    (lambda: EVENTS.rename(start="x"), PlanError, "'start' is a column of every result"),
])
def test_misuse_is_reported(build: object, kind: type, what: str) -> None:
    with pytest.raises(kind, match=what):
        build()  # type: ignore[operator]
