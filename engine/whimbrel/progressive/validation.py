"""Check the arguments of progressive queries: numbers, orders, conditions and paths."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from numbers import Integral, Real
from pathlib import Path

import pyarrow as pa

from whimbrel.batch import Schema
from whimbrel.errors import ExpressionError, PlanError, SchemaError
from whimbrel.expr import Expr, type_of

GUARANTEED = "guaranteed"
INTERVALS = ("approximate", GUARANTEED)
"""Kinds of intervals."""


def check_number(value: object, *, name: str, where: str, hint: str, must: str = "a positive number",
                 above: float = 0, below: float = math.inf, whole: bool = False) -> None:
    """Check that a value is a number between these limits, both excluded. True and False are not numbers.

    Raises
    ------
    PlanError
    """
    kind = Integral if whole else Real
    if isinstance(value, bool) or not isinstance(value, kind) or not above < float(value) < below:
        raise PlanError(f"`{name}` must be {must}, got {value!r}.", where=where, hint=hint)


def check_confidence(value: object, *, where: str) -> None:
    """Check that a confidence is between 0 and 1, both excluded."""
    check_number(value, name="confidence", must="a number between 0 and 1", below=1, where=where,
                 hint="Use confidence=0.95.")


def check_order(value: object, known: Sequence[str | None], *, call: str) -> None:
    """Check that an order is one of these; None is allowed if it is among them."""
    if value not in known:
        names = [f'"{name}"' for name in known if name is not None]
        raise PlanError(f"`order` must be {', '.join(names[:-1])} or {names[-1]}, got {value!r}.",
                        where=f"{call}(order={value!r})", hint=f"Use order={names[0]}.")


def check_intervals(value: object, *, late: bool) -> None:
    """Check the kind of the intervals; with a model of late rows they cannot be guaranteed."""
    where = f"progressive(intervals={value!r})"
    if value not in INTERVALS:
        names = " or ".join(f'"{name}"' for name in INTERVALS)
        raise PlanError(f"`intervals` must be {names}, got {value!r}.", where=where,
                        hint=f'Use intervals="{INTERVALS[0]}".')
    if late and value == GUARANTEED:
        raise PlanError("Intervals cannot be guaranteed with late=: the model of late rows is learned from an earlier "
                        "log.", where=f"progressive(intervals={value!r}, late=...)", hint="Remove late= or intervals=.")


def check_conditions(conditions: Sequence[object], schema: Schema) -> None:
    """Check that conditions are true or false for rows with these columns."""
    for condition in conditions:
        if not isinstance(condition, Expr):
            raise PlanError(f"A condition must be an expression, got {condition!r}.", where="prioritize(...)",
                            hint='Compare columns of the source, as in prioritize(col.origin == "JFK").')
        where = f"prioritize({condition.show()})"
        try:
            type_ = type_of(condition, schema, where=where)
        except (SchemaError, ExpressionError) as error:
            raise PlanError(f"{error.what} Conditions can only use columns of the source.", where=where,
                            hint=error.hint) from None
        if not pa.types.is_boolean(type_):
            raise PlanError(f"A condition must be true or false, but {condition.show()} is {type_}.", where=where,
                            hint="Compare it with a value, as in `> 0`.")


def path_of(value: object, *, where: str) -> Path:
    """A path as a user gives it."""
    if not isinstance(value, str | os.PathLike):
        raise PlanError(f"The path must be a string or a path object, got {value!r}.", where=where,
                        hint="Give the path of a file.")
    return Path(value)
