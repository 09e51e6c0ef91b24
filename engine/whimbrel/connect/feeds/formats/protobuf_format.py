"""Protocol buffers messages, one per message of the feed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.connect.feeds.formats.decode import Format, Index, rows_of
from whimbrel.connect.feeds.formats.malformed import UnreadableError
from whimbrel.errors import PlanError


class Protobuf(Format):
    """Protobuf format: messages of one generated class.

    Parameters
    ----------
    message : type
        What ``protoc`` made. Fields of numbers, texts, bytes, bools and enums are columns; others are left out.
    """

    def __init__(self, message: Any) -> None:
        if not hasattr(message, "DESCRIPTOR"):
            raise PlanError(f"message must be a class that protoc generated, got {message!r}.",
                            where=f"Protobuf({message!r})", hint="Use for example ticks_pb2.Tick.")
        self.message = message
        self._fields = {field.name: _TYPES[field.type] for field in message.DESCRIPTOR.fields
                        if field.type in _TYPES and not field.is_repeated}

    def infer(self, sample: Sequence[bytes]) -> pa.Schema:
        return pa.schema(list(self._fields.items()))

    def parse(self, messages: Sequence[bytes], schema: pa.Schema) -> tuple[pa.RecordBatch, Index]:
        return rows_of([self._read(message, schema.names) for message in messages], schema), \
            np.ones(len(messages), np.int64)

    def _read(self, message: bytes, names: Sequence[str]) -> dict[str, Any]:
        try:
            record = self.message.FromString(message)
        except Exception as error:  # the library's own kind, which is not imported here
            raise UnreadableError("not a message of this class") from error
        return {name: getattr(record, name) for name in names
                if name in self._fields and not (record.DESCRIPTOR.fields_by_name[name].has_presence
                                                 and not record.HasField(name))}


_TYPES = {1: pa.float64(), 2: pa.float32(), 3: pa.int64(), 4: pa.uint64(), 5: pa.int32(), 6: pa.uint64(),
          7: pa.uint32(), 8: pa.bool_(), 9: pa.string(), 12: pa.binary(), 13: pa.uint32(), 14: pa.int32(),
          15: pa.int32(), 16: pa.int64(), 17: pa.int32(), 18: pa.int64()}
"""By the number that a descriptor gives a kind of field."""
