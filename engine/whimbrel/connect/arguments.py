"""What arguments of feeds and sinks may be; others are refused where they are given."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from numbers import Integral, Real

from whimbrel.errors import PlanError, near_match


def check_choice(name: str, value: object, choices: Sequence[object], *, where: str) -> None:
    """Refuse what is none of the values that an option may have."""
    if value not in choices:
        raise PlanError(f"{name}={value!r} cannot be.", where=where,
                        hint=near_match(str(value), map(str, choices), noun="choice"))


def check_name(name: str, value: object, *, where: str) -> None:
    """Refuse what names nothing, such as a number or an empty text."""
    if not isinstance(value, str) or not value:
        raise PlanError(f"{name}={value!r} is no name.", where=where, hint="give a text that is not empty")


def check_seconds(name: str, value: object, *, where: str) -> None:
    """Refuse what is no number of seconds."""
    if not is_seconds(value):
        raise PlanError(f"{name}={value!r} cannot be.", where=where, hint="seconds, above 0, such as 5.0")


def column_names(name: str, value: object, *, where: str) -> tuple[str, ...]:
    """Several columns; a text is not taken letter by letter."""
    if not isinstance(value, Sequence) or isinstance(value, str) or not all(isinstance(each, str) for each in value):
        raise PlanError(f"{name}={value!r} is no list of columns.", where=where,
                        hint=f"{name}=[{value!r}]" if isinstance(value, str) else f'such as {name}=["id"]')
    return tuple(value)


def is_seconds(value: object) -> bool:
    """Whether it is a number of seconds above 0."""
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value) and float(value) > 0


def is_whole(value: object) -> bool:
    """Whether it is a whole number."""
    return isinstance(value, Integral) and not isinstance(value, bool)
