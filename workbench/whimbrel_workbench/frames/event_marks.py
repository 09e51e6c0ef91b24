"""Events that are drawn over a signal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.frames.format_times import instants, positions
from whimbrel_workbench.frames.result import Floats, Result
from whimbrel_workbench.frames.table import cell_words

_MAX_WORDS: Final = 3
"""Columns of an event that its tooltip shows."""


@dataclass(frozen=True, slots=True, eq=False)
class EventMarks:
    """Points and ranges of time.

    Parameters
    ----------
    left, right : array of float
        Where they begin and end on the axis. A point event ends where it begins; one that has no end yet has NaN.
    settled : array of bool
    table : pyarrow.Table
        Their rows.
    """

    left: Floats
    right: Floats
    settled: NDArray[np.bool_]
    table: pa.Table

    def __len__(self) -> int:
        return len(self.left)

    def in_sight(self, x: Extent, maximum: int) -> NDArray[np.intp]:
        """Those that lie in a range, at most about so many: of several in one place the first."""
        right = np.where(np.isnan(self.right), np.inf, self.right)
        found = np.flatnonzero((self.left <= x.high) & (right >= x.low))
        if len(found) <= maximum:
            return found
        places = np.floor((self.left[found] - x.low) / (x.high - x.low) * maximum)
        _, first = np.unique(places, return_index=True)
        return found[first]

    def texts(self, at: NDArray[np.intp]) -> list[str]:
        """What the events say, in a few words."""
        rows = self.table.take(pa.array(at))
        names = [name for name in rows.column_names if name not in ("start", "end")][:_MAX_WORDS]
        columns = [[f"{name} {cell}" for cell in cell_words(rows.column(name))] for name in names]
        return [", ".join(cells) for cells in zip(*columns, strict=True)] if columns else [""] * len(at)

    def instants(self, at: NDArray[np.intp]) -> list[str]:
        """When they start, in ticks, as texts."""
        return instants(self.table.take(pa.array(at)))


def event_marks(result: Result) -> EventMarks:
    """The events of a result as marks."""
    left, right = positions(result.table.column("start")), positions(result.table.column("end"))
    start, end = (result.table.column(name).cast(pa.int64()) for name in ("start", "end"))
    points = np.asarray(pc.equal(end, pc.add(start, 1)).fill_null(False).combine_chunks())
    settled = np.arange(len(result.table)) < result.settled
    return EventMarks(left, np.where(points, left, right), settled, result.table)
