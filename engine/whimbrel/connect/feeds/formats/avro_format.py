"""Avro records, one per message."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.connect.feeds.formats.decode import Format, Index, reason, rows_of
from whimbrel.connect.feeds.formats.malformed import UnreadableError
from whimbrel.errors import MissingExtraError, PlanError

_MAGIC_BYTES = 5


class Avro(Format):
    """Avro format: records of one schema without a container.

    Parameters
    ----------
    schema : dict or str
        The writer's schema.
    registered : bool
        Values begin with the five bytes that a schema registry puts there; they are skipped.
    """

    def __init__(self, schema: dict[str, Any] | str, *, registered: bool = False) -> None:
        try:
            import fastavro
        except ImportError:
            raise MissingExtraError("fastavro", "kafka", "Avro") from None
        self._library = fastavro
        try:
            self.schema = fastavro.parse_schema(json.loads(schema) if isinstance(schema, str) else schema)
        except (ValueError, TypeError, LookupError) as error:
            raise PlanError(f"schema must be an Avro record schema: {reason(error)}", where="Avro(...)",
                            hint="Use the schema as a dict or as its JSON text.") from error
        self.registered = registered

    def infer(self, sample: Sequence[bytes]) -> pa.Schema:
        return pa.RecordBatch.from_pylist([self._read(message) for message in sample]).schema

    def parse(self, messages: Sequence[bytes], schema: pa.Schema) -> tuple[pa.RecordBatch, Index]:
        return rows_of([self._read(message) for message in messages], schema), np.ones(len(messages), np.int64)

    def _read(self, message: bytes) -> dict[str, Any]:
        text = io.BytesIO(message)
        if self.registered:
            text.seek(_MAGIC_BYTES)
        try:
            record = self._library.schemaless_reader(text, self.schema, None)
        except EOFError as error:
            raise UnreadableError("an Avro record that is cut short") from error
        except Exception as error:  # of many kinds, such as an index that no union has
            raise UnreadableError("not an Avro record of this schema") from error
        if text.tell() != len(message):
            raise UnreadableError("extra bytes after the Avro record")
        return record
