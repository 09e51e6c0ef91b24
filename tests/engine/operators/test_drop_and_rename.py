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


@pytest.mark.parametrize(("build", "kind", "what"), [
    (lambda: EVENTS.drop("z"), SchemaError, "no column 'z'"),
    (lambda: EVENTS.drop("at", "x", "y"), PlanError, "must leave at least one column"),
    (lambda: EVENTS.rename(a="z"), SchemaError, "no column 'z'"),
    (lambda: EVENTS.rename(a="x", b="x"), PlanError, "must give each column one name"),
    (lambda: EVENTS.rename(y="x"), SchemaError, "Two columns would be named 'y'"),
    (lambda: EVENTS.rename(start="x"), PlanError, "'start' is a column of every result"),
])
def test_misuse_is_reported(build: object, kind: type, what: str) -> None:
    with pytest.raises(kind, match=what):
        build()  # type: ignore[operator]
