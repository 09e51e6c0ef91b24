"""Frame of big numbers: the newest row of a result without keys."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isnan, nan
from typing import Self

from whimbrel_workbench.frames.columns import ColumnRoles
from whimbrel_workbench.frames.finality import Stages
from whimbrel_workbench.frames.format_numbers import interval_words, moved_words, value_words
from whimbrel_workbench.frames.result import Result
from whimbrel_workbench.frames.table import cell_words


@dataclass(frozen=True, slots=True)
class BigNumber:
    """One number or text of the newest row.

    Parameters
    ----------
    name, text : str
    value : float
        NaN when it is null, or no number.
    moved : str
        By how much it moved since the reader's last look, or that it changed; empty when it did not.
    bound : str
        Of an estimate, between which numbers the final one lies; empty where it is not known.
    revised : str
        The early value before a revision; empty without one.
    """

    name: str
    text: str
    value: float
    moved: str = ""
    revised: str = ""
    bound: str = ""


@dataclass(frozen=True, slots=True)
class BigNumbers:
    """The values of the newest row, each with its column's name, and how final they are."""

    figures: tuple[BigNumber, ...]
    stage: int
    stages: Stages
    settled_rows: int
    rows: int

    def compared(self, earlier: BigNumbers) -> Self:
        """The same, with what is otherwise than in an earlier picture marked."""
        known = {figure.name: figure for figure in earlier.figures}
        return replace(self, figures=tuple(replace(figure, moved=_moved(known.get(figure.name, figure), figure))
                                           for figure in self.figures))


def figures(result: Result, columns: ColumnRoles) -> BigNumbers | None:
    """The newest row of a result as numbers and words; None without rows, or where all else are keys."""
    rows = len(result.table)
    if not rows or (columns.value is None and not columns.texts):
        return None
    newest = result.last(1)
    estimate = newest.intervals is not None and newest.settled == 0
    drawn = []
    for name in sorted(columns.values, key=lambda name: name != columns.value):
        value, before = float(newest.values(name)[0]), float(newest.values_before(name)[0])
        low, high = (float(end[0]) for end in newest.interval(name))
        drawn.append(BigNumber(name, value_words(newest.table.column(name)[0].as_py()), value,
                            revised=value_words(before) if before == before else "",  # noqa: PLR0124 - not NaN
                            bound=interval_words(value, low, high) if estimate else ""))
    for name in columns.texts:
        [words] = cell_words(newest.table.column(name))
        drawn.append(BigNumber(name, words, nan, revised=_before(newest, name), bound="so far" if estimate else ""))
    return BigNumbers(tuple(drawn), int(result.stage[-1]), result.stages, result.settled, rows)


def _moved(before: BigNumber, now: BigNumber) -> str:
    if isnan(now.value) and isnan(before.value):
        return "changed" if now.text != before.text else ""
    return moved_words(before.value, now.value)


def _before(newest: Result, name: str) -> str:
    """The words of the earliest answer, where they were others."""
    if newest.before is None or name not in newest.before.column_names:
        return ""
    [before] = newest.before.column(name).to_pylist()
    return "" if before is None else value_words(before)
