"""The protocol of a panel with details."""

from __future__ import annotations

from typing import Protocol

import panel as pn


class DetailPanel(Protocol):
    """Something that is shown while a reader wants to see it.

    Attributes
    ----------
    name : str
        Label of the button that shows it.
    about : str
        Tooltip of that button.
    panel : panel.viewable.Viewable
    """

    @property
    def name(self) -> str: ...

    @property
    def about(self) -> str: ...

    @property
    def panel(self) -> pn.viewable.Viewable: ...

    def draw(self) -> None:
        """Show what is so now; called when it was opened, and with each frame while it is open."""
