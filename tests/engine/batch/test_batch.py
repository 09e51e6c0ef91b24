from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel.batch import Batch, Column, Field, Schema, table_from_batches
from whimbrel.clock import INF
from whimbrel.errors import SchemaError

SCHEMA = Schema((Field("x", pa.int64()), Field("name", pa.string())), unit="s", zone="UTC")


def batch(ends: np.ndarray | int = 5) -> Batch:
    names = Column.from_arrow(pa.array(["a", "b", "c"]))
    return Batch(SCHEMA, np.array([0, 1, 2]), ends, (Column(pa.int64(), np.array([10, 20, 30])), names))


def test_one_duration_stands_for_all_ends() -> None:
    assert batch(5).other.tolist() == [5, 6, 7]
    assert batch(5).take(np.array([2])).other.tolist() == [7]
    mixed = Batch.concat([batch(5), batch(np.array([9, 9, 9]))])
    assert mixed.other.tolist() == [5, 6, 7, 9, 9, 9]
    assert Batch.concat([batch(5), batch(5)]).ends == 5


def test_absent_rows_go_when_rows_are_moved_together() -> None:
    filtered = batch().with_absent(np.array([True, False, False])).with_absent(np.array([False, False, True]))
    assert filtered.compact().column("x").values.tolist() == [20]
    assert len(Batch.concat([filtered, batch()])) == 4


def test_a_result_table_has_times_and_no_end_where_none_is_known() -> None:
    table = table_from_batches(SCHEMA, [batch(np.array([5, INF, 7]))])
    assert table.schema.field("start").type == pa.timestamp("s", "UTC")
    assert [end is None for end in table.column("end").to_pylist()] == [False, True, False]


def test_an_unknown_column_is_named_with_the_near_match() -> None:
    with pytest.raises(SchemaError) as caught:
        SCHEMA.type_of("nmae", where="select('nmae')")
    assert str(caught.value) == (
        "There is no column 'nmae'.\n  where: select('nmae')\n  hint:  Use 'name'; the columns are x, name."
    )


def test_a_name_used_twice_is_refused() -> None:
    with pytest.raises(SchemaError, match="Two columns would be named 'x'"):
        SCHEMA.with_fields([Field("x", pa.int64()), Field("x", pa.string())])


def test_a_column_of_times_is_one_with_them_wherever_rows_go() -> None:
    at = np.arange(5)
    source = wb.from_arrow(pa.table({"at": at, "x": at}), time="at").node.op
    assert isinstance(source, wb.plan.Source)
    batch = next(source.read(["at", "x"]))
    assert batch is not None
    moved = Batch.concat([batch.slice(1, 4).take(np.array([2, 0])), batch]).select(["x", "at"])
    assert moved.column("at").values is moved.sync
    assert moved.column("x").values is not moved.sync
    assert moved.column("at").values.tolist() == moved.column("x").values.tolist() == [3, 1, 0, 1, 2, 3, 4]
    shifted = moved.having(sync=moved.sync + 10).take(np.array([0, 1]))
    assert (shifted.sync.tolist(), shifted.column("at").values.tolist()) == ([13, 11], [3, 1])
    table = table_from_batches(batch.schema, [batch])
    assert table["start"].chunk(0).buffers()[1].address == table["at"].chunk(0).buffers()[1].address


def test_what_is_known_of_gaps_holds_of_parts_and_of_what_is_kept() -> None:
    rows = batch().having(gaps=(1, 1))
    assert rows.slice(1, 3).gaps == rows.having(ends=2).gaps == (1, 1)
    assert rows.only(np.array([True, False, True])).gaps == (1, INF)
    assert rows.take(np.array([2, 0])).gaps is None
    assert rows.having(sync=rows.sync[::-1]).gaps is None
    assert Batch.concat([rows, rows]).gaps is None
