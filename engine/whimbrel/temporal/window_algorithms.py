"""Code of aggregates over the windows of a periodic loop."""

from __future__ import annotations

from whimbrel.kernels.source_text import literal
from whimbrel.plan import AggregateFunctions, TwoPasses
from whimbrel.plan.typed_aggregate import TypedAggregate
from whimbrel.temporal.loop_steps import Slid

_FEW_STEPS = 96
"""Maximum work per slot for a window whose values are all added up, with two steps each.

The compiler unrolls that many, and then computes several slots at once.
"""

FEW_TWICE = 16
"""Most values of a window which are gone through twice for each place."""


def algebra_of(measure: TypedAggregate) -> AggregateFunctions | TwoPasses:
    """What computes an aggregate where the values of a window lie together."""
    return measure.steps.twice or measure.steps


def is_short(step: Slid, measure: TypedAggregate) -> bool:
    """Whether windows are so short, and what is done to each value is so little, that nothing is kept of others."""
    algebra, steps = algebra_of(measure), measure.steps
    if isinstance(algebra, TwoPasses):
        return step.width <= FEW_TWICE
    own = algebra.accumulate.__module__.startswith("whimbrel.aggregates.")
    plain = steps.additive and (len(steps.init) == 1 or isinstance(steps.init[0], float)) and not steps.timed
    return own and plain and len(steps.init) <= 3 and step.width * (2 + len(steps.init)) <= _FEW_STEPS


def fresh_state(algebra: AggregateFunctions | TwoPasses) -> str:
    return f"({', '.join(map(literal, algebra.init))},)"


def time_of(measure: TypedAggregate, slot: str) -> str:
    """A further argument: when the event began."""
    return f", time + {slot} * period" if measure.steps.timed else ""
