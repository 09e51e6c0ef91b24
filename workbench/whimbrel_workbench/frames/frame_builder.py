"""Choose the picture for a result, and keep it stable."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.errors import PlanError
from whimbrel.plan import Sampling
from whimbrel_workbench.frames.bars import MAX_BARS, BarMemory, Bars, bars
from whimbrel_workbench.frames.big_numbers import BigNumbers, figures
from whimbrel_workbench.frames.change_tracking import ChangeTracker
from whimbrel_workbench.frames.columns import ColumnRoles, roles
from whimbrel_workbench.frames.estimate_quality import Quality
from whimbrel_workbench.frames.heat import MAX_KEYS, Heat, HeatMemory, heat
from whimbrel_workbench.frames.labels import Labels, Slots, labels
from whimbrel_workbench.frames.lines import MAX_LINES, LineMemory, Lines, lines
from whimbrel_workbench.frames.options import Kind, Options
from whimbrel_workbench.frames.result import Result
from whimbrel_workbench.frames.scatter import MAX_COLOURS, Scatter, ScatterMemory, scatter
from whimbrel_workbench.frames.scope import MAX_CHANNELS, ScopeMemory, scope
from whimbrel_workbench.frames.signal_store import ReadAgain
from whimbrel_workbench.frames.spectrogram import Spectrogram
from whimbrel_workbench.frames.status import Status
from whimbrel_workbench.frames.style import PLAIN, Style
from whimbrel_workbench.frames.table import TableFrame, rows
from whimbrel_workbench.frames.trigger import MAX_WINDOWS, SignalPicture, TriggerSpan, span_of, triggered

Picture = Lines | Bars | Heat | Scatter | SignalPicture | TableFrame | BigNumbers

_MAX_DISTINCT: Final = 3
_MAX_LINES: Final = 2 * MAX_LINES
"""Twice as many keys as lines that read well: a heat map shows them all."""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Everything a page shows at one moment.

    ``picture`` is None until there is something to draw, and ``undrawn`` counts the rows that exist all the same.
    ``quality`` belongs to progressive queries, and is None for others.
    """

    version: int
    picture: Picture | None
    columns: ColumnRoles
    status: Status
    query: str
    style: Style = PLAIN
    quality: Quality | None = None
    undrawn: int = 0


