"""Parameters that PARAM declares: their values and their types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from whimbrel.errors import near_match
from whimbrel.sql.parse import Statement

TYPES: Final[dict[str, pa.DataType]] = {
    "bool": pa.bool_(), "ushort": pa.uint16(), "uint": pa.uint32(), "int": pa.int32(), "ullong": pa.uint64(),
    "llong": pa.int64(), "float": pa.float64(), "string": pa.string(), "ip": pa.uint32(),
    "ipv6": pa.string(),
}
"""Types of TigonSQL's manual."""


def check_parameters(statement: Statement, parameters: Mapping[str, Any]) -> None:
    """Refuse a parameter of PARAM without a value, or with one of another type."""
    for type_, name in statement.blocks.parameters:
        if type_.text.lower() not in TYPES:
            raise statement.text.error_at(f"There is no type {type_.text!r} of parameters.", type_.start, type_.end + 1,
                                          near_match(type_.text.lower(), TYPES, noun="type"))
        if name.text not in parameters:
            raise statement.text.error_at(f"The parameter {name.text!r} has no value.", name.start, name.end + 1,
                                          f"Pass it: wb.sql(..., parameters={{{name.text!r}: ...}}).")
        value = parameters[name.text]
        try:
            pa.scalar(value, TYPES[type_.text.lower()])
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, TypeError, ValueError):
            raise statement.text.error_at(f"The parameter {name.text!r} must be {type_.text}, got {value!r}."[:200],
                                          name.start, name.end + 1, "Pass a value of this type.") from None
