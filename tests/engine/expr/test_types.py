"""Types of expressions."""

from __future__ import annotations

import pyarrow as pa
import pytest

from whimbrel import col
from whimbrel.batch import Field, Schema
from whimbrel.errors import SchemaError
from whimbrel.expr import type_of


def test_a_type_is_of_the_schema_that_is_asked_about() -> None:
    """An expression remembers the type over the schema that it met last."""
    total = col.a + col.b
    whole, broken = (Schema((Field("a", type_), Field("b", type_))) for type_ in (pa.int64(), pa.float64()))
    for _ in range(2):
        assert type_of(total, whole) == pa.int64()
        assert type_of(total, broken) == pa.float64()
    with pytest.raises(SchemaError, match="no column 'b'"):
        type_of(total, Schema((Field("a", pa.int64()),)))
