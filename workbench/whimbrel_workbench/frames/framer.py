"""Choose the picture for a result's shape, and keep what must not jump from frame to frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.errors import PlanError, near_match
from whimbrel_workbench.frames.bars import BarMemory, Bars, bars
from whimbrel_workbench.frames.columns import Columns, roles
from whimbrel_workbench.frames.figures import Figures, figures
from whimbrel_workbench.frames.labels import Places
from whimbrel_workbench.frames.lines import LineMemory, Lines, lines
from whimbrel_workbench.frames.rows import Rows, rows
from whimbrel_workbench.frames.status import Status

Kind = Literal["auto", "lines", "bars", "table", "number"]
Picture = Lines | Bars | Rows | Figures
_MOST_KEYS: Final = 3
_FULLNESS: Final[dict[Kind, int]] = {"auto": 0, "number": 1, "bars": 2, "lines": 3, "table": 4}


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asked of a view; nothing asked means: choose by the result's shape.

    Parameters
    ----------
    kind : {"auto", "lines", "bars", "table", "number"}
    y : str, optional
        Column on the value axis.
    by : str or sequence of str, optional
        Columns that tell one line or bar from another.
    top : int
        Most lines in one picture; the rest is named below it.
    """

    kind: Kind = "auto"
    y: str | None = None
    by: str | Sequence[str] | None = None
    top: int = 6

    def __post_init__(self) -> None:
        if self.kind not in _FULLNESS:
            raise PlanError(f"There is no view of kind {self.kind!r}.", where=f"view(kind={self.kind!r})",
                            hint=near_match(self.kind, _FULLNESS, noun="kind"))


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Everything a page shows at one moment. ``picture`` is None until there is something to draw."""

    version: int
    picture: Picture | None
    columns: Columns
    status: Status
    query: str


@dataclass(slots=True)
class Framer:
    """Turn results into pictures, one after the other, for one view of one run.

    The kind of an automatic picture may grow while rows come in (a number becomes bars, bars become lines), and
    never goes back: a picture that flips is not read by anybody.

    Parameters
    ----------
    options : Options
    keys : tuple of str
        Columns that the query is known to group by.
    """

    options: Options
    keys: tuple[str, ...] = ()
    _kind: Kind = "auto"
    _lines: LineMemory = field(init=False)
    _bars: BarMemory = field(init=False)
    _y: str | None = field(init=False)

    def __post_init__(self) -> None:
        self._y = self.options.y
        self.forget()

    def choose_value(self, name: str) -> None:
        """Put another column on the value axis; keys keep their places."""
        self._y = name
        self._lines = LineMemory(self._lines.places, self._lines.x)
        self._bars = BarMemory(self._bars.names)

    def forget(self) -> None:
        """Start afresh: a new run of the query."""
        self._kind = "auto"
        self._lines = LineMemory(Places(self.options.top))
        self._bars = BarMemory()

    def fit(self) -> None:
        """Let axes and the order of bars fit what is there now; the one way in which axes shrink."""
        self._lines = LineMemory(self._lines.places)
        self._bars = BarMemory()

    def columns(self, schema: pa.Schema) -> Columns:
        return roles(schema, grouped=self.keys, by=self.options.by, y=self._y)

    def picture(self, table: pa.Table, settled: int) -> Picture | None:
        """Draw ``table``, whose first ``settled`` rows are final."""
        if not len(table):
            return None
        columns = self.columns(table.schema)
        self._kind = max(self._kind, _fitting(table, columns, self.options.kind), key=_FULLNESS.__getitem__)
        match self._kind:
            case "lines":
                frame, self._lines = lines(table, settled, columns, self._lines)
                return frame
            case "bars":
                barred, self._bars = bars(table, settled, columns, self._bars)
                return barred
            case "number":
                return figures(table, settled, columns)
            case _:
                return rows(table, settled)


def _fitting(table: pa.Table, columns: Columns, asked: Kind) -> Kind:
    """The plainest picture that shows all of the result."""
    if asked != "auto":
        return asked
    if columns.value is None or len(columns.keys) > _MOST_KEYS:
        return "table"
    times = pc.min_max(table.column("start"))
    if times["min"].as_py() != times["max"].as_py():
        return "lines"
    return "bars" if columns.keys else "number"
