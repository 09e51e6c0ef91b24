"""Error messages for user functions that failed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

INT64_HINT = "Compute with floats: init=0.0, or float(x)."


class StepFailed(Exception):  # noqa: N818 - a caller that knows the query raises the error
    """One of an aggregate's functions failed, or gave what it may not give.

    Parameters
    ----------
    name : str
        Of the aggregate.
    what : str
        One sentence.
    hint : str
    """

    def __init__(self, name: str, what: str, hint: str) -> None:
        super().__init__(what)
        self.name, self.what, self.hint = name, what, hint


def first_line(error: Exception) -> str:
    """The first line of the message of an exception; its cause has the rest."""
    return next(iter(str(error).splitlines()), "")


def failed(name: str, role: str, function: Callable[..., Any], error: Exception) -> StepFailed:
    """The user's own exception, with the line of the function in which it came up."""
    code, line = getattr(function, "__code__", None), None
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code is code:
            line = step.tb_lineno
        step = step.tb_next
    location = "" if line is None else f" in line {line}"
    return StepFailed(name, f"{role} of {name} failed{location}: {type(error).__name__}: {first_line(error)}.",
                      "Make it accept every value that is not null." if role != "result" else
                      "Make it accept every state, also that of a group with only nulls.")


def leaves_int64(name: str, role: str) -> StepFailed:
    """An integer that no column of integers holds."""
    return StepFailed(name, f"{role} of {name} gave an integer that leaves int64.", INT64_HINT)
