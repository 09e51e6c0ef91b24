"""Convert decimals to Python integers of their last digit, and back."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa


def unscaled(data: pa.Array) -> list[int]:
    """Each value times ``10 ** scale``; whatever lies there where it is null.

    >>> unscaled(pa.array(["1.50", "-0.01"]).cast(pa.decimal128(5, 2)))
    [150, -1]
    """
    width = data.type.byte_width
    held = data.buffers()[1]
    if held is None:
        return []
    raw = held.to_pybytes()[width * data.offset : width * (data.offset + len(data))]
    return [int.from_bytes(raw[at : at + width], "little", signed=True) for at in range(0, len(raw), width)]


def scaled(values: Sequence[int], type_: pa.DataType) -> pa.Array:
    """Decimals of a type that has the digits for them.

    >>> scaled([150, -1], pa.decimal128(5, 2)).to_pylist()
    [Decimal('1.50'), Decimal('-0.01')]
    """
    raw = b"".join(value.to_bytes(type_.byte_width, "little", signed=True) for value in values)
    return pa.Array.from_buffers(type_, len(values), [None, pa.py_buffer(raw)])
