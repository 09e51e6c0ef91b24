"""Frame of a scatter chart: two numbers of each row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Self

import pyarrow as pa

from whimbrel_workbench.frames.columns import ColumnRoles
from whimbrel_workbench.frames.extent import Extent, grown, limited
from whimbrel_workbench.frames.finality import Stages
from whimbrel_workbench.frames.points import Points, PointStore
from whimbrel_workbench.frames.result import Result
from whimbrel_workbench.frames.style import Style

MAX_COLOURS: Final = 6


@dataclass(frozen=True, slots=True, eq=False)
class Scatter:
    """Points, few or millions of them; how they are drawn depends on how many are in sight.

    Parameters
    ----------
    points : Points
    dense : bool
        Whether they are counted however few they are.
    names : tuple of str
        Keys that have a colour; empty without keys.
    slots : tuple of int
        Which colour and marker each of them has.
    fresh : int
        Points from this number on are new since the reader's last look.
    table : pyarrow.Table
        What the rows say of time and key, from the first that is kept on.
    """

    points: Points
    dense: bool
    value: str
    along: str
    keys: tuple[str, ...]
    names: tuple[str, ...]
    slots: tuple[int, ...]
    others: tuple[str, ...]
    calendar: bool
    zone: str | None
    x: Extent
    y: Extent
    log: tuple[bool, bool]
    fresh: int
    forgotten: int
    stages: Stages
    settled_rows: int
    rows: int
    table: pa.Table

    def compared(self, earlier: Scatter) -> Self:
        """The same, with what is new since an earlier picture marked."""
        fresh = earlier.points.number
        kept = self.points.number - self.forgotten
        # Where half of it is new, marks would say nothing.
        return replace(self, fresh=fresh) if (self.points.number - fresh) * 2 < kept else self


@dataclass(frozen=True, slots=True)
class ScatterMemory:
    """The points that were taken over, and ranges of axes."""

    store: PointStore | None = None
    x: Extent | None = None
    y: Extent | None = None


def scatter(result: Result, columns: ColumnRoles, memory: ScatterMemory, style: Style, *, dense: bool,
            maximum: int = MAX_COLOURS) -> tuple[Scatter | None, ScatterMemory]:
    """Draw a result as points. None when no row can be placed."""
    if columns.value is None:
        return None, memory
    along = columns.x or "start"
    kind = result.table.schema.field(along).type
    calendar = bool(pa.types.is_timestamp(kind))
    log = (bool(style.logx) and not calendar, bool(style.logy))
    store = memory.store or PointStore(columns.x, columns.value, columns.keys, maximum, log)
    points = store.take(result)
    if store.x_reach is None or store.y_reach is None:
        return None, ScatterMemory(store, memory.x, memory.y)
    x = grown(memory.x, *store.x_reach, calendar=calendar, log=log[0])
    y = grown(memory.y, *store.y_reach, log=log[1])
    picture = Scatter(points, dense, columns.value, along, columns.keys, tuple(store.names),
                      tuple(range(len(store.names))), tuple(sorted(store.others)), calendar,
                      kind.tz if calendar else None, limited(x, style.xlim),
                      limited(y, style.ylim), log, points.number, result.forgotten, result.stages, result.settled,
                      len(result.table), result.table.select(list(dict.fromkeys(("start", along, *columns.keys)))))
    return picture, ScatterMemory(store, x, y)
