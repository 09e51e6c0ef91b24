"""Options of a view: kind, columns and style."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Literal, Self

from whimbrel.clock import Duration
from whimbrel.errors import PlanError, near_match
from whimbrel.stream import Stream
from whimbrel_workbench.frames.style import NAMES, Style

Kind = Literal["auto", "number", "bar", "line", "heatmap", "scatter", "density", "table", "scope",
               "spectrogram"]

_KINDS: Final[tuple[Kind, ...]] = ("auto", "number", "bar", "line", "heatmap", "scatter", "density", "table",
                                  "scope", "spectrogram")
_ALSO: Final[dict[str, Kind]] = {"bars": "bar", "barh": "bar", "lines": "line", "points": "scatter"}


MAX_OVERLAID: Final = 1_000


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
    trigger : Stream, optional
        Events at which the windows of a triggered scope begin. The newest windows lie one over the other, counted.
    before, after : str, timedelta or int (ticks), optional
        Length of a window before its trigger and from it on. Default: 256 and 768 samples.
    windows : int, optional
        Most windows of a triggered scope, up to 1,000. Default: the newest 200.
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
    trigger: Stream | None = None
    before: Duration | None = None
    after: Duration | None = None
    windows: int | None = None
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
        for name in ("marks", "trigger"):
            if (given := getattr(self, name)) is not None and not isinstance(given, Stream):
                raise PlanError(f"{name} must be a stream of events, got {type(given).__name__}.",
                                where=f"view({name}=...)", hint=f"Use a query such as hits in view({name}=hits).")
        self._check_trigger()
        for name in ("top", "keep_rows", "windows"):
            given = getattr(self, name)
            if given is not None and (not isinstance(given, int) or given < 1):
                raise PlanError(f"{name} must be an integer of at least 1, got {given!r}.",
                                where=f"view({name}={given!r})")

    def _check_trigger(self) -> None:
        """Refuse options that do not belong to a trigger, or not to a view without one."""
        if self.trigger is None:
            named = next((name for name in ("before", "after", "windows") if getattr(self, name) is not None), None)
            if named is not None:
                raise PlanError(f"{named} belongs to a triggered scope.", where=f"view({named}=...)",
                                hint="Add trigger=, a query of events.")
        elif self.marks is not None or self.kind not in ("auto", "scope"):
            other = f"kind={self.kind!r}" if self.marks is None else "marks=..."
            raise PlanError(f"A triggered scope has no {other}.", where="view(trigger=...)", hint=f"Remove {other}.")
        if isinstance(self.windows, int) and self.windows > MAX_OVERLAID:
            raise PlanError(f"windows must be at most {MAX_OVERLAID:,}, got {self.windows:,}.",
                            where=f"view(windows={self.windows!r})")

    @property
    def events(self) -> Stream | None:
        """The query of events that a signal is drawn with."""
        return self.marks if self.trigger is None else self.trigger

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
