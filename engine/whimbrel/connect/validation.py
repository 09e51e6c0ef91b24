"""Validation of arguments of feeds and sinks."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np

from whimbrel.clock import Duration, duration_seconds
from whimbrel.errors import PlanError, near_match

_SECONDS = 'Use a duration such as "5s", or seconds such as 5.0.'


def check_choice(name: str, value: object, choices: Sequence[object], *, where: str) -> None:
    """Refuse a value that is not one of the choices of an option."""
    if value not in choices:
        raise PlanError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}.", where=where,
                        hint=near_match(str(value), map(str, choices), noun="choice"))


def check_name(name: str, value: object, *, where: str) -> None:
    """Refuse a value that is not a non-empty string."""
    if not isinstance(value, str) or not value:
        raise PlanError(f"{name} must be a non-empty string, got {value!r}.", where=where,
                        hint=f'Use for example {name}="trades".')


def check_path(name: str, value: object, *, where: str) -> None:
    """Refuse a value that is not a path."""
    if not isinstance(value, str | os.PathLike):
        raise PlanError(f"{name} must be a string or a Path, got {value!r}.", where=where,
                        hint='Use for example "state/flights".')


def checked_mapping(name: str, value: object, *, where: str) -> dict[str, Any]:
    """Return a copy of a mapping, empty for None; refuse all other values. Its values may be secret."""
    if value is None or isinstance(value, Mapping):
        return dict(value or {})
    raise PlanError(f"{name} must be a mapping, got {type(value).__name__}.", where=where,
                    hint=f"Use a dict: {name}={{...}}.")


def checked_seconds(name: str, value: float | Duration, *, where: str) -> float:
    """Convert a positive duration to seconds; refuse all other values."""
    try:
        seconds = duration_seconds(value)
    except PlanError as error:
        raise PlanError(f"{name} must be a positive duration, got {value!r}: {error.what}", where=where,
                        hint=_SECONDS) from None
    if not is_seconds(seconds):
        raise PlanError(f"{name} must be a positive duration, got {value!r}.", where=where, hint=_SECONDS)
    return seconds


def column_names(name: str, value: object, *, where: str) -> tuple[str, ...]:
    """Return a list of column names; refuse a single string."""
    if not isinstance(value, Sequence) or isinstance(value, str) or not all(isinstance(each, str) for each in value):
        example = f"Use {name}=[{value!r}]." if isinstance(value, str) else f'Use for example {name}=["id"].'
        raise PlanError(f"{name} must be a list of column names, got {value!r}.", where=where, hint=example)
    return tuple(value)


def is_seconds(value: object) -> bool:
    """Whether it is a number of seconds above 0."""
    number = isinstance(value, Real) and not isinstance(value, bool | np.timedelta64)
    return number and isfinite(value) and float(value) > 0  # type: ignore[arg-type]  # a number, by the line above


def is_whole(value: object) -> bool:
    """Whether it is a whole number."""
    return isinstance(value, Integral) and not isinstance(value, bool | np.timedelta64)
