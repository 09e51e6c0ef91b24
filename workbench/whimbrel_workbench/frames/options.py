"""Options of a view: kind, columns and style."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Literal, Self

from whimbrel.errors import PlanError, near_match
from whimbrel.stream import Stream
from whimbrel_workbench.frames.style import NAMES, Style

Kind = Literal["auto", "number", "bar", "line", "heatmap", "scatter", "density", "table", "scope",
               "spectrogram"]

_KINDS: Final[tuple[Kind, ...]] = ("auto", "number", "bar", "line", "heatmap", "scatter", "density", "table",
                                  "scope", "spectrogram")
_ALSO: Final[dict[str, Kind]] = {"bars": "bar", "barh": "bar", "lines": "line", "points": "scatter"}


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asked of a view; nothing asked means: choose by the result's shape.

    Kinds and columns are called as in hvPlot.

    Parameters
    ----------
    kind : {"auto", "line", "bar", "heatmap", "scatter", "density", "table", "number", "scope",
            "spectrogram"}
        ``lines``, ``bars``, ``barh`` and ``points`` are understood too.
    x : str, optional
        Column along the x axis of a heat map, a scatter or a density; else the time.
    y : str, optional
        Column on the value axis. Of a heat map its value, or its rows if ``C`` names the value.
    C : str, optional
        Value of a heat map's cells.
    by : str or sequence of str, optional
        Columns that tell one line, bar, row or colour from another.
    top : int, optional
        Most lines, bars, rows or colours in one picture; the rest is named below it. Without it as many as read well.
    keep_rows : int, optional
        Most rows of the result to keep in memory; the oldest go first. Without it a million, and ten million of raw
        events in a scatter or a density.
    marks : Stream, optional
        Events that a scope shows over the signal, as points and ranges of time.
    style : Style
        How it looks.
    """

    kind: Kind = "auto"
    x: str | None = None
    y: str | None = None
    C: str | None = None
    by: str | Sequence[str] | None = None
    top: int | None = None
    keep_rows: int | None = None
    marks: Stream | None = None
    style: Style = field(default_factory=Style)

    def __post_init__(self) -> None:
        kind = _ALSO.get(self.kind, self.kind)
        if kind not in _KINDS:
            raise PlanError(f"Unknown kind of view: {self.kind!r}.", where=f"view(kind={self.kind!r})",
                            hint=near_match(str(self.kind), _KINDS, noun="kind"))
        object.__setattr__(self, "kind", kind)
        for name in ("x", "y", "C"):
            given = getattr(self, name)
            if given is not None and not isinstance(given, str):
                raise PlanError(f"{name} must be the name of a column, got {given!r}.", where=f"view({name}={given!r})",
                                hint=f'Use a name such as {name}="delay", or kind="table" for all columns.')
        if self.by is not None and not isinstance(self.by, str) and not (
                isinstance(self.by, Sequence) and all(isinstance(each, str) for each in self.by)):
            raise PlanError(f"by must be one or several names of columns, got {self.by!r}.",
                            where=f"view(by={self.by!r})", hint='Use by="origin", or by=["origin", "carrier"].')
        if self.marks is not None and not isinstance(self.marks, Stream):
            raise PlanError(f"marks must be a stream of events, got {type(self.marks).__name__}.",
                            where="view(marks=...)", hint="Use a query such as hits in view(marks=hits).")
        for name in ("top", "keep_rows"):
            given = getattr(self, name)
            if given is not None and (not isinstance(given, int) or given < 1):
                raise PlanError(f"{name} must be an integer of at least 1, got {given!r}.",
                                where=f"view({name}={given!r})")

    @classmethod
    def of(cls, **given: Any) -> Self:
        """Options as typed in one call: those of the picture and those of its look side by side.

        >>> Options.of(kind="bars", y="n", title="Flights").style.title
        'Flights'
        """
        mine = {each.name for each in fields(cls)} - {"style"}
        for name in given:
            if name not in mine and name not in NAMES:
                raise PlanError(f"Unknown option of a view: {name!r}.", where=f"view({name}=...)",
                                hint=near_match(name, (*sorted(mine), "redraws_per_s", *NAMES), noun="option"))
        chosen = {name: value for name, value in given.items() if name in mine}
        style = Style().styled(**{name: value for name, value in given.items() if name not in mine})
        return cls(**chosen, style=style)

    def styled(self, **given: Any) -> Self:
        """The same with another look. See :meth:`Style.styled`."""
        return replace(self, style=self.style.styled(**given))


def check_redraws(redraws_per_s: object) -> None:
    """Refuse a rate of redraws that is not a positive number."""
    if isinstance(redraws_per_s, bool) or not isinstance(redraws_per_s, int | float) or not (
            0 < redraws_per_s < math.inf):
        raise PlanError(f"redraws_per_s must be a positive number, got {redraws_per_s!r}.",
                        where=f"view(redraws_per_s={redraws_per_s!r})", hint="Use for example redraws_per_s=3.0.")
