"""A mark that a reader clicks, and its row of the result."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Self

import numpy as np
import pyarrow as pa

from whimbrel_workbench.frames.columns import ColumnRoles
from whimbrel_workbench.frames.format_times import positions, ticks
from whimbrel_workbench.frames.labels import labels
from whimbrel_workbench.frames.result import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A point, bar, cell or row of a picture, identified by its values.

    Parameters
    ----------
    key : str, optional
        The key as words, where there are keys.
    along : str, optional
        What stands on an x axis of names, as words.
    at : float, optional
        Position on any other x axis; without one the newest row is meant.
    instant : str, optional
        Ticks of the row's start, as a text, since a page's numbers do not hold all of them. Positions are by the clock
        on the wall, and an hour of it may come twice.
    moment : str, optional
        The same of what stands on the x axis, where that is another time.
    value : float, optional
        Position on the value axis.
    layer : str, optional
        "marks" if it is an event over a signal, which belongs to another query.
    to : float, optional
        Not one mark is meant but a stretch of the x axis, from ``at`` to here.
    """

    key: str | None = None
    along: str | None = None
    at: float | None = None
    instant: str | None = None
    moment: str | None = None
    value: float | None = None
    layer: str | None = None
    to: float | None = None

    @classmethod
    def read(cls, message: str) -> Self | None:
        """What a page said; None for what is no mark. A page may say what it likes."""
        try:
            fields_of = json.loads(message)
            known = {each.name: fields_of.get(each.name) for each in fields(cls)}
            for name in ("key", "along", "instant", "moment", "layer"):
                known[name] = None if known[name] is None else str(known[name])
            for name in ("at", "value", "to"):
                known[name] = None if known[name] is None else float(known[name])
        except (TypeError, ValueError, AttributeError):
            return None
        return cls(**known)


def row_of(result: Result, columns: ColumnRoles, mark: Mark) -> int | None:
    """The row that a mark stands for: among those of its key the nearest one, of several the last.

    Examples
    --------
    >>> import pyarrow as pa
    >>> result = Result(pa.table({"start": [0, 0, 5, 5], "k": ["a", "b", "a", "b"], "n": [1, 2, 3, 4]}), (4,))
    >>> shown = ColumnRoles(("k",), "n", ("n",))
    >>> row_of(result, shown, Mark(key="b", at=0.2)), row_of(result, shown, Mark(key="a")), row_of(
    ...     result, shown, Mark(key="c"))
    (1, 2, None)
    """
    table = result.table
    there = np.ones(len(table), np.bool_)
    for names, words in ((columns.keys, mark.key), ((columns.x,) if columns.x else (), mark.along)):
        if names and words is not None:
            found = labels(table, names)
            if words not in found.names:
                return None
            there &= found.codes == found.names.index(words)
    for name, tick in (("start", mark.instant), (columns.x, mark.moment)):
        if name is not None and tick is not None:
            there &= _stands_at(table, name, tick)
    near = np.flatnonzero(there)
    if mark.at is not None:
        near = _nearest(near, positions(table.column(columns.x or "start")), mark.at)
    if mark.value is not None and columns.value is not None:
        near = _nearest(near, result.values(columns.value), mark.value)
    return int(near[-1]) if len(near) else None


def _stands_at(table: pa.Table, name: str, tick: str) -> np.ndarray | bool:
    """Which rows have a time of just these ticks."""
    try:
        return ticks(table, name) == int(tick)
    except (ValueError, pa.ArrowNotImplementedError):  # the page may send anything; Arrow has no ticks of most types
        return False


def _nearest(rows: np.ndarray, position: np.ndarray, to: float) -> np.ndarray:
    """Those of the rows that stand nearest to a place."""
    away = np.abs(position[rows] - to)
    return rows[away == np.fmin.reduce(away)] if len(away) else rows
