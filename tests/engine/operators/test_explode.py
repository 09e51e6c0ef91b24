"""select_many: items of lists, parts of strings, several values."""

from __future__ import annotations

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import ExpressionError, PlanError, SchemaError

LISTS = [[1, 2], [], None, [3, None], [4]]


def rows(stream: wb.Stream) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in stream.collect().to_pylist()]


@pytest.mark.parametrize("type_", [pa.list_(pa.int64()), pa.large_list(pa.int64()), pa.list_(pa.string())])
def test_each_item_keeps_the_lifetime_and_the_other_columns(type_: pa.DataType) -> None:
    text = pa.types.is_string(type_.value_type)
    lists = [items and [item and (str(item) if text else item) for item in items] for items in LISTS]
    table = pa.table({"at": range(5), "x": pa.array(lists, type_), "n": range(5)})
    stream = wb.from_arrow(table, time="at").sliding_window(9).select("x", "n").explode("x")
    assert rows(stream) == [(n, n + 9, item, n) for n, items in enumerate(lists) for item in items or []]
    assert stream.schema.type_of("x") == type_.value_type


def test_slices_of_batches_keep_their_items() -> None:
    table = pa.table({"at": range(900), "x": [[n, n] for n in range(900)]})
    stream = wb.from_arrow(table, time="at").where(col.at % 3 > 0).explode("x").select("x")
    *_, last = stream.progressive(every=7)
    assert last.table["x"].to_pylist() == [n for n in range(900) if n % 3 for _ in range(2)]


def test_strings_are_split() -> None:
    stream = wb.from_arrow({"at": [0, 1, 2], "x": ["a,b", "", None]}, time="at").select("x")
    assert rows(stream.explode("x", split=",")) == [(0, 1, "a"), (0, 1, "b"), (1, 2, "")]


def test_several_values_make_several_rows() -> None:
    stream = wb.from_arrow({"at": [0, 1], "x": [5, None]}, time="at").select("x")
    assert rows(stream.explode("y", [col.x, 7, col.x + 1])) == [
        (0, 1, 5, 5), (0, 1, 5, 7), (0, 1, 5, 6), (1, 2, None, None), (1, 2, None, 7), (1, 2, None, None)]


def test_misuse_is_reported() -> None:
    stream = wb.from_arrow({"at": [0], "x": [5], "s": ["a"]}, time="at")
    with pytest.raises(SchemaError, match="needs a list; column 's' has type string"):
        stream.explode("s")
    with pytest.raises(SchemaError, match="split= needs a string column, got 'x' of type int64"):
        stream.explode("x", split=",")
    with pytest.raises(SchemaError, match="no column 'y'"):
        stream.explode("y")
    with pytest.raises(ExpressionError, match=r"one type, got col.x \(int64\) and col.s \(string\)"):
        stream.explode("y", [col.x, col.s])
    with pytest.raises(PlanError, match="got both"):
        stream.explode("s", [1], split=",")
    with pytest.raises(PlanError, match="'start' is a column of every result"):
        stream.explode("start", [1])


def test_values_are_taken_as_often_as_the_row_says() -> None:
    stream = wb.from_arrow({"at": [3, 4, 5, 6], "x": [2, 0, None, -1]}, time="at").select("x")
    assert rows(stream.explode("v", [33 + wb.start_time(), col.x], times=col.x).select("v")) == [
        (3, 4, 36), (3, 4, 2), (3, 4, 36), (3, 4, 2)]


def test_functions_answer_with_lists_iterators_or_none() -> None:
    stream = wb.from_arrow({"at": [0, 1, 2], "x": [2, 0, 1]}, time="at").select("x")

    def count_down(row) -> list[int]:
        return range(row.x, 0, -1)

    assert rows(stream.explode("v", count_down).select("v")) == [(0, 1, 2), (0, 1, 1), (2, 3, 1)]
    assert rows(stream.explode("v", lambda e: iter([e.x, e.x + 0.5]) if e.x else None).select("v")) == [
        (0, 1, 2.0), (0, 1, 2.5), (2, 3, 1.0), (2, 3, 1.5)]
    odd = stream.explode("v", lambda e: [{"n": e.x}], item_type=pa.struct([("n", pa.int64())]))
    assert rows(odd.select("v"))[0] == (0, 1, {"n": 2})


def test_fixed_size_lists_that_are_null_make_no_row() -> None:
    table = pa.table({"at": range(3), "x": pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int64(), 2))})
    assert rows(wb.from_arrow(table, time="at").select("x").explode("x")) == [
        (0, 1, 1), (0, 1, 2), (2, 3, 3), (2, 3, 4)]


def test_lists_of_structs_become_structs() -> None:
    table = pa.table({"at": [0, 1], "x": [[{"a": 1, "b": "u"}, None], [{"a": 2, "b": None}]]})
    stream = wb.from_arrow(table, time="at").select("x").explode("x").select(a=col.x.field("a"))
    assert rows(stream) == [(0, 1, 1), (0, 1, None), (1, 2, 2)]


def test_what_is_no_list_and_no_number_of_times_is_refused() -> None:
    stream = wb.from_arrow({"at": [0], "x": [2], "s": ["a"]}, time="at").select("x", "s")
    with pytest.raises(SchemaError, match="needs a list"):
        stream.explode("v", col.x + 1)
    with pytest.raises(ExpressionError, match="must be an integer"):
        stream.explode("v", [col.x], times=col.s)
    with pytest.raises(PlanError, match="times= needs values"):
        stream.explode("v", lambda e: [e.x], times=2)
