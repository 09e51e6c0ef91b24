"""Save and load the state of progressive queries as Arrow files."""

from __future__ import annotations

import os
from typing import Any

from whimbrel.errors import CheckpointError
from whimbrel.kernels import state_of
from whimbrel.progressive.validation import path_of
from whimbrel.run import read_state, write_state

_MAX_REASON = 120
"""The largest length of a reason in an error."""


def write(path: str | os.PathLike[str], state: dict[str, Any]) -> None:
    """Write a state as one Arrow file.

    Raises
    ------
    CheckpointError
        When the file cannot be written.
    """
    where = f"save({path!r})"
    file = path_of(path, where=where)
    try:
        write_state(file, state_of(state))
    except OSError as error:
        raise CheckpointError(f"Cannot write the file: {_reason(error)}.", where=where,
                              hint="Give the path of a file in an existing folder.") from None


def load(path: str | os.PathLike[str], *, where: str) -> dict[str, Any]:
    """The state in a file that :func:`write` wrote.

    Raises
    ------
    CheckpointError
        When the file cannot be read.
    """
    try:
        state: dict[str, Any] = read_state(path_of(path, where=where))
    except (OSError, ValueError, KeyError) as error:
        raise CheckpointError(f"Cannot resume from the file: {_reason(error)}.", where=where,
                              hint="Give a file that save(path) wrote.") from None
    return state


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:_MAX_REASON]
