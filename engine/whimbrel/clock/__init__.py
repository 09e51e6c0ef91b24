"""Ticks, durations, instants and timebases, without data."""

from whimbrel.clock.duration import (
    WHOLE,
    Duration,
    check_positive,
    duration_seconds,
    duration_ticks,
    grid_offset,
    quote_ticks,
    show_grid,
    show_ticks,
    span_words,
    tell_ticks,
)
from whimbrel.clock.instant import Instant, format_instant, parse_instant
from whimbrel.clock.rate import Rate, sample_period
from whimbrel.clock.round_durations import round_spans
from whimbrel.clock.ticks import INF, MIN_TIME, TickUnit, ticks_per_second
from whimbrel.clock.timebase import Timebase
from whimbrel.clock.units import as_ticks, finest, ticks_in, unit_in_name

__all__ = ["INF", "MIN_TIME", "WHOLE", "Duration", "Instant", "Rate", "TickUnit", "Timebase", "as_ticks",
           "check_positive", "duration_seconds", "duration_ticks", "finest", "format_instant", "grid_offset",
           "parse_instant", "quote_ticks", "round_spans", "sample_period", "show_grid", "show_ticks", "span_words",
           "tell_ticks", "ticks_in", "ticks_per_second", "unit_in_name"]
