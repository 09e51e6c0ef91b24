"""Frame of the source events of a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from whimbrel_workbench.frames.status import Failure

MAX_EVENTS: Final = 50
"""More rows of a table than that nobody reads; all are counted."""

NamedValue = tuple[str, str]


@dataclass(frozen=True, slots=True)
class OriginRows:
    """Events of one source.

    Parameters
    ----------
    source : str
    rows : int
        How many there are.
    names : tuple of str
        Columns, at last from when to when the event counts.
    numeric : tuple of bool
        Which columns are numbers.
    table : tuple of tuple of str
        The newest events, newest first.
    """

    source: str
    rows: int
    names: tuple[str, ...]
    numeric: tuple[bool, ...]
    table: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class LineageEvents:
    """What is known of a row of the answer.

    Parameters
    ----------
    state : {"nothing", "looking", "found", "failed"}
    row : tuple of (str, str)
        Its columns and values.
    paths : tuple of tuple of str
        From a source to the result, the operators on the way.
    again : str
        What the query gives for these events alone, or why that is not known.
    same : bool or None
        Whether that is what the row says; None where it is not known.
    """

    state: Literal["nothing", "looking", "found", "failed"]
    row: tuple[NamedValue, ...] = ()
    origins: tuple[OriginRows, ...] = ()
    paths: tuple[tuple[str, ...], ...] = ()
    again: str = ""
    same: bool | None = None
    failure: Failure | None = None
