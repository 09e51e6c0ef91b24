"""Functions of SQL that are methods of expressions, against DuckDB."""

from __future__ import annotations

from datetime import datetime

import duckdb
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel.errors import SqlError

TABLE = pa.table({
    "at": [0, 1, 2, 3],
    "t": pa.array([datetime(2024, 2, 29, 13, 5, 7, 123456), datetime(1969, 12, 28, 23, 59, 59, 1), None,
                   datetime(2023, 1, 1)], pa.timestamp("us")),
    "s": ["2024-02-29 13:05", "1969-12-31 23:59", None, "2000-01-01 00:00"],
    "l": pa.array([[3, 1, 2, 3], [], None, [-5]], pa.list_(pa.int64())),
    "w": pa.array([["a", "b"], [], None, ["c"]], pa.list_(pa.string())),
    "v": pa.array([{"a": 1, "b": 2}, {"a": None, "b": 3}, None, {"a": 4, "b": 5}]),
})
CALLS = ("strptime(s, '%Y-%m-%d %H:%M')", "epoch(t)", "epoch_ms(t)", "epoch_us(t)", "epoch_ns(t)", "millisecond(t)",
         "microsecond(t)", "nanosecond(t)", "isodow(t)", *(f"list_extract(l, {at})" for at in (1, 3, 9, 0, -1, -4)),
         *(f"list_slice(l, {first}, {last})" for first, last in ((1, 2), (2, -1), (-2, -1), (1, -2), (3, 1), (2, 9))),
         "list_sort(l)", "list_reverse_sort(l)", "struct_extract(v, 'a')")


@pytest.mark.parametrize("call", CALLS)
def test_functions_are_those_of_duckdb(call: str) -> None:
    text = f"SELECT {call} AS y FROM log"
    found = wb.sql(text, log=wb.from_arrow(TABLE, time="at")).collect()["y"].to_pylist()
    con = duckdb.connect()
    con.register("log", TABLE)
    assert found == [row[0] for row in con.execute(text).fetchall()]


def test_joined_lists_counts_and_zones() -> None:
    log = wb.from_arrow(TABLE, time="at")
    found = wb.sql("""SELECT list_join(w, '-') AS w, count_matches(s, '0') AS n, to_timezone(t, 'Asia/Tokyo') AS z
                      FROM log""", log=log).collect()
    assert found["w"].to_pylist() == ["a-b", "", None, "c"]
    assert found["n"].to_pylist() == [3, 0, None, 9]
    assert found["z"].type == pa.timestamp("us", "Asia/Tokyo")


@pytest.mark.parametrize(("call", "what", "hint"), (
    ("strptime(s)", "takes one value and one literal", "docs/sql.md"), ("epoch(t, 1)", "no literals", "docs/sql.md"),
    ("list_slice(l, 1)", "2 literals", "docs/sql.md"), ("list_sort(s)", "takes a list, not string", ""),
    ("list_srt(l)", "There is no function 'list_srt'", "Use list_sort."),
    ("list_extract(l, at)", "a literal integer", ""),
    ("struct_extract(v, 'z')", "There is no field 'z'", "Use one of the fields a, b."),
))
def test_mistakes_are_named(call: str, what: str, hint: str) -> None:
    with pytest.raises(SqlError) as error:
        wb.sql(f"SELECT {call} AS y FROM log", log=wb.from_arrow(TABLE, time="at"))
    assert what in str(error.value)
    assert hint in str(error.value)
