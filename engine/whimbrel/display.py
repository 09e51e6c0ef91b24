"""Display queries in notebooks through the entry point ``whimbrel.display``."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, Final

from whimbrel.errors import MissingExtraError

_PAUSE_S: Final = 0.3


def load_between_cells() -> None:
    """Load what views need after the current cell of a notebook.

    It takes seconds, for which nobody is waiting then. It runs between cells, because two threads that import block
    each other.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    kernel = getattr(shell, "kernel", None)
    if kernel is not None:
        kernel.io_loop.call_later(_PAUSE_S, _load)


def _load() -> None:
    for entry in entry_points(group="whimbrel.display"):
        with contextlib.suppress(Exception):  # the view shows the error
            entry.load().prepare()


def _installed() -> Any:
    """What shows queries, or None where it, or what it draws with, is not installed."""
    for entry in entry_points(group="whimbrel.display"):
        with contextlib.suppress(ModuleNotFoundError):
            show = entry.load()
            show.prepare()
            return show
    return None


def mimebundle(query: object) -> Any:
    """Make the MIME bundle of a query for Jupyter.

    It is the live view, or the query as text where there is no workbench.
    """
    if show := _installed():
        return show(query)
    return {"text/plain": f"{query!r}\n\nFor a live view: pip install 'whimbrel[workbench]'"}, {}


@dataclass(frozen=True, slots=True)
class Views:
    """Live views of a query.

    Call ``query.view(...)``, or choose the kind of picture, as in hvPlot: ``query.view.bar(y="n")``.

    Needs the workbench.

    Parameters
    ----------
    query : Stream, LatencyBands or ProgressiveQuery
    """

    query: object

    def __call__(self, **options: Any) -> Any:
        """A live view; without ``kind=`` it is chosen by what the result looks like."""
        return view(self.query, **options)

    def line(self, **options: Any) -> Any:
        """Lines over time, one for each key."""
        return self(kind="line", **options)

    def bar(self, **options: Any) -> Any:
        """The newest value of each key."""
        return self(kind="bar", **options)

    def heatmap(self, **options: Any) -> Any:
        """A row for each key, over time or another column."""
        return self(kind="heatmap", **options)

    def scatter(self, **options: Any) -> Any:
        """A point for each row."""
        return self(kind="scatter", **options)

    def density(self, **options: Any) -> Any:
        """Density of points: a count for each cell."""
        return self(kind="density", **options)

    def scope(self, **options: Any) -> Any:
        """Channels of a signal, one above the other."""
        return self(kind="scope", **options)

    def spectrogram(self, **options: Any) -> Any:
        """Power of a signal by frequency, over time."""
        return self(kind="spectrogram", **options)

    def table(self, **options: Any) -> Any:
        """The newest rows."""
        return self(kind="table", **options)

    def number(self, **options: Any) -> Any:
        """The newest values in large letters."""
        return self(kind="number", **options)


def view(query: object, **options: Any) -> Any:
    """The live view as an object."""
    if show := _installed():
        return show.view(query, **options)
    raise MissingExtraError("panel", "workbench", "A live view")
