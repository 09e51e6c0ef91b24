"""What is asked of early answers must mean something: numbers, conditions and places, or an error in words."""

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


def check_number(value: object, *, where: str, hint: str, what: str = "number above 0", above: float = 0,
                 below: float = math.inf, whole: bool = False) -> None:
    """Refuse what is no number, or not between these, both excluded. True and False are none.

    Raises
    ------
    PlanError
    """
    kind = Integral if whole else Real
    if isinstance(value, bool) or not isinstance(value, kind) or not above < float(value) < below:
        raise PlanError(f"{value!r} is no {what}.", where=where, hint=hint)


def check_confidence(value: object, *, where: str) -> None:
    """Refuse what is no probability between 0 and 1, both excluded."""
    check_number(value, what="confidence", below=1, where=where, hint="such as 0.95")


def check_order(value: object, known: Sequence[str | None], *, call: str) -> None:
    """Refuse an order that is not known; None may be."""
    if value not in known:
        names = [f'"{name}"' for name in known if name is not None]
        raise PlanError(f"There is no order {value!r}.", where=f"{call}(order={value!r})",
                        hint=f"{', '.join(names[:-1])} or {names[-1]}")


def check_intervals(value: object, *, late: bool) -> None:
    """Refuse what is no kind of interval, and a guarantee of rows that nobody has seen."""
    where = f"progressive(intervals={value!r})"
    if value not in INTERVALS:
        raise PlanError(f"There are no intervals {value!r}.", where=where,
                        hint=" or ".join(f'"{name}"' for name in INTERVALS))
    if late and value == GUARANTEED:
        raise PlanError("How many rows are late is learned from an earlier log: that is never guaranteed.",
                        where=f"progressive(intervals={value!r}, late=...)", hint="leave out late= or intervals=")


def check_conditions(conditions: Sequence[object], schema: Schema) -> None:
    """Refuse what is not true or false of rows of these columns."""
    for condition in conditions:
        if not isinstance(condition, Expr):
            raise PlanError(f"{condition!r} is no condition.", where="prioritize(...)",
                            hint='compare columns of the source, such as prioritize(col.origin == "JFK")')
        where = f"prioritize({condition.show()})"
        try:
            type_ = type_of(condition, schema, where=where)
        except (SchemaError, ExpressionError) as error:
            raise PlanError(f"{error.what} Conditions are of rows of the source.", where=where,
                            hint=error.hint) from None
        if not pa.types.is_boolean(type_):
            raise PlanError(f"A condition must be true or false; {condition.show()} is {type_}.", where=where,
                            hint="compare it with something, such as `> 0`")


def path_of(value: object, *, where: str) -> Path:
    """A path as a user gives it."""
    if not isinstance(value, str | os.PathLike):
        raise PlanError(f"{value!r} is no path.", where=where, hint="give the path of a file, as text")
    return Path(value)
