from __future__ import annotations

import datetime as dt

import pytest

from whimbrel.expr import col, greatest, least, lit, when

TYPED = [
    "col.a + 1",
    "1 + col.a",
    "(col.a + col.b) * 2",
    "col.a + col.b * 2",
    "col.a - (col.b - 1)",
    "col.a - col.b - 1",
    "-col.a ** 2",
    "(-col.a) ** 2",
    "lit(-1) ** col.a",
    "col.a ** col.b ** 2",
    "(col.a ** col.b) ** 2",
    "(col.a > 1) & ~(col.b == 2) | col.c",
    "(col.a > 1) & (col.b | col.c)",
    "col.a ^ col.b",
    "(col.a < 1) == (col.b < 1)",
    "lit(3) < col.a",
    "lit(1) + 2",
    "-lit(3)",
    "lit(2).sqrt()",
    "lit('a%') % col.a",
    "col.a - -1",
    "-1 * col.a",
    "col.a + None",
    "col.x == float('nan')",
    "col('my column') + col('class')",
    "(col.a + 1).abs().sqrt().floor().ceil().round(2).log().exp()",
    "col.a.round()",
    "(col.a + 1).sin() + col.a.cos() * -col.a.sign()",
    "greatest(col.a + 1, col.b, 3) - least(col.a)",
    "col.name.str.contains('x')",
    "col.name.str.contains('^x', regex=True)",
    "col.name.str.lower().str.starts_with('wh') | col.name.str.ends_with('l')",
    "('a' + col.name).str.upper().str.length()",
    "col.t.dt.floor('1h') - col.t > datetime.timedelta(seconds=5)",
    "col.t.dt.hour + col.t.dt.weekday",
    "col.t >= datetime.datetime(2013, 1, 1, 0, 0)",
    "col.a.is_null() | col.b.is_not_null()",
    "col.a.fill_null(col.b + 1).fill_null(0)",
    "col.a.is_in([1, 2])",
    "col.a.between(1, col.b)",
    "(col.a + 1).cast('int32')",
    "col.t.cast('timestamp[us]')",
    "when(col.a > 1).then(col.b).otherwise(0) + 1",
    "when(col.a > 1).then('x').otherwise(when(col.b).then('y').otherwise(None))",
]


@pytest.mark.parametrize("text", TYPED)
def test_shows_what_was_typed(text):
    expr = eval(text, {"col": col, "lit": lit, "when": when, "datetime": dt, "greatest": greatest,
                       "least": least})
    assert expr.show() == repr(expr) == text


def test_plain_values_are_shown_where_they_may_stand():
    assert (col.a + lit(1)).show() == "col.a + 1"
    assert (3 < col.a).show() == "col.a > 3"  # noqa: SIM300 - the turn is what is tested
    assert (col.t + dt.timedelta(hours=1)).show() == "col.t + datetime.timedelta(seconds=3600)"
    assert (col.a + abs(col.b)).show() == "col.a + col.b.abs()"


def test_casts_show_a_name_that_can_be_typed():
    for type_, shown in ((float, "double"), ("float32", "float"), (str, "string"), (int, "int64"), (bool, "bool")):
        expr = col.a.cast(type_)
        assert expr.show() == f"col.a.cast('{shown}')"
        assert eval(expr.show(), {"col": col}).type == expr.type
