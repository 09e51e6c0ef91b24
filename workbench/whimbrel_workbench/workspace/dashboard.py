"""Dashboards: named views, a title and a layout."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from whimbrel.errors import PlanError
from whimbrel.progressive import ProgressiveQuery
from whimbrel.stream import LatencyBands, Stream
from whimbrel.stream.desk import Desk
from whimbrel_workbench import page
from whimbrel_workbench.desk_view import DeskView
from whimbrel_workbench.frames import Options
from whimbrel_workbench.frames.options import check_redraws
from whimbrel_workbench.live_view import LiveView
from whimbrel_workbench.sessions import columns_of
from whimbrel_workbench.workspace.layout import FilePath, Layout
from whimbrel_workbench.workspace.shared_run import SharedRun


@dataclass(frozen=True, slots=True)
class Asked:
    """A query with the options of its view.

    It may have a progressive query to read instead of running it.
    """

    query: Stream | LatencyBands
    options: Options
    progressive: ProgressiveQuery | None = None


Query = Stream | LatencyBands | ProgressiveQuery | LiveView | Asked
Shown = Query | Desk | DeskView


class Dashboard:
    """Several linked views on one run.

    Sources are read once, and every page shows the same frames.

    Parameters
    ----------
    title : str
        What stands on top of the page.
    views : mapping of str to query, or sequence of queries
        Streams, latency bands, progressive queries or desks, or their ``view(...)``, by their headings. Without names
        they are named after their columns. A desk is shown as it runs: the dashboard does not start it.
    rows : sequence of names or of sequences of names, or path, optional
        Where the views stand, from top to bottom, or the file of a saved layout. A view that no row names is not
        shown. Default: the first view spans the page, the others stand in pairs.
    redraws_per_s : float
        Most redraws of a view in a second.

    Raises
    ------
    PlanError
        For something that is no query, and for rows that name views that there are not.

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": [1, 4, 12], "k": ["a", "b", "a"]}, time="at").group_by("k")
    >>> per_window = log.tumbling_window(10).aggregate(n=wb.count())
    >>> Dashboard("Counts", {"by window": per_window, "newest": per_window.view(kind="table")}).layout
    Layout(rows=(('by window',), ('newest',)))
    """

    def __init__(self, title: str, views: Mapping[str, Shown] | Sequence[Shown], *,
                 rows: Iterable[str | Iterable[str]] | FilePath | None = None, redraws_per_s: float = 4.0) -> None:
        check_redraws(redraws_per_s)
        self.title = title
        named = views if isinstance(views, Mapping) else _named(views)
        if not named:
            raise PlanError("A dashboard must have at least one view.", where=f"Dashboard({title!r})",
                            hint="Pass views=[query].")
        self.views = {name: _asked(query) for name, query in named.items() if not isinstance(query, Desk | DeskView)}
        self.desks = {name: shown if isinstance(shown, DeskView) else DeskView(shown)
                      for name, shown in named.items() if isinstance(shown, Desk | DeskView)}
        names = list(named)
        self.layout = (Layout.load(rows, names) if isinstance(rows, str | os.PathLike)
                            else Layout.of(names, rows))
        self._redraws_per_s = redraws_per_s

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> page.Bundle:
        page.collect(self)
        return {"text/plain": repr(self)}, {}

    def __repr__(self) -> str:
        return f"<Dashboard {self.title!r}: {', '.join([*self.views, *self.desks])}>"

    def save(self, path: FilePath) -> None:
        """Save the layout, for ``Dashboard(rows=path)``."""
        self.layout.save(path)

    def shared_run(self, *, pause_unwatched: bool = False) -> SharedRun:
        """Shared run of the views in the layout.

        It serves any number of pages.
        """
        shown = {name for row in self.layout.rows for name in row}
        return SharedRun({name: (asked.query, asked.options, asked.progressive)
                       for name, asked in self.views.items() if name in shown},
                      redraws_per_s=self._redraws_per_s, pause_unwatched=pause_unwatched)


def gathered(title: str, shown: Iterable[tuple[str, LiveView | DeskView | Dashboard]]) -> Dashboard:
    """Combine views and dashboards into one dashboard, in their order.

    Each has the heading above it.

    A dashboard alone stays as it is.
    """
    parts = list(shown)
    if len(parts) == 1 and isinstance(parts[0][1], Dashboard):
        return parts[0][1]
    views: dict[str, Shown] = {}
    rows: list[list[str]] = []
    for heading, part in parts:
        if isinstance(part, Dashboard):
            parts_of: dict[str, Shown] = {**part.views, **part.desks}
            names = {name: _unused(name, views) for name in parts_of}
            views |= {names[name]: each for name, each in parts_of.items()}
            rows += [[names[name] for name in row] for row in part.layout.rows]
        else:
            name = _unused(heading or _words(part), views)
            views[name] = part
            rows.append([name])
    return Dashboard(title, views, rows=rows)


def _asked(query: Query) -> Asked:
    match query:
        case Asked():
            return query
        case LiveView():
            return Asked(query.stream, query.options, query.progressive)
        case ProgressiveQuery():
            return Asked(Stream(query.plan), Options(), query)
        case Stream() | LatencyBands():
            return Asked(query, Options())
        case _:
            raise PlanError(f"A view must be a query or a view of one, got {type(query).__name__}.",
                            where="Dashboard(...)", hint="Pass a stream, or stream.view(...).")


def _named(queries: Iterable[Shown]) -> dict[str, Shown]:
    """Queries by the words that say what they show."""
    named: dict[str, Shown] = {}
    for query in queries:
        named[_unused(_words(query), named)] = query
    return named


def _words(query: Shown) -> str:
    if isinstance(query, Desk | DeskView):
        return "desk"
    asked = _asked(query)
    columns = columns_of(asked.query, asked.options)
    return (columns.value or "rows") + (f" by {', '.join(columns.keys)}" if columns.keys else "")


def _unused(name: str, used: Container[str]) -> str:
    """The name, numbered if it is used already."""
    numbered = (f"{name} ({number})" for number in count(2))
    return name if name not in used else next(each for each in numbered if each not in used)
