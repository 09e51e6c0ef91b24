"""SQL types and Arrow types."""

from __future__ import annotations

from typing import Any, ClassVar, Final

import pyarrow as pa
from sqlglot import exp

from whimbrel.sql.positions import SqlText

_Type = exp.DataType.Type

TYPES: Final[dict[Any, pa.DataType]] = {
    _Type.BOOLEAN: pa.bool_(),
    _Type.TINYINT: pa.int8(), _Type.SMALLINT: pa.int16(), _Type.INT: pa.int32(), _Type.BIGINT: pa.int64(),
    _Type.UTINYINT: pa.uint8(), _Type.USMALLINT: pa.uint16(), _Type.UINT: pa.uint32(), _Type.UBIGINT: pa.uint64(),
    _Type.FLOAT: pa.float32(), _Type.DOUBLE: pa.float64(),
    _Type.VARCHAR: pa.string(), _Type.TEXT: pa.string(), _Type.CHAR: pa.string(), _Type.NVARCHAR: pa.string(),
    _Type.DATE: pa.date32(),
    _Type.TIMESTAMP: pa.timestamp("us"), _Type.TIMESTAMPNTZ: pa.timestamp("us"), _Type.DATETIME: pa.timestamp("us"),
    _Type.TIMESTAMPTZ: pa.timestamp("us", "UTC"), _Type.TIMESTAMP_S: pa.timestamp("s"),
    _Type.TIMESTAMP_MS: pa.timestamp("ms"), _Type.TIMESTAMP_NS: pa.timestamp("ns"),
}
"""Arrow types of SQL's, but of decimals."""


class TypedNull(exp.Expression):  # type: ignore[misc]
    """Null of an Arrow type, which no text has."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


def arrow_type(node: Any, text: SqlText) -> pa.DataType:
    """The Arrow type of a type in SQL."""
    if node.this in (_Type.DECIMAL, _Type.BIGDECIMAL):
        digits = [int(each.name) if each.name.isdecimal() else 0 for each in node.expressions]
        precision, scale = (*digits, 0)[:2] if digits else (18, 3)
        if not (1 <= precision <= 76 and scale <= precision and len(digits) <= 2):
            raise text.error("DECIMAL needs 1 to 76 digits, and no more of them after the point.", node.parent or node,
                             "Use DECIMAL(18, 3).")
        return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)
    if node.this not in TYPES:
        raise text.error(f"There is no type {node.sql()[:60]}.", node.parent or node,
                         "Use BIGINT, DOUBLE, VARCHAR, BOOLEAN, DATE, TIMESTAMP or DECIMAL.")
    return TYPES[node.this]
