"""Columns of a schema are found without a search through all of them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from whimbrel.batch import Field, Schema
from whimbrel.errors import SchemaError


class _Counted(str):
    """A name that counts with how many others it is compared."""

    __slots__ = ()
    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        _Counted.compared += 1
        return str.__eq__(self, other)


def test_finding_all_columns_compares_each_name_a_few_times() -> None:
    columns = 200
    schema = Schema(()).with_fields(Field(_Counted(f"c{number}"), pa.int64()) for number in range(columns))
    wanted = [f"c{number}" for number in range(columns)]
    _Counted.compared = 0
    assert schema.select(reversed(wanted)).names == tuple(reversed(wanted))
    assert all(name in schema for name in wanted)
    assert [schema.index(name) for name in wanted] == list(range(columns))
    assert _Counted.compared < 10 * columns


def test_the_first_of_two_columns_of_a_name_is_found() -> None:
    schema = Schema((Field("x", pa.int64()), Field("y", pa.int64()), Field("x", pa.string())))
    assert schema.index("x") == 0
    with pytest.raises(SchemaError, match="Two columns would be named 'x'"):
        schema.with_fields(schema.fields)
