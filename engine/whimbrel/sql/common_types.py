"""The type that holds values of two others."""

from __future__ import annotations

import pyarrow as pa

from whimbrel.batch import Field, Schema
from whimbrel.errors import WhimbrelError
from whimbrel.expr import Col, Lit, type_of, when


def common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The type of a column that has values of both, or None.

    >>> import pyarrow as pa
    >>> common_type(pa.int64(), pa.float64())
    DataType(double)
    """
    if one == other:
        return one
    try:
        return type_of(when(Lit(True)).then(Col("a")).otherwise(Col("b")), Schema((Field("a", one), Field("b", other))))
    except WhimbrelError:
        return None