@dataclass(slots=True)
class FrameBuilder:
    """Turn results into pictures, one after the other, for one view of one run.

    An automatic picture is of one kind for good once a reader has seen it: a picture that flips is not read by anybody.

    Parameters
    ----------
    options : Options
    keys : tuple of str
        Columns that the query is known to group by.
    raw : bool
        Whether the result is events as they came, not answers about them.
    alone : bool
        Whether the result is known to have one row at a time.
    sampling : Sampling, optional
        Of a result whose rows are samples.
    measured_times : frozenset of str
        Columns that are times of samples, which are no channels.
    read : callable, optional
        Reads a range of samples again.

    Attributes
    ----------
    undecided : bool
        Whether nothing was drawn because nobody knows yet which kind of picture will fit.
    """

    options: Options
    keys: tuple[str, ...] = ()
    raw: bool = False
    alone: bool = False
    sampling: Sampling | None = None
    measured_times: frozenset[str] = frozenset()
    read: ReadAgain | None = None
    undecided: bool = field(default=False, init=False)
    _kind: Kind = "auto"
    _unseen: bool = True
    _lines: LineMemory = field(init=False)
    _bars: BarMemory = field(init=False)
    _heat: HeatMemory = field(init=False)
    _scatter: ScatterMemory = field(init=False)
    _scope: ScopeMemory = field(init=False)
    _seen_pictures: ChangeTracker = field(init=False)

    def __post_init__(self) -> None:
        self.forget()

    def choose_value(self, name: str) -> None:
        """Put another column on the value axis; keys keep their places."""
        coloured = self.options.kind == "heatmap" and self.options.C is not None
        self.options = replace(self.options, C=name) if coloured else replace(self.options, y=name)
        self._lines = LineMemory(self._lines.slots, self._lines.x)
        self._bars = BarMemory(self._bars.names)
        self._heat = replace(self._heat, shade=None)
        self._scatter = ScatterMemory(x=self._scatter.x)
        self._seen_pictures.forget()

    def style(self, style: Style) -> None:
        """Change the style; axes that become logarithmic start again."""
        before = self.options.style
        self.options = replace(self.options, style=style)
        if (before.logx, before.logy, before.logz) != (style.logx, style.logy, style.logz):
            self.fit()

    def forget(self) -> None:
        """Start again for a new run of the query."""
        self._kind, self.undecided = "auto", False
        self._unseen = True
        self._lines = LineMemory(Slots(self.options.top or MAX_LINES))
        self._bars = BarMemory()
        self._heat = HeatMemory()
        self._scatter = ScatterMemory()
        self._scope = ScopeMemory()
        self._seen_pictures = ChangeTracker()

    def fit(self) -> None:
        """Let axes and the order of bars fit what is there now; the one way in which axes shrink."""
        self._lines = LineMemory(self._lines.slots)
        self._bars = BarMemory()
        self._heat = HeatMemory(per_cell=self._heat.per_cell)
        self._scatter = ScatterMemory()
        self._scope = ScopeMemory(self._scope.store)

    def resort(self) -> None:
        """Put bars and rows into the order that is right now; axes stay."""
        self._bars = self._bars.unsorted()
        self._heat = self._heat.unsorted()

    def columns(self, schema: pa.Schema) -> ColumnRoles:
        """The roles of a result's columns. Raw events are points unless something else is asked for."""
        if self.options.kind in ("scope", "spectrogram") or self.options.events is not None:
            self._expect_samples()
        if self.options.trigger is not None:
            self._window_span(schema)
        if self.of_samples:
            found = roles(schema, self.options, tuple(sorted(self.sampling.per)) if self.sampling else (), alone=True)
            values = tuple(name for name in found.values if name not in self.measured_times)
            values = values if self.options.y is None else (self.options.y,)
            return replace(found, value=next(iter(values), None), values=values)
        options = replace(self.options, kind="scatter") if self.raw and self.options.kind == "auto" else self.options
        return roles(schema, options, self.keys, alone=self.alone)

    def drawn_as_points(self, schema: pa.Schema) -> bool:
        """Whether every row will be a point of its own."""
        as_points = self.raw or self.options.x is not None or self.options.kind in ("scatter", "density")
        fits = self.options.kind in ("auto", "scatter", "density") and self.columns(schema).value is not None
        return as_points and fits

    @property
    def of_samples(self) -> bool:
        """Whether the result is drawn as a signal."""
        return self.sampling is not None and self.options.kind in ("auto", "scope", "spectrogram")

    def _expect_samples(self) -> None:
        events = "marks" if self.options.trigger is None else "trigger"
        where = f'view(kind="{self.options.kind}")' if self.options.events is None else f"view({events}=...)"
        if self.sampling is None:
            kind = "spectrogram" if self.options.kind == "spectrogram" else "scope"
            raise PlanError(f"A {kind} needs a stream of samples, but the rate of this stream is unknown.", where=where,
                            hint="Declare it with assume(rate=...).")
        if not self.of_samples:
            raise PlanError(f"Marks need a scope, got kind={self.options.kind!r}.", where=where,
                            hint='Use view(kind="scope", marks=...).')

    def seen(self, picture: Picture | None, at_s: float | None = None) -> None:
        """The reader has this picture in front of them: what becomes otherwise from now on is marked."""
        if picture is not None:
            self._unseen = False
            self._seen_pictures.record(picture, time.monotonic() if at_s is None else at_s)

    def picture(self, result: Result, at_s: float | None = None, *,
                more: Callable[[], bool | None] = lambda: False, marks: Result | None = None,
                keep_rows: int = 1_000_000) -> Picture | None:
        """Draw a result, and mark what changed since the reader's last look.

        Parameters
        ----------
        result : Result
        at_s : float, optional
            The time of a steady clock, in seconds.
        more : callable
            Whether rows at other times will follow, while all rows have one time. None means that this is not known
            yet; pictures that depend on it wait.
        marks : Result, optional
            Events to draw over it.
        keep_rows : int
            Most samples of a channel whose values stay in memory.
        """
        if not len(result.table):
            self.undecided = False  # its rows may have been dropped
            return None
        if self._unseen:
            self.resort()  # an order is kept for those who know it
        columns = self.columns(result.table.schema)
        if self.sampling is not None and self.of_samples and columns.values:
            self._kind, self.undecided = "scope", False
            drawn: Picture | None = self._scoped(result, columns, self.sampling, marks, keep_rows)
        else:
            drawn = self._drawn(result, columns, more)
        before = self._seen_pictures.before(time.monotonic() if at_s is None else at_s)
        alike = type(before) is type(drawn)
        return drawn.compared(before) if drawn is not None and alike else drawn

    def _scoped(self, result: Result, columns: ColumnRoles, sampling: Sampling, marks: Result | None,
                keep_rows: int) -> SignalPicture | None:
        drawn, self._scope = scope(result, columns, sampling, self._scope, self.options.style, marks,
                                   max_samples=keep_rows, maximum=self.options.top or MAX_CHANNELS, read=self.read)
        if drawn is None or self.options.trigger is None:
            return Spectrogram(drawn) if drawn is not None and self.options.kind == "spectrogram" else drawn
        return triggered(drawn, self._window_span(result.table.schema), self.options.windows or MAX_WINDOWS)

    def _window_span(self, schema: pa.Schema) -> TriggerSpan:
        """The samples of a window of a triggered scope."""
        assert self.sampling is not None, "a trigger needs samples"
        return span_of(self.options.before, self.options.after, schema.field("start").type, self.sampling)

    def _drawn(self, result: Result, columns: ColumnRoles, more: Callable[[], bool | None]) -> Picture | None:
        style, top = self.options.style, self.options.top
        named = labels(result.table, columns.keys) if self._kind not in ("scatter", "density", "table") else None
        if self._unseen:
            fitting = self._fitting(result.table, columns, named, more)
            self._kind, self.undecided = fitting or "auto", fitting is None
        match self._kind:
            case "auto":
                return None
            case "line" if named:
                frame, self._lines = lines(result, named, columns, self._lines, style)
                return frame
            case "bar" if named:
                barred, self._bars = bars(result, named, columns, self._bars, style, top or MAX_BARS)
                return barred
            case "heatmap" if named:
                heated, self._heat = heat(result, named, columns, self._heat, style, top or MAX_KEYS)
                return heated
            case "scatter" | "density":
                dotted, self._scatter = scatter(result, columns, self._scatter, style, dense=self._kind == "density",
                                                maximum=top or MAX_COLOURS)
                return dotted
            case "number":
                return figures(result, columns)
            case _:
                return rows(result, columns)

    def _fitting(self, table: pa.Table, columns: ColumnRoles, named: Labels | None,
                 more: Callable[[], bool | None]) -> Kind | None:
        """The plainest picture that shows all of the result, and what is to be expected; None: not known yet."""
        if self.options.kind != "auto":
            return self.options.kind
        words = columns.texts if not columns.keys and not self.raw else ()
        if (columns.value is None and not words) or (len(columns.keys) > _MAX_DISTINCT and not self.raw):
            return "table"
        if self.raw or columns.x is not None:
            return "scatter"
        times = pc.min_max(table.column("start"))
        # A line through one point says less than a bar, wherever in time the points are.
        once = named is not None and 1 < len(table) == len(named.names)
        if (once or times["min"].as_py() == times["max"].as_py()) and not (expected := more()):
            return None if expected is None else "bar" if columns.keys else "number"
        if columns.value is None:
            return "table"
        return "heatmap" if named and len(named.names) > _MAX_LINES and self.options.top is None else "line"
