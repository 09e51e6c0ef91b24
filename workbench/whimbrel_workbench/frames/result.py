"""The current result of a run, with the stage of each row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from whimbrel_workbench.frames.arrow_values import floats
from whimbrel_workbench.frames.finality import ONE_BAND, Stages

Floats = NDArray[np.float64]
StageCodes = NDArray[np.int8]


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """A result table and how final each of its rows is.

    Parameters
    ----------
    table : pyarrow.Table
        ``start``, ``end`` and the columns of the answer: first the rows that are final, then results of ever earlier
        latencies, at last provisional rows.
    reached : tuple of int
        For each latency, the earliest first, how many leading rows it or a later one has settled. The last of them
        counts the rows that are final.
    stages : Stages
        Names of the latencies.
    before : pyarrow.Table, optional
        For each row the values that its earliest answer had; null where nothing was revised.
    forgotten : int
        Settled rows that stood before the first row and are no longer kept.
    intervals : pyarrow.Table, optional
        Of rows that are estimates: between which ends the final values lie, in ``<value>_low`` and ``<value>_high``;
        null where an end is not known.
    flagged : frozenset of int
        Rows that broke what was said of them.
    rearranged : int or None
        While it stays the same, settled rows stand where they stood in the result before, less the forgotten ones; None
        when nobody knows.

    Examples
    --------
    >>> Result(pa.table({"start": [0, 5, 9]}), (2, 1), Stages(("1s", "1m"))).stage.tolist()
    [2, 1, 0]
    """

    table: pa.Table
    reached: tuple[int, ...]
    stages: Stages = ONE_BAND
    before: pa.Table | None = None
    forgotten: int = 0
    rearranged: int | None = None
    intervals: pa.Table | None = None
    flagged: frozenset[int] = frozenset()

    @property
    def settled(self) -> int:
        """How many leading rows are final."""
        return self.reached[-1]

    def last(self, rows: int) -> Result:
        """The same of its last rows only."""
        first = max(0, len(self.table) - rows)
        before, intervals = (part if part is None else part.slice(first) for part in (self.before, self.intervals))
        return Result(self.table.slice(first), tuple(max(0, reached - first) for reached in self.reached), self.stages,
                      before, intervals=intervals)

    def at(self, indices: NDArray[np.int64]) -> Result:
        """The same of some of its rows only, in their order."""
        table, before, intervals = (part if part is None else part.take(pa.array(indices))
                                    for part in (self.table, self.before, self.intervals))
        flagged = frozenset(np.flatnonzero(np.isin(indices, list(self.flagged))).tolist())
        reached = tuple(int(np.searchsorted(indices, reached)) for reached in self.reached)
        return Result(table, reached, self.stages, before, intervals=intervals, flagged=flagged)

    @property
    def stage(self) -> StageCodes:
        """The stage of each row."""
        codes = np.zeros(len(self.table), np.int8)
        for rows in self.reached:
            codes[:rows] += 1
        return codes

    def values(self, name: str) -> Floats:
        """A column as floats; null is NaN."""
        return floats(self.table.column(name))

    def values_before(self, name: str) -> Floats:
        """What each value was in its earliest answer; NaN where it was not revised."""
        if self.before is None or name not in self.before.column_names:
            return np.full(len(self.table), np.nan)
        return floats(self.before.column(name))

    def interval(self, name: str) -> tuple[Floats, Floats]:
        """The ends between which each final value lies; NaN where they are not known."""
        if self.intervals is None or f"{name}_low" not in self.intervals.column_names:
            return np.full(len(self.table), np.nan), np.full(len(self.table), np.nan)
        return floats(self.intervals.column(f"{name}_low")), floats(self.intervals.column(f"{name}_high"))
