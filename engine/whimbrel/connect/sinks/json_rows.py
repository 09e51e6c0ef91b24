"""Rows as JSON texts, one a message."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa


def json_rows(rows: pa.RecordBatch) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Each row, and its text: times in ISO 8601, bytes in base 64, no number as null.

    >>> [text for _, text in json_rows(pa.record_batch({"start": [1], "x": [float("nan")]}))]
    [b'{"start":1,"x":null}']
    """
    for row in rows.to_pylist():
        plain = {name: None if isinstance(value, float) and not math.isfinite(value) else value
                 for name, value in row.items()}
        yield row, json.dumps(plain, default=_text, separators=(",", ":")).encode()


def _text(value: Any) -> Any:
    match value:
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case bytes():
            return base64.b64encode(value).decode()
        case Decimal():
            return str(value)
    return value.decode() if hasattr(value, "decode") else str(value)
