"""Ordering of a source from its options."""

from __future__ import annotations

from typing import cast, get_args

from whimbrel.clock import TickUnit, duration_ticks
from whimbrel.clock.duration import Duration
from whimbrel.errors import PlanError, near_match
from whimbrel.plan import LatePolicy, OrderingSpec


def ordering_spec(reorder_latency: Duration | None, late: str | None, unit: TickUnit, *, default: int | None,
            where: str) -> OrderingSpec:
    """Make the ordering specification of a source.

    Parameters
    ----------
    reorder_latency : str, timedelta or int (ticks), optional
        How far out of order an on-time row may be.
    late : {"raise", "drop", "adjust", "side_output"}, optional
        What happens to late rows. Default: "raise".
    unit : {"s", "ms", "us", "ns"} or None
        Unit of the stream's ticks.
    default : int or None
        Reorder latency in ticks when none is given; None for history read whole.

    Raises
    ------
    PlanError
        For a negative or unreadable latency, or an unknown policy.

    Examples
    --------
    >>> ordering_spec("2m", None, "s", default=0, where="")
    OrderingSpec(reorder_latency=120, late='raise', partition=None, lag=None, every=1)
    """
    policies = get_args(LatePolicy)
    if late is not None and late not in policies:
        raise PlanError(f"late must be one of {', '.join(map(repr, policies))}, got {late!r}.", where=where,
                        hint=near_match(str(late), policies, noun="value"))
    latency = default if reorder_latency is None else duration_ticks(reorder_latency, unit, where=where)
    if latency is not None and latency < 0:
        raise PlanError(f"reorder_latency must be at least 0, got {reorder_latency!r}.", where=where,
                        hint='Use a duration such as "5m", or 0 for rows in order.')
    return OrderingSpec(latency, cast(LatePolicy, late or "raise"))
