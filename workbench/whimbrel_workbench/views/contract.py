"""The interface between a view and the page that shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Final, Protocol

import panel as pn

from whimbrel_workbench.frames import PLAIN, Picture, ScopeFrame, Style
from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.frames.lines import ShowRange
from whimbrel_workbench.frames.mark import Mark
from whimbrel_workbench.frames.result import Floats

__all__ = ["NOBODY", "Host", "Picture", "View"]

TakeFrames = Callable[[Mapping[int, Floats]], None]
"""Takes samples, by the number of the first one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The page that shows a view, as the view sees it.

    Parameters
    ----------
    style : Style
        How the user wants it to look.
    changing : callable
        Gives the context in which a view changes itself between two frames, as when the reader zooms: the host sends
        what was changed when it is left.
    resort : callable
        Asks for the order that is right now; None where a reader cannot ask.
    pick : callable
        Called with the mark that a reader clicks; None without an effect.
    picking : str
        What follows from it, as words.
    stretches : bool
        Whether it is also called with time ranges over which a reader drags.
    zoom_to : callable, optional
        Called with a range of the time axis to which a reader zoomed, the pixels for it, and what shows its lines; with
        no range when the reader returns. None where only all of the result can be shown.
    read_samples : callable, optional
        Called with a picture, a visible range whose samples are no longer in memory, and what draws it again.
    read_frames : callable, optional
        Called with a picture, and with short ranges of sample numbers of its first channel, which are no longer in
        memory. Third is what takes the samples of some ranges, by their first numbers.
    """

    style: Style = PLAIN
    changing: Callable[[], AbstractContextManager[None]] = nullcontext
    resort: Callable[[], object] | None = None
    pick: Callable[[Mark], None] | None = None
    picking: str = "for its source events"
    stretches: bool = False
    zoom_to: Callable[[Extent | None, int, ShowRange], None] | None = None
    read_samples: Callable[[ScopeFrame, Extent, Callable[[], None]], None] | None = None
    read_frames: Callable[[ScopeFrame, Sequence[tuple[int, int]], TakeFrames], None] | None = None


NOBODY: Final = Host()
"""Where a view stands alone."""


class View(Protocol):
    """A picture on a page. Made for a first picture, then redrawn in place with further ones of the same kind."""

    @property
    def panel(self) -> pn.viewable.Viewable:
        """The widget for the page."""

    def draw(self, picture: Any) -> None:
        """Show another picture of the kind this view was made for, without rebuilding anything."""
