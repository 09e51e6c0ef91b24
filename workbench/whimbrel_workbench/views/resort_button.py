"""A button that sorts keys again when their order is stale."""

from __future__ import annotations

from typing import Final

import panel as pn

from whimbrel_workbench.views.contract import Host
from whimbrel_workbench.views.follow_axes import CHIP_CSS

_BELOW_NAMES: Final = ":host { left: 8px; right: auto; }"


class ResortButton:
    """The chip, hidden while the order is right.

    Parameters
    ----------
    host : Host
        Is asked for another order.
    """

    def __init__(self, host: Host) -> None:
        self.panel = pn.widgets.Button(label="Sort keys", visible=False, margin=0,
                                        stylesheets=[CHIP_CSS, _BELOW_NAMES])
        self._ask = host.resort
        self.panel.on_click(lambda _event: self._ask and self._ask())

    def offer(self, stale: bool) -> None:
        """Show the chip if the order is stale and can be changed."""
        shown = stale and self._ask is not None
        if self.panel.visible != shown:
            self.panel.visible = shown
