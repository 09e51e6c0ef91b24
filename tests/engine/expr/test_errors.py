from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from whimbrel.batch import Field, Schema
from whimbrel.errors import ExpressionError, SchemaError
from whimbrel.expr import col, lit, type_of, when

SCHEMA = Schema((
    Field("price", pa.float64()), Field("volume", pa.int32()), Field("name", pa.string()), Field("open", pa.bool_()),
    Field("time", pa.timestamp("us")), Field("zoned", pa.timestamp("us", "UTC")), Field("wait", pa.duration("s")),
    Field("fine", pa.timestamp("ns")),
    Field("day", pa.date32()), Field("tags", pa.list_(pa.string())), Field("cost", pa.decimal128(10, 2)),
))


def test_an_unknown_column_offers_the_near_one():
    with pytest.raises(SchemaError) as caught:
        type_of(col.prise * 2 > 3, SCHEMA, where="where(col.prise * 2 > 3)")
    assert caught.value.what == "There is no column 'prise'."
    assert caught.value.where == "where(col.prise * 2 > 3)"
    assert "Use 'price'" in caught.value.hint


@pytest.mark.parametrize(("expr", "what", "where"), (
    ((col.name + 1) * 2, "'+' cannot take string and int64.", "col.name + 1"),
    (col.name > 3, "'>' cannot take string and int64.", "col.name > 3"),
    (col.open + 1, "'+' cannot take bool and int64.", "col.open + 1"),
    (col.price & col.open, "'&' takes conditions, not double and bool.", "col.price & col.open"),
    (~col.price, "'~' takes a condition, not double.", "~col.price"),
    (-col.name, "'-' takes a number or a duration, not string.", "-col.name"),
    (col.time + 1, "'+' cannot take timestamp[us] and int64.", "col.time + 1"),
    (col.time > 1, "'>' cannot take timestamp[us] and int64.", "col.time > 1"),
    (col.time - col.zoned, "A time with a zone meets one without, not", "col.time - col.zoned"),
    (col.day + timedelta(hours=1), "A date moves by whole days, got 1:00:00.", None),
    (col.tags == col.tags, "'==' needs values with an order, not list", "col.tags == col.tags"),
    (col.cost % 2, "'%' cannot take decimal128(10, 2) and int64.", "col.cost % 2"),
    (col.price.str.lower(), "str.lower takes a string, not double.", "col.price.str.lower()"),
    (col.price.dt.year, "dt.year takes a time or a date, not double.", "col.price.dt.year"),
    (col.name.sqrt(), "sqrt takes a number, not string.", "col.name.sqrt()"),
    (when(col.price).then(1).otherwise(2), "when() needs a condition, not double.", None),
    (when(col.open).then(1).otherwise("x"), "These values cannot take int64 and string.", None),
    (col.price.fill_null("x"), "These values cannot take double and string.", "col.price.fill_null('x')"),
    (col.volume.is_in([1, "x"]), "These values cannot take int32 and string.", "col.volume.is_in([1, 'x'])"),
    (col.tags.cast("int64"), "Cannot cast list<item: string> to int64.", "col.tags.cast('int64')"),
    (col.name.cast("timestamp[us, tz=Mars]"), "There is no time zone 'Mars'.", None),
    (col.fine > datetime(9999, 1, 1), "The literal is outside the range of timestamp[ns].", None),
), ids=repr)
def test_types_that_do_not_go_together(expr, what, where):
    with pytest.raises(ExpressionError) as caught:
        type_of(expr, SCHEMA)
    assert what in caught.value.what
    assert caught.value.where == (where or expr.show())
    assert len(str(caught.value).splitlines()) <= 8


def test_an_expression_is_not_a_truth_value():
    with pytest.raises(ExpressionError, match="no truth value") as caught:
        bool(col.a > 1 and col.b > 2)
    assert caught.value.where == "col.a > 1"
    assert "& | ~" in caught.value.hint
    assert ".between(a, b)" in caught.value.hint


@pytest.mark.parametrize(("build", "what"), (
    (lambda: col.a + object(), "in an expression"),
    (lambda: lit(object), "in an expression"),
    (lambda: col.a + 2**70, "does not fit into 64 bits"),
    (lambda: col.a.cast("integer"), "Unknown type 'integer'."),
    (lambda: col.a.is_in("abc"), "is_in needs a list"),
    (lambda: col.a.is_in([1, None]), "other than None"),
    (lambda: col.a == "\ud800", "half a pair of surrogates"),
))
def test_what_cannot_be_built(build, what):
    with pytest.raises(ExpressionError, match=what):
        build()


@pytest.mark.parametrize(("expr", "type_"), (
    (col.volume + 1, pa.int64()), (col.volume / 1, pa.float64()), (col.volume // 2, pa.int64()),
    (col.volume**2, pa.int64()), (col.volume**0.5, pa.float64()), (col.volume.fill_null(0), pa.int32()),
    (col.time - col.time, pa.duration("us")), (col.time + col.wait, pa.timestamp("us")),
    (col.zoned - timedelta(1), pa.timestamp("us", "UTC")), (col.wait + timedelta(milliseconds=1), pa.duration("ms")),
    (col.wait / col.wait, pa.float64()), (col.wait // col.wait, pa.int64()), (col.name + "x", pa.string()),
    (col.cost > col.cost, pa.bool_()), (col.price + None, pa.float64()),
    (when(col.open).then(None).otherwise(1), pa.int64()), (col.time > datetime(9999, 1, 1), pa.bool_()),
), ids=repr)
def test_types_of_results(expr, type_):
    assert type_of(expr, SCHEMA) == type_


@pytest.mark.parametrize("text", [None, 3, ("a", "b"), b"a"])
@pytest.mark.parametrize("name", ["contains", "starts_with", "ends_with", "index_of"])
def test_what_is_looked_for_is_a_text(name, text):
    with pytest.raises(ExpressionError, match="needs one string") as caught:
        getattr(col.name.str, name)(text)
    assert caught.value.where == f"col.name.str.{name}({text!r})"


@pytest.mark.parametrize("value", [np.datetime64(1, "ps"), np.timedelta64(5, "ps"), np.datetime64(1, "as")])
def test_literals_finer_than_a_nanosecond_are_refused(value):
    with pytest.raises(ExpressionError, match="finer than a nanosecond"):
        type_of(lit(value), SCHEMA)
