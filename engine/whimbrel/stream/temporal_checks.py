"""Checks of temporal parts, before any row is read."""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.batch import Schema
from whimbrel.clock import INF, Duration, TickUnit, duration_ticks
from whimbrel.clock.window_borders import WindowBorders
from whimbrel.errors import PlanError
from whimbrel.expr import Expr, lifetime_of, type_of
from whimbrel.expr.reductions import columns_in, reduced_in
from whimbrel.expr.temporal_nodes import Ema, Past, PastRows, Previous, Temporal, TimeOffset, WindowCell, WindowValue
from whimbrel.expr.temporal_parts import LIFETIMES_HINT, NO_LIFETIMES, temporal_parts
from whimbrel.operators.windows.calendar_window import calendar_windows
from whimbrel.plan import Aggregate, Sampling
from whimbrel.temporal.window_folds import weighs_time

_LONGEST = INF // 4
"""Farthest that a part may look: times plus so many ticks must be int64."""


def check_part(part: Temporal, schema: Schema) -> None:
    """Refuse a part that has no meaning, in the user's words.

    Raises
    ------
    PlanError, ExpressionError
        Naming the part.
    """
    where = part.show()
    match part:
        case TimeOffset(by=by):
            offset_ticks(by, schema.unit, part)
        case Previous(events=events):
            _check_count(events, 1, "previous() needs a number of events", where,
                         'Use ago("1m") for a duration, and ahead() for later times.')
        case Past(back=back, later=later, min_rows=least):
            if offset_ticks(back, schema.unit, part) + offset_ticks(later, schema.unit, part) == 0:
                raise PlanError("past() needs a window that is longer than 0.", where=where,
                                hint='Use a duration, such as past("20m").')
            _check_count(least, 1, "min_rows must be a number", where,
                         "Use min_rows=10, or remove it.")
        case PastRows(rows=rows, min_rows=least):
            _check_count(rows, 1, "rows must be a number", where, "Use past(rows=10).")
            _check_count(least, 1, "min_rows must be a number", where,
                         "Use min_rows=10, or remove it.")
            if least > rows:
                raise PlanError(f"min_rows must be at most rows, got min_rows={least} of rows={rows}.", where=where,
                                hint="Use a smaller min_rows: no window has more rows.")
        case Ema(halflife=halflife) if halflife is not None:
            if offset_ticks(halflife, schema.unit, part) == 0:
                raise PlanError("halflife must be positive, got 0.", where=where, hint='Use halflife="10s".')
        case WindowCell(size=size) if not in_calendar(part, schema):
            if offset_ticks(size, schema.unit, part) == 0:
                raise PlanError("The size of a cell must be positive, got 0.", where=where, hint='Use cell("10s").')
    if isinstance(part, WindowValue):
        _check_aggregates(part, where)
    for expr in _read_by(part):
        # A window gives events other lifetimes, and an offset of several values has no event of its own.
        if lifetime_of(expr) and (isinstance(part, WindowValue) or any(True for _ in temporal_parts(expr))):
            raise PlanError(NO_LIFETIMES, where=where, hint=LIFETIMES_HINT)
        if not any(True for _ in temporal_parts(expr)):
            type_of(expr, schema, where=where)


def in_calendar(cell: WindowCell, schema: Schema) -> bool:
    """Whether a cell is a span of the calendar, such as a local day, and not so many ticks."""
    found = calendar_windows(cell.show(), schema, cell.size, cell.size, cell.offset, WindowBorders(), None, "monday")
    return found is not None


def check_changes(part: Temporal, results: Expr, schema: Schema) -> None:
    """Refuse a window whose value changes while events do not."""
    if any(isinstance(each, Aggregate) and weighs_time(each, schema) for each in reduced_in(results)):
        raise PlanError("A value that is weighed by duration changes all the time.", where=part.show(),
                        hint='Ask for it at multiples: over_time(every="1s", ...).')


def offset_ticks(span: Duration, unit: TickUnit, part: Temporal) -> int:
    """A duration that a part names, which must not be negative, in ticks."""
    ticks = duration_ticks(span, unit, where=part.show())
    if ticks < 0:
        other = {"ago": "ahead", "ahead": "ago"}.get(part.method, "") if isinstance(part, TimeOffset) else ""
        raise PlanError(f"A duration here must not be negative, got {span!r}.", where=part.show(),
                        hint=f"Use {other}() for the other direction." if other else "Use a duration of at least 0.")
    if ticks > _LONGEST:
        raise PlanError(f"The duration {span!r} is too long: times do not reach that far.", where=part.show(),
                        hint="Use a shorter duration." if isinstance(part, TimeOffset)
                        else "Use so_far() for all events up to a time.")
    return ticks


def _check_count(value: object, least: int, what: str, where: str, hint: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise PlanError(f"{what} of at least {least}, got {value!r}.", where=where, hint=hint)


def _check_aggregates(part: WindowValue, where: str) -> None:
    method = part.call.split("(")[0]
    others = [*columns_in(part.of), *(each.show() for each in reduced_in(part.of) if not isinstance(each, Aggregate))]
    if others:
        raise PlanError(f"{method}() follows an aggregate, or arithmetic of aggregates; {others[0]} is none.",
                        where=where, hint=f"Use an aggregate, such as wb.mean(col.x).{part.call}.")
    if not any(True for _ in reduced_in(part.of)):
        raise PlanError(f"{method}() follows an aggregate, got {part.of.show()}.", where=where,
                        hint=f"Use an aggregate, such as wb.mean(col.x).{part.call}.")


def _read_by(part: Temporal) -> Iterator[Expr]:
    """The expressions that a part reads of single events."""
    if not isinstance(part, WindowValue):
        yield part.of
        return
    for each in reduced_in(part.of):
        if isinstance(each, Aggregate):
            yield from (inner for inner in (each.expr, each.condition) if inner is not None)


def check_sampling(sampling: Sampling | None, where: str) -> None:
    """Refuse samples whose numbers do not follow from their times."""
    if sampling is not None and sampling.period.denominator > 1 and sampling.period <= 2:
        raise PlanError(f"Filters need at least two ticks per sample, got {sampling.period}.", where=where,
                        hint="Use a finer unit for the time column.")
