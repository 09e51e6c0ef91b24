"""Find all expressions of an operator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from whimbrel.expr import Expr, Reduced, lifetime_of
from whimbrel.plan.lineage import Exact
from whimbrel.plan.operator import Operator


def reads_lifetime(op: Operator) -> frozenset[str]:
    """Which of "start_time" and "end_time" the expressions of an operator read."""
    return frozenset[str]().union(*map(lifetime_of, _expressions(op)))


def reads_exactly(op: Operator) -> Exact:
    """How exact the lifetimes of rows must be for the expressions of an operator."""
    read = reads_lifetime(op)
    return Exact.LIFETIMES if "end_time" in read else Exact.STARTS if read else Exact.VALUES


def _expressions(value: Any) -> Iterator[Expr]:
    if isinstance(value, Expr) and not isinstance(value, Reduced):
        yield value
    elif isinstance(value, Mapping):
        yield from _expressions(tuple(value.values()))
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _expressions(part)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _expressions(getattr(value, field.name))
