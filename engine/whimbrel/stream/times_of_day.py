"""Complete times of day with the only day of a log."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import Final

from whimbrel.clock import Instant, TickUnit, format_instant
from whimbrel.errors import PlanError
from whimbrel.plan import Node, Source

_TIME_OF_DAY: Final = re.compile(r"\d\d:\d\d(:\d\d([.,]\d+)?)?")
_BLOCK_ROWS: Final = 1 << 20


def with_date(value: Instant, node: Node, where: str) -> Instant:
    """A time of day with the date of the sources' rows; other instants as they are.

    Raises
    ------
    PlanError
        If the rows are of several days, or nobody knows of which.
    """
    if not isinstance(value, str) or node.schema.unit is None or not _TIME_OF_DAY.fullmatch(value.strip()):
        return value
    days = sorted({day for source in node.sources() for day in _days(source, node.schema.unit)})
    if len(days) == 1:
        at_end = value.strip().startswith("24:00")
        return f"{days[0] + timedelta(days=at_end)}T{'00' if at_end else value.strip()[:2]}{value.strip()[2:]}"
    why = f"the log is from {days[0]} to {days[-1]}" if days else "the days of the log are not known"
    raise PlanError(f"{value!r} has no date, and {why}.", where=where,
                    hint=f'Add the date: "{days[0] if days else "2024-05-06"}T{value.strip()}".')


def _days(source: Source, unit: TickUnit) -> list[date]:
    """The first and the last day of the rows, as far as the source knows without reading them.

    Integer times have the `unit` that was declared after the source.
    """
    blocks = None if source.live or not source.rows else source.blocks(_BLOCK_ROWS)
    if blocks is None:
        return []
    bounds = int(blocks.earliest.min()), int(blocks.latest.max())
    instants = (format_instant(ticks, source.schema.unit or unit, source.schema.zone) for ticks in bounds)
    return [instant.date() for instant in instants if isinstance(instant, datetime)]
