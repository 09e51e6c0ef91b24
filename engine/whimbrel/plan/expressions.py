"""Find all expressions of an operator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from whimbrel.expr import Expr, Reduced, lifetime_of
from whimbrel.plan.lineage import Exact
from whimbrel.plan.operator import Operator

T = TypeVar("T")


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


def with_parts(value: T, change: Callable[[Any], Any]) -> T:
    """Replace parts of an operator or an expression, however deep they stand in its fields.

    Parameters
    ----------
    value : operator, expression, or what their fields hold
    change : callable
        Called for each part, outer ones first. What it answers stands for the part; None: look inside.

    Returns
    -------
    as `value`
        The value itself where nothing was replaced.
    """
    made: Any = change(value)
    if made is None:
        made = _with_inner_parts(value, change)
    return cast(T, made)


def _with_inner_parts(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, Mapping):
        named = {key: with_parts(part, change) for key, part in value.items()}
        return value if all(named[key] is part for key, part in value.items()) else named
    if isinstance(value, tuple | list):
        items = [with_parts(part, change) for part in value]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if is_dataclass(value) and not isinstance(value, type):
        known = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
        new = {name: with_parts(part, change) for name, part in known.items()}
        changed = {name: part for name, part in new.items() if part is not known[name]}
        return replace(value, **changed) if changed else value
    return value
