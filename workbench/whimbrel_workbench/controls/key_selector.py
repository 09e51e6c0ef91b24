"""Chips that filter all views by key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import Any, Final

import panel as pn

from whimbrel_workbench.frames.key_filter import Chosen
from whimbrel_workbench.html_pane import Text

MAX_VALUES: Final = 24
"""More values than this are no choice but a search."""

_NAME_CSS: Final = """
:host { font: 12px/1.5 var(--jp-ui-font-family, system-ui, sans-serif); color: var(--jp-ui-font-color2, #767676); }
"""
# Panel's own rules join the buttons of a group; theirs are the longer selectors.
_CHIPS_CSS: Final = """
.bk-btn-group { display: flex; flex-wrap: wrap; gap: 6px; }
:host .bk-btn-group > .bk-btn.bk-btn-default:nth-child(n) { flex: none;
  padding: 3px 10px; height: auto; min-height: 26px;
  max-width: 100%; white-space: normal; overflow-wrap: anywhere; text-align: start;
  font: 12px/1.5 var(--jp-ui-font-family, system-ui, sans-serif); border-radius: 13px; border: 1px solid #8f8f8f80;
  color: var(--jp-ui-font-color1, #333); background: transparent; box-shadow: none; }
:host .bk-btn-group > .bk-btn.bk-btn-default:hover:nth-child(n) { background: #8f8f8f24; }
.bk-btn-group > .bk-btn:focus-visible { outline: 2px solid #0072B2; outline-offset: 1px; }
:host .bk-btn-group > .bk-btn.bk-btn-default.bk-active:nth-child(n) {
  background: #0072B2; border-color: #0072B2; color: #fff; }
"""


class KeySelector:
    """A row of chips for each key column; nothing chosen means everything.

    Parameters
    ----------
    on_change : callable
        Called when the reader has chosen otherwise.

    Attributes
    ----------
    panel : panel.viewable.Viewable
    """

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        self._chips: dict[str, pn.widgets.CheckButtonGroup] = {}
        self.panel = pn.Column(sizing_mode="stretch_width", margin=0)

    @property
    def chosen(self) -> Chosen:
        """What the reader chose, by key column."""
        return {key: frozenset(chips.value) for key, chips in self._chips.items() if chips.value}

    def offer(self, values: Mapping[str, tuple[str, ...]]) -> None:
        """Let the reader choose among these values too; values that were there keep their places."""
        for key, some in values.items():
            known = self._chips[key].options if key in self._chips else []
            every = [*known, *(value for value in some if value not in known)]
            if every == known or not 1 < len(every) <= MAX_VALUES:
                continue
            if key in self._chips:
                self._chips[key].options = every
            else:
                self._add(key, every)

    def _add(self, key: str, values: list[str]) -> None:
        chips = pn.widgets.CheckButtonGroup(options=values, value=[], stylesheets=[_CHIPS_CSS], margin=(0, 0, 8, 0),
                                            sizing_mode="stretch_width")
        chips.param.watch(self._changed, "value")
        self._chips[key] = chips
        self.panel.extend([Text(escape(key), stylesheets=[_NAME_CSS], margin=0), chips])

    def _changed(self, _event: Any) -> None:
        self._on_change()
