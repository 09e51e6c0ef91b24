"""A result as big numbers: one row, no key."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from whimbrel_workbench.frames.columns import Columns
from whimbrel_workbench.frames.numbers import interval_words, moved_words, value_words
from whimbrel_workbench.frames.result import Result
from whimbrel_workbench.frames.stages import Stages


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of the newest row.

    Parameters
    ----------
    name, words : str
    value : float
        NaN when it is null.
    moved : str
        By how much it moved since the reader's last look; empty when it did not.
    bound : str
        Of an estimate, between which numbers the final one lies; empty where it is not known.
    revised : str
        From which early answer it was revised; empty when it was not.
    """

    name: str
    words: str
    value: float
    moved: str = ""
    revised: str = ""
    bound: str = ""


@dataclass(frozen=True, slots=True)
class Figures:
    """The values of the newest row, each with its column's name, and how final they are."""

    figures: tuple[Figure, ...]
    stage: int
    stages: Stages
    settled_rows: int
    rows: int

    def compared(self, earlier: Figures) -> Self:
        """The same, with what is otherwise than in an earlier picture marked."""
        known = {figure.name: figure.value for figure in earlier.figures}
        return replace(self, figures=tuple(
            replace(figure, moved=moved_words(known.get(figure.name, figure.value), figure.value))
            for figure in self.figures))


def figures(result: Result, columns: Columns) -> Figures | None:
    """The newest row of a result as numbers; None without rows or numbers."""
    rows = len(result.table)
    if not rows or columns.value is None:
        return None
    newest = result.last(1)
    estimate = newest.intervals is not None and newest.settled == 0
    drawn = []
    for name in (columns.value, *(name for name in columns.values if name != columns.value)):
        value, before = float(newest.values(name)[0]), float(newest.values_before(name)[0])
        low, high = (float(end[0]) for end in newest.interval(name))
        drawn.append(Figure(name, value_words(newest.table.column(name)[0].as_py()), value,
                            revised=value_words(before) if before == before else "",  # noqa: PLR0124 - not NaN
                            bound=interval_words(value, low, high) if estimate else ""))
    return Figures(tuple(drawn), int(result.stage[-1]), result.stages, result.settled, rows)
