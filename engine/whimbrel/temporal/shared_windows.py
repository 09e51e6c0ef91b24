"""Compute equal windows of a periodic loop once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from whimbrel.batch import Field, Schema
from whimbrel.expr import Col, type_of
from whimbrel.expr.function_fingerprint import functions_in, identity
from whimbrel.plan import Aggregate
from whimbrel.temporal.loop_steps import Adjacent, Mapped, PeriodicStep, Slid, Windowed, in_order


@dataclass
class AggregatesByMeaning:
    """The aggregates of a window. Those of the same text and functions are one.

    Parameters
    ----------
    keys : tuple of str
        Names that other columns have.
    """

    keys: tuple[str, ...] = ()
    found: dict[tuple[str, str], tuple[str, Aggregate]] = field(default_factory=dict)

    def column(self, aggregate: Aggregate) -> Col:
        """The column that has the value of an aggregate."""
        text = aggregate.show()
        meaning = text, identity(*functions_in(aggregate))
        if meaning not in self.found:
            taken, name = {*self.keys, *(name for name, _ in self.found.values())}, text
            while name in taken:
                name += "'"
            self.found[meaning] = name, aggregate
        return Col(self.found[meaning][0])

    @property
    def named(self) -> tuple[tuple[str, Aggregate], ...]:
        """Each of them with the name of its column."""
        return tuple(self.found.values())

    def fields(self, rows: Schema) -> Iterable[Field]:
        """Their columns, where they are of such rows."""
        for name, each in self.found.values():
            yield Field(name, each.result_type(None if each.expr is None else type_of(each.expr, rows)))


def share_windows(last: PeriodicStep) -> PeriodicStep:
    """Make one step of all windows with the same events and the same width.

    Each event is then visited once for all of their aggregates.
    """
    steps = in_order(last)
    alike: dict[tuple[Any, ...], list[Windowed]] = {}
    for step in steps:
        if isinstance(step, Windowed):
            alike.setdefault(_window_of(step), []).append(step)
    if all(len(group) == 1 for group in alike.values()):
        return last
    made: dict[int, PeriodicStep] = {}
    shared: dict[int, tuple[Windowed, AggregatesByMeaning]] = {}
    for step in steps:
        inputs = tuple(made[id(each)] for each in step.inputs)
        group = alike[_window_of(step)] if isinstance(step, Windowed) else []
        if len(group) > 1 and isinstance(step, Windowed):
            first = group[0]
            if id(first) not in shared:
                shared[id(first)] = _together(group, inputs)
            whole, aggregates = shared[id(first)]
            keys = [Col(name) for name in aggregates.keys]
            values = [aggregates.column(each) for _, each in step.aggregates]
            made[id(step)] = Mapped(step.schema, (whole,), (*keys, *values))
        else:
            same = all(new is old for new, old in zip(inputs, step.inputs, strict=True))
            made[id(step)] = step if same else replace(step, inputs=inputs)
    return made[id(last)]


def _window_of(step: Windowed) -> tuple[Any, ...]:
    """What is alike of windows that one loop can compute."""
    grid = step.offset % step.width if isinstance(step, Adjacent) else None
    keys = step.keys if isinstance(step, Slid) else ()
    return type(step), id(step.inputs[0]), step.width, grid, keys, id(step.condition)


def _together(group: list[Windowed], inputs: tuple[PeriodicStep, ...]) -> tuple[Windowed, AggregatesByMeaning]:
    """One step with the aggregates of all of these."""
    first = group[0]
    keys = first.schema.fields[:len(first.schema.fields) - len(first.aggregates)]
    aggregates = AggregatesByMeaning(tuple(field.name for field in keys))
    for step in group:
        for _, aggregate in step.aggregates:
            aggregates.column(aggregate)
    schema = first.schema.with_fields((*keys, *aggregates.fields(inputs[0].schema)))
    return replace(first, schema=schema, inputs=inputs, aggregates=aggregates.named), aggregates
