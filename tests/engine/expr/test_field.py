"""Fields of structs."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.engine.expr.tables import batch, values
from whimbrel.errors import ExpressionError
from whimbrel.expr import col

STRUCTS = pa.array([{"x": 1, "name": "a"}, {"x": None, "name": "b"}, None])


def test_a_field_is_null_where_it_or_its_struct_is():
    assert values(col.at.field("x"), batch(at=STRUCTS)) == [1, None, None]
    assert values(col.at.field("name").str.upper(), batch(at=STRUCTS)) == ["A", "B", None]
    assert values(col.at.field("x").is_null(), batch(at=STRUCTS)) == [False, True, True]


@pytest.mark.parametrize(("build", "message"), (
    (lambda: col.at.field("nme"), "There is no field 'nme'.*Use 'name'"),
    (lambda: col.n.field("x"), "field takes a struct"),
))
def test_mistakes_are_named(build, message):
    with pytest.raises(ExpressionError, match=f"(?s){message}"):
        values(build(), batch(at=STRUCTS, n=pa.array([1, 2, 3])))


def test_it_is_shown_as_it_was_written():
    assert (col.at.field("x") + 1).show() == "col.at.field('x') + 1"
