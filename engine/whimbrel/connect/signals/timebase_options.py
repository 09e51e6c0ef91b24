"""Timebase and schema of a source of samples, from its options."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.batch import Field, Schema
from whimbrel.clock import Instant, Rate, TickUnit, Timebase, parse_instant, sample_period
from whimbrel.clock.near_timezone import timezone_hint
from whimbrel.connect.validation import check_name
from whimbrel.errors import PlanError, SchemaError

_UNITS = ("s", "ms", "us", "ns")


def sample_timebase(rate: Rate, start: Instant, unit: TickUnit, zone: str | None, where: str) -> Timebase:
    """The timebase whose sample 0 is at `start`.

    >>> sample_timebase(360, "1970-01-02", "us", None, "").time(1)
    86400002778
    """
    check_unit(unit, zone, where)
    return Timebase(sample_period(rate, unit, where=where),
                    Fraction(parse_instant(start, unit, zone, name="start", where=where)), "")


def check_unit(unit: TickUnit, zone: str | None, where: str) -> None:
    """Refuse a unit that is none, and an unknown time zone."""
    if unit not in _UNITS:
        raise PlanError(f"unit must be one of 's', 'ms', 'us', 'ns', got {unit!r}.", where=where,
                        hint='Use for example unit="us".')
    if zone is not None:
        try:
            pc.hour(pa.nulls(1, pa.timestamp(unit, zone)))
        except (pa.ArrowInvalid, TypeError):
            raise PlanError(f"zone must be a known time zone, got {zone!r}.", where=where,
                            hint=timezone_hint(zone)) from None


def sample_schema(fields: Sequence[Field], unit: TickUnit, zone: str | None, where: str) -> Schema:
    """The schema of channels; names are checked."""
    for field in fields:
        check_name("A channel name", field.name, where=where)
        if field.name in ("start", "end"):
            raise SchemaError(f"A channel cannot be named {field.name!r}: results have the times of a sample there.",
                              where=where, hint="Rename the channel.")
    return Schema((), unit, zone).with_fields(fields, where=where)
