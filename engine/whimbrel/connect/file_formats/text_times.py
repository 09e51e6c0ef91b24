"""Formats and zones of times in text files."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from pyarrow import csv

from whimbrel.expr.zone_clocks import clock_moments


@dataclass(frozen=True, slots=True)
class TextTimes:
    """How texts are times: ISO 8601, or a format, in a zone.

    Parameters
    ----------
    format : str, optional
        A format of ``strptime``, such as ``"%d.%m.%Y %H:%M"``. ISO 8601 is read as well.
    zone : str, optional
        The zone of times that name none. A time that comes twice is the later one, and one that the clock skips has the
        offset from before, as in AT TIME ZONE of SQL.

    Examples
    --------
    >>> TextTimes(zone="Europe/Berlin").written(pa.timestamp("us", "Europe/Berlin"))
    TimestampType(timestamp[us])
    """

    format: str | None = None
    zone: str | None = None

    @property
    def parsers(self) -> list[object]:
        """Parsers of Arrow, in the order in which they are tried."""
        return [] if self.format is None else [self.format, csv.ISO8601]

    def typed(self, type_: pa.DataType) -> pa.DataType:
        """The type of a column: times are in the zone."""
        return pa.timestamp(type_.unit, self.zone) if self.zone and pa.types.is_timestamp(type_) else type_

    def written(self, type_: pa.DataType, *, with_zones: bool = False) -> pa.DataType:
        """The type of the texts: times without their zone, unless the texts have zones."""
        return pa.timestamp(type_.unit) if self.zone and not with_zones and pa.types.is_timestamp(type_) else type_

    def in_zone(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Local times as moments, and all moments in the zone."""
        if not self.zone or not pa.types.is_timestamp(values.type):
            return values
        if values.type.tz is not None:
            return values.cast(self.typed(values.type))
        return pa.chunked_array([clock_moments(chunk, self.zone) for chunk in values.chunks],
                                self.typed(values.type))


ISO_TIMES = TextTimes()
"""Times in ISO 8601, without a zone if they name none."""
