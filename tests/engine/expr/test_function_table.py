"""Functions of the table, each against the standard library, one row at a time."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.expr.tables import batch, values
from whimbrel import col
from whimbrel.errors import ExpressionError, WhimbrelError
from whimbrel.expr import FUNCTION_TABLE, SQL_FUNCTIONS, Call, Col, evaluate

INF, NAN = math.inf, math.nan
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 1e-20, 1e300, -1e300, INF, -INF, NAN, None]
NUMBERS = {
    "tan": math.tan, "asin": math.asin, "acos": math.acos, "atan": math.atan, "sinh": math.sinh, "cosh": math.cosh,
    "tanh": math.tanh, "log10": math.log10, "log2": math.log2, "log1p": math.log1p, "expm1": math.expm1,
    "cbrt": math.cbrt, "degrees": math.degrees, "radians": math.radians, "is_nan": math.isnan,
    "is_finite": math.isfinite, "atan2": math.atan2, "hypot": math.hypot,
}
TEXTS = ["Whimbrel", "two words", "-7", "", None, "ä ö", "aaa"]
DAYS = [date(2020, 12, 31), date(2021, 1, 1), date(1969, 12, 28), None, date(2024, 2, 29), date(2023, 1, 7)]
DATES = {"iso_year": lambda d: d.isocalendar().year, "date": lambda d: d, "is_weekend": lambda d: d.weekday() > 4}


def floats() -> tuple[list, list]:
    rng = np.random.default_rng(7)
    x = [*EDGES, *rng.normal(size=50).tolist(), *(rng.normal(size=50) * 100).tolist()]
    return x, x[5:] + x[:5]


def expected(function, *given):
    """What the standard library gives; its errors of domain are NaN here, or the infinity at a pole."""
    if None in given:
        return None
    try:
        return function(*given)
    except OverflowError:
        return INF if given[0] > 0 or function is math.cosh else -INF
    except ValueError:
        return -INF if given[0] == (-1 if function is math.log1p else 0) and "log" in function.__name__ else NAN


@pytest.mark.parametrize("name", NUMBERS)
def test_functions_of_numbers(name: str) -> None:
    x, y = floats()
    count = FUNCTION_TABLE[name].arguments
    of = batch(x=pa.array(x, pa.float64()), y=pa.array(y, pa.float64()))
    found = values(Call(name, (col.x, col.y)[:count]), of)
    wanted = [expected(NUMBERS[name], *row[:count]) for row in zip(x, y, strict=True)]
    for one, other in zip(found, wanted, strict=True):
        assert one == other or one == pytest.approx(other, rel=1e-14, nan_ok=True)


@pytest.mark.parametrize("name", NUMBERS)
def test_types_of_numbers(name: str) -> None:
    of = batch(f=pa.array([0.5], pa.float32()), i=pa.array([2**63], pa.uint64()), n=pa.nulls(1), s=["a"])
    count = FUNCTION_TABLE[name].arguments
    for column, type_ in (("f", pa.float32()), ("i", pa.float64()), ("n", pa.float64())):
        expr = Call(name, (Col(column),) * count)
        assert len(values(expr, of)) == 1
        assert evaluate(expr, of).type == (FUNCTION_TABLE[name].gives or type_)
    with pytest.raises(ExpressionError, match=f"{name} takes a number, not string"):
        evaluate(Call(name, (col.s,) * count), of)
    assert len(values(Call(name, (wb.lit(0.5),) * count), of)) == 1


@pytest.mark.parametrize("name", DATES)
def test_functions_of_times(name: str) -> None:
    expr = getattr(col.t.dt, name)
    wanted = [None if day is None else DATES[name](day) for day in DAYS]
    assert values(expr, batch(t=pa.array(DAYS))) == wanted
    noon = [None if day is None else datetime(day.year, day.month, day.day, 12, tzinfo=UTC) for day in DAYS]
    zone = "Pacific/Auckland"
    local = [None if time is None else DATES[name](time.astimezone(ZoneInfo(zone)).date()) for time in noon]
    assert values(expr, batch(t=pa.array(noon, pa.timestamp("us", zone)))) == local


@pytest.mark.parametrize("texts", (pa.array(TEXTS), pa.array(TEXTS).dictionary_encode(), pa.array(TEXTS).cast(
    pa.large_string())), ids=lambda texts: str(texts.type))
@pytest.mark.parametrize(("build", "plain"), (
    (lambda s: s.str.title(), str.title), (lambda s: s.str.zfill(4), lambda s: s.zfill(4)),
    (lambda s: s.str.len_bytes(), lambda s: len(s.encode())), (lambda s: s.str.head(3), lambda s: s[:3]),
    (lambda s: s.str.head(-1), lambda s: s[:-1]), (lambda s: s.str.tail(2), lambda s: s[-2:]),
    (lambda s: s.str.tail(0), lambda s: s[:0]), (lambda s: s.str.count_matches("a"), lambda s: s.count("a")),
    (lambda s: s.str.count_matches("[a-z]+", regex=True), lambda s: len(re.findall("[a-z]+", s))),
))
def test_functions_of_texts(texts, build, plain) -> None:
    expr = build(col.s)
    if "[a-z]" in repr(expr):
        texts = pa.array([None if text == "ä ö" else text for text in texts.to_pylist()]).cast(texts.type)
    assert values(expr, batch(s=texts)) == [None if text is None else plain(text) for text in texts.to_pylist()]


def test_a_bad_pattern_is_refused_before_any_row() -> None:
    with pytest.raises(ExpressionError, match="is not a pattern"):
        evaluate(col.s.str.count_matches("(", regex=True), batch(s=["a"]))


def test_clip_and_nullif() -> None:
    of = batch(x=[-2.0, 0.5, 7.0, NAN, None])
    found = values(col.x.clip(0, 1), of)
    assert found[:3] == [0.0, 0.5, 1.0]
    assert math.isnan(found[3])
    assert found[4] is None
    assert values(col.x.nullif(0.5), of)[:3] == [-2.0, None, 7.0]


def test_functions_stand_in_windows_and_conditions() -> None:
    log = wb.from_arrow({"at": [0, 1, 2, 3], "x": [0.5, None, 1.0, -1.0]}, time="at")
    rows = log.where(col.x.atan() > 0).tumbling_window(4).aggregate(m=wb.sum(col.x.tanh()))
    assert rows.collect()["m"].to_pylist() == [pytest.approx(math.tanh(0.5) + math.tanh(1))]


@pytest.mark.parametrize("name", [name for name, call in SQL_FUNCTIONS.items() if call in NUMBERS])
def test_sql_reads_the_same_table(name: str) -> None:
    log = wb.from_arrow({"at": [0, 1], "x": [0.5, None], "s": ["a", "b"]}, time="at")
    called = SQL_FUNCTIONS[name]
    count = FUNCTION_TABLE[called].arguments
    given = ", ".join(["x"] * count)
    found = wb.sql(f"SELECT {name}({given}) AS y FROM log", log=log).collect()["y"].to_pylist()
    assert found == [pytest.approx(NUMBERS[called](*[0.5] * count)), None]
    counts = () if name in ("log10", "log2") else (f"{name}()", f"{name}(x, x, x)")  # to sqlglot log10() is log(10)
    for wrong in (f"{name}(s, s)" if count == 2 else f"{name}(s)", *counts):
        with pytest.raises(WhimbrelError):
            wb.sql(f"SELECT {wrong} AS y FROM log", log=log)
