"""Source text of the state of an aggregate, for generated loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from whimbrel.kernels.source_text import literal
from whimbrel.plan.aggregate import AggregateFunctions, AggregatePhase, TwoPasses

Functions = dict[str, Callable[..., Any]]

SHOW = "from whimbrel.kernels.primitives.aggregation.write_value import show"
"""How a loop writes a value that may be missing."""


def outputs(steps: AggregateFunctions, part: AggregatePhase) -> range:
    """The columns that an aggregate makes: its value, or the fields of its state."""
    return range(len(steps.init)) if shows_states(steps, part) else range(1)


def shows_states(steps: AggregateFunctions, part: AggregatePhase) -> bool:
    """Whether what is shown is states: they are asked for, or become values as whole columns later."""
    return part is not AggregatePhase.WHOLE or steps.columns is not None


def out_names(steps: AggregateFunctions, part: AggregatePhase) -> str:
    """Where they are written, as parameters of a loop."""
    return ", ".join(f"out{column}" for column in outputs(steps, part))


def literals(steps: AggregateFunctions) -> str:
    """The state of no rows."""
    return ", ".join(map(literal, steps.init))


def tuple_of(name: str, entry: str, fields: Sequence[int]) -> str:
    """A state that lies in one array for each field."""
    inside = into(name, entry, fields)
    return f"({inside},)" if len(fields) == 1 else f"({inside})"


def into(name: str, entry: str, fields: Sequence[int]) -> str:
    """Where the fields of a state are, to be assigned to."""
    return ", ".join(f"{name}{field}[{entry}]" for field in fields)


def stored(name: str, entry: str, fields: Sequence[int], state: str) -> str:
    """The assignment of a state to its fields."""
    return f"{into(name, entry, fields)} = {state}{'[0]' if len(fields) == 1 else ''}"


def bind_steps(steps: AggregateFunctions | TwoPasses, suffix: str, roles: Sequence[str]) -> tuple[list[str], Functions]:
    """Import lines for the steps of an aggregate; functions that cannot be imported are handed over instead."""
    imported: dict[str, list[str]] = {}
    functions: Functions = {}
    for role in roles:
        function = getattr(steps, role)
        if function is None:
            continue
        # Machine code is kept under a name that covers the text of the engine's own functions only.
        if not function.__module__.startswith("whimbrel.aggregates.") or "<" in function.__qualname__:
            functions[f"{role}{suffix}"] = function
        else:
            imported.setdefault(function.__module__, []).append(f"{function.__name__} as {role}{suffix}")
    return [f"from {module} import {', '.join(names)}" for module, names in imported.items()], functions
