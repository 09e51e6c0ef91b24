"""Rows as JSON messages."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from whimbrel.connect.sinks.nanosecond_times import with_exact_times


def json_rows(rows: pa.RecordBatch) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Yield each row and its JSON text in UTF-8: times in ISO 8601, bytes in base 64, NaN and infinity as null.

    >>> [text for _, text in json_rows(pa.record_batch({"start": [1], "x": [float("nan")]}))]
    [b'{"start":1,"x":null}']
    """
    for row in with_exact_times(rows).to_pylist():
        yield row, json.dumps(_numbers(row), default=_text, ensure_ascii=False, separators=(",", ":")).encode()


def _numbers(value: Any) -> Any:
    """Replace NaN and infinity with null, at any depth."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case list():
            return list(map(_numbers, value))
        case dict():
            return {name: _numbers(each) for name, each in value.items()}
    return value


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
