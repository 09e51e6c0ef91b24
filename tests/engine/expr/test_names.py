"""Columns of any name, and texts that are names of columns where a value is wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import whimbrel as wb
from whimbrel import col

NAMES = ["fee in %", "class", "__len__", "__touched__", "str", "dt", "where", "row", "prefix", "event", "which",
         "touched", "col", "", "ü"]


def log(name: str) -> wb.Stream:
    return wb.from_arrow({"at": [0, 1, 2], name: [3, 4, 5], "x": [1, 2, 3]}, time="at")


def values(stream: wb.Stream) -> list[Any]:
    return stream.collect()["y"].to_pylist()


@pytest.mark.parametrize("name", NAMES)
def test_a_subscript_takes_any_name(name: str) -> None:
    rows = log(name)
    assert values(rows.select(y=col[name] + 1)) == [4, 5, 6]
    assert values(rows.select(y=lambda e: e[name] + 1)) == [4, 5, 6]
    assert values(rows.where(col[name] > 3).select(y=col(name))) == [4, 5]
    assert values(rows.tumbling_window(9).aggregate(y=wb.sum(col[name]))) == [12]
    assert values(rows.tumbling_window(9).aggregate(y=wb.sum(lambda e: e[name]))) == [12]


def test_a_function_called_by_row_reads_items() -> None:
    assert values(log("fee in %").select(y=lambda e: int(e["fee in %"]) if e["x"] > 1 else 0)) == [0, 4, 5]
    assert values(log("row").select(y=lambda e: e.row if e["x"] > 1 else 0)) == [0, 4, 5]


@pytest.mark.parametrize("name", NAMES)
def test_matched_events_and_registers_have_any_name(name: str) -> None:
    rise = wb.sequence(a=col.x == 1, b=col[name] > wb.first_of("a")[name])
    found = log(name).detect(rise, within=9, output={"y": wb.last_of("b")[name]})
    assert values(found) == [4]
    counted = wb.event(lambda e, r: e[name] > r[name], n=col.x).repeat(3)
    assert log(name).detect(counted, within=9, register={name: 0, "n": 0}).collect().num_rows == 1


def test_a_function_of_event_and_register_reads_columns_named_as_its_parts_are() -> None:
    def above(event: Any, register: Any) -> bool:
        return bool(event.row > register.touched if event.x else False)

    found = log("row").detect(wb.event(above), within=9, register={"touched": 3})
    assert found.collect()["start"].to_pylist() == [1, 2]


@pytest.mark.parametrize("name", [1, None, ("a", "b"), slice(1, 2), b"x"])
def test_a_name_is_a_text(name: Any) -> None:
    for subscript in (lambda: col[name], lambda: col(name), lambda: wb.register[name], lambda: wb.last_of("a")[name]):
        with pytest.raises(wb.WhimbrelError, match="A column name must be a string"):
            subscript()


def test_columns_cannot_be_counted_through() -> None:
    with pytest.raises(TypeError, match="not iterable"):
        list(col)  # type: ignore[call-overload]


TEXTS: dict[str, Callable[[wb.Stream], Any]] = {
    "select": lambda s: s.select(prev="x"),
    "with_columns": lambda s: s.with_columns(prev="x"),
    "with_columns, the same name": lambda s: s.with_columns(x="x"),
    "group_by": lambda s: s.group_by(prev="x").aggregate(n=wb.count()),
    "explode": lambda s: s.explode("y", ["x", "at"]),
    "where": lambda s: s.where("flag"),
    "where, several": lambda s: s.where(col.x > 1, "flag"),
    "min": lambda s: s.aggregate(n=wb.min("x")),
    "sum": lambda s: s.aggregate(n=wb.sum("x")),
    "count": lambda s: s.aggregate(n=wb.count("x")),
    "collect": lambda s: s.tumbling_window(5).aggregate(n=wb.collect("x")),
    "count_distinct in an expression": lambda s: s.aggregate(n=1 + wb.count_distinct("x") * 2),
    "condition of an aggregate": lambda s: s.aggregate(n=wb.count().where("flag")),
    "user's aggregate": lambda s: s.aggregate(n=wb.aggregate(
        init=0, accumulate=lambda n, x: n + x, result=lambda n: n, name="f")("x")),
    "output of a pattern": lambda s: s.detect(wb.event(col.x > 1), within=5, output={"prev": "x"}),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_that_names_a_column_is_refused_with_both_ways_out(name: str) -> None:
    rows = wb.from_arrow({"at": [0], "x": [1], "flag": [True]}, time="at")
    with pytest.raises(wb.WhimbrelError, match=r"column name(.|\n)*hint:.*col\.(x|flag) .*wb\.lit\('(x|flag)'\)"):
        TEXTS[name](rows)


def test_other_texts_and_literals_are_text() -> None:
    rows = log("fee in %")
    assert values(rows.select(y="z")) == values(rows.with_columns(y="z")) == ["z"] * 3
    assert values(rows.select(y=wb.lit("x"))) == values(rows.select(y=lambda _: "x")) == ["x"] * 3
    assert values(rows.group_by(y=wb.lit("x")).tumbling_window(9).aggregate(n=wb.count())) == ["x"]
    assert values(rows.tumbling_window(9).aggregate(y=wb.min(wb.lit("x")))) == ["x"]
    assert values(rows.explode("y", [wb.lit("x"), "z"])) == ["x", "z"] * 3
    assert values(rows.select(y=wb.when(col.x > 1).then("x").otherwise("at"))) == ["at", "x", "x"]
