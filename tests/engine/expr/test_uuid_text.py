"""UUIDs as strings, and what a uuid key is told."""

from __future__ import annotations

import uuid

import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.expr.tables import batch, values
from whimbrel import Stream, col
from whimbrel.errors import ExpressionError, SchemaError
from whimbrel.expr import evaluate

IDS = [uuid.UUID(int=1), None, uuid.UUID(int=2**128 - 1), uuid.UUID("0123ABCD-4567-89ab-cdef-0123456789ab")]
COLUMN = pa.array([each and each.bytes for each in IDS], pa.uuid())


@pytest.mark.parametrize("array", (
    COLUMN, COLUMN.slice(1), COLUMN.slice(1, 1), COLUMN.slice(2, 2), COLUMN.slice(0, 0),
    pa.DictionaryArray.from_arrays(pa.array([0, 1, 1, None], pa.int8()), COLUMN.slice(2)),
))
def test_the_text_of_a_uuid_is_pythons(array: pa.Array) -> None:
    assert values(col.u.cast("string"), batch(u=array)) == [each and str(each) for each in array.to_pylist()]


def test_chosen_uuids_and_nulls() -> None:
    of = batch(u=COLUMN, x=[1, 2, 3, 4])
    assert values(wb.when(col.x > 3).then(col.u).otherwise(None).cast(str), of) == [None, None, None, str(IDS[3])]
    with pytest.raises(ExpressionError, match="Cannot cast"):
        evaluate(col.u.cast("int64"), of)


KEYED = {
    "group_by": lambda log: log.group_by("u"), "join": lambda log: log.join(log, on="u"),
    "distinct": lambda log: log.distinct("u"), "asof_join": lambda log: log.asof_join(log, on="u"),
}


@pytest.mark.parametrize("name", KEYED)
def test_a_uuid_key_is_refused_with_the_way_out(name: str) -> None:
    log = wb.from_arrow({"at": [1, 1, 1, 1], "u": COLUMN}, time="at")
    with pytest.raises(SchemaError, match="which cannot be a key") as caught:
        KEYED[name](log)
    assert caught.value.hint == "Make strings of them first: .with_columns(u=col.u.cast('string'))."

    def counted(of: Stream) -> list[int]:
        return KEYED[name](of.with_columns(u=col.u.cast("string"))).aggregate(n=wb.count()).collect()["n"].to_pylist()

    assert sum(counted(log)) > 0


def test_another_extension_type_is_told_its_storage() -> None:
    log = wb.from_arrow({"at": [1], "j": pa.array(["{}"], pa.json_())}, time="at")
    with pytest.raises(SchemaError) as caught:
        log.group_by("j")
    assert caught.value.hint.startswith("Cast it to its storage type first: .cast(pa.string")
