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
    stream = wb.from_arrow(table, time="at").sliding_window(9).select("x", "n").select_many("x")
    assert rows(stream) == [(n, n + 9, item, n) for n, items in enumerate(lists) for item in items or []]
    assert stream.schema.type_of("x") == type_.value_type


def test_slices_of_batches_keep_their_items() -> None:
    table = pa.table({"at": range(900), "x": [[n, n] for n in range(900)]})
    stream = wb.from_arrow(table, time="at").where(col.at % 3 > 0).select_many("x").select("x")
    *_, last = stream.progress(every=7)
    assert last.table["x"].to_pylist() == [n for n in range(900) if n % 3 for _ in range(2)]


def test_strings_are_split() -> None:
    stream = wb.from_arrow({"at": [0, 1, 2], "x": ["a,b", "", None]}, time="at").select("x")
    assert rows(stream.select_many("x", split=",")) == [(0, 1, "a"), (0, 1, "b"), (1, 2, "")]


def test_several_values_make_several_rows() -> None:
    stream = wb.from_arrow({"at": [0, 1], "x": [5, None]}, time="at").select("x")
    assert rows(stream.select_many("y", [col.x, 7, col.x + 1])) == [
        (0, 1, 5, 5), (0, 1, 5, 7), (0, 1, 5, 6), (1, 2, None, None), (1, 2, None, 7), (1, 2, None, None)]


def test_misuse_is_told() -> None:
    stream = wb.from_arrow({"at": [0], "x": [5], "s": ["a"]}, time="at")
    with pytest.raises(SchemaError, match="'s' is string, not a list"):
        stream.select_many("s")
    with pytest.raises(SchemaError, match="'x' is int64; only strings can be split"):
        stream.select_many("x", split=",")
    with pytest.raises(SchemaError, match="no column 'y'"):
        stream.select_many("y")
    with pytest.raises(ExpressionError, match=r"col.x is int64, but col.s is string"):
        stream.select_many("y", [col.x, col.s])
    with pytest.raises(PlanError, match="not both"):
        stream.select_many("s", [1], split=",")
    with pytest.raises(PlanError, match="has a column 'start' already"):
        stream.select_many("start", [1])
