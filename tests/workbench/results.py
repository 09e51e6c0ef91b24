"""Small results as tables, the way a run hands them out: settled rows first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pyarrow as pa

MIDNIGHT = datetime(2013, 12, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def hourly(**series: Sequence[float]) -> pa.Table:
    """One value per hour and key, in the order of time; None leaves the hour out."""
    rows = [
        {"start": MIDNIGHT + hour * HOUR, "end": MIDNIGHT + (hour + 1) * HOUR, "origin": key, "flights": values[hour]}
        for hour in range(max(map(len, series.values())))
        for key, values in series.items()
        if hour < len(values) and values[hour] is not None
    ]
    instant = pa.timestamp("us", "UTC")
    schema = pa.schema({"start": instant, "end": instant, "origin": pa.string(), "flights": pa.float64()})
    return pa.Table.from_pylist(rows, schema)
