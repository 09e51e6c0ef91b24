"""The toolbar of a live view: status, indicators and buttons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any, Final, Literal

import panel as pn

from whimbrel_workbench.controls.accessible import NamedSelect, TipButton, named, tip
from whimbrel_workbench.controls.focus import keep_focus
from whimbrel_workbench.frames import ColumnRoles, Status
from whimbrel_workbench.frames.status import SIGNS
from whimbrel_workbench.html_pane import LAST_CSS, Text

Gesture = Literal["pause", "resume", "keep", "drop", "restart", "fit"]

TIPS: Final = {
    "Pause": "Pause or resume the run",
    "Stop run": "Stop the run and keep its result",
    "Stop here": "Stop reading and keep this estimate",
    "Discard result": "Stop the run and discard its result",
    "Restart run": "Run the query again from the start",
    "Fit axes": "Fit the axes to the data shown now",
}
"""What the buttons do."""

_STRIP_CSS: Final = """
:host { font: 13px/1.45 var(--jp-ui-font-family, system-ui, sans-serif); color: var(--jp-ui-font-color1, #333); }
.head { display: flex; align-items: center; gap: 10px; height: 28px; }
.state, .last { font-weight: 600; white-space: nowrap; min-width: 78px; }
""" + LAST_CSS + """
.sign { display: inline-block; min-width: 14px; margin-right: 4px; }
.track { flex: 1; height: 6px; min-width: 60px; border-radius: 3px; background: #8f8f8f38; overflow: hidden; }
.read { height: 100%; border-radius: 3px; background: #0072B2; transition: width .25s linear; }
.share { white-space: nowrap; min-width: 72px; font-variant-numeric: tabular-nums; }
"""

_FACTS_CSS: Final = """
:host { font: 12px/1.5 var(--jp-ui-font-family, system-ui, sans-serif); color: var(--jp-ui-font-color1, #333); }
.facts { display: flex; flex-wrap: wrap; gap: 0 18px; font-variant-numeric: tabular-nums; }
.facts span { white-space: nowrap; }
.facts i { font-style: normal; color: var(--jp-ui-font-color2, #767676); }
"""

BUTTON_CSS: Final = """
:host { --panel-primary-color: #0072B2; }
:host(.solid) .bk-btn.bk-btn-default { font: 12px/1 var(--jp-ui-font-family, system-ui, sans-serif);
  padding: 0 9px; height: 26px; border-radius: 4px;
  color: var(--jp-ui-font-color1, #333); background: transparent; border: 1px solid #8f8f8f80; box-shadow: none; }
:host(.solid) .bk-btn.bk-btn-default:hover:not([disabled]) { background: #8f8f8f24; }
.bk-btn:focus-visible { outline: 2px solid #0072B2; outline-offset: 1px; }
.bk-btn[disabled], .bk-btn[inert] { opacity: .38; }
"""

SELECT_CSS: Final = """
.bk-input { font: 12px/1 var(--jp-ui-font-family, system-ui, sans-serif); height: 26px; min-height: 26px;
  padding: 0 22px 0 8px; border-radius: 4px; border: 1px solid #8f8f8f80;
  color: var(--jp-ui-font-color1, #333); background-color: transparent; appearance: none;
  background-image: linear-gradient(45deg, transparent 50%, #888 50%),
    linear-gradient(-45deg, transparent 50%, #888 50%) !important;  /* Bokeh's own is black, also on black */
  background-position: right 13px center, right 8px center !important; background-size: 5px 5px !important;
  background-repeat: no-repeat !important; }
.bk-input:focus-visible { outline: 2px solid #0072B2; outline-offset: 1px; }
.bk-input[inert] { opacity: .38; }
.bk-input option { color: #333; background: #fff; }
"""


class Toolbar:
    """Shows a :class:`~whimbrel_workbench.frames.Status` and reports what the reader wants.

    Parameters
    ----------
    on_gesture : callable
        Called with one of ``"pause", "resume", "keep", "drop", "restart", "fit"``.
    on_value : callable
        Called with the name of the column that the reader wants on the value axis.
    more : sequence of panel.widgets.Button
        Further buttons.
    keep : str
        Label of the button that stops and keeps the result.
    """

    def __init__(self, on_gesture: Callable[[Gesture], None], on_value: Callable[[str], None],
                 more: Sequence[pn.widgets.Button] = (), keep: str = "Stop run") -> None:
        self._on_gesture = on_gesture
        self._on_value = on_value
        self._silent = False
        self._strip = Text("", stylesheets=[_STRIP_CSS], sizing_mode="stretch_width", min_width=220,
                                   margin=(2, 8))
        self._facts = Text("", stylesheets=[_FACTS_CSS], sizing_mode="stretch_width", margin=(0, 8, 4, 8))
        self._value = NamedSelect(options=[], stylesheets=[SELECT_CSS], width=120, margin=(3, 4), visible=False,
                                  html_attributes=named("Shown value"))
        self._value.param.watch(self._picked, "value")
        self._pause = self._button("Pause", lambda: "resume" if self._pause.label == "Resume" else "pause")
        self._keep = self._button(keep, lambda: "keep")
        self._drop = self._button("Discard result", lambda: "drop")
        self._restart = self._button("Restart run", lambda: "restart")
        self._fit = self._button("Fit axes", lambda: "fit")
        for button in (self._pause, self._keep, self._drop):
            keep_focus(button, otherwise=self._restart)
        buttons = pn.FlexBox(self._value, self._pause, self._keep, self._drop, self._restart, self._fit, *more,
                             flex_wrap="wrap", align_items="center")
        self.panel = pn.Column(
            pn.FlexBox(self._strip, buttons, flex_wrap="wrap", align_items="center", sizing_mode="stretch_width"),
            self._facts, sizing_mode="stretch_width", margin=0,
        )

    def draw(self, status: Status) -> None:
        """Show how the run is doing; buttons that would do nothing are off."""
        touch(self._strip, "object", _strip_html(status))
        touch(self._facts, "object", _facts_html(status))
        going = status.state in ("running", "paused")
        touch(self._pause, "label", "Resume" if status.state == "paused" else "Pause")
        for button in (self._pause, self._keep, self._drop):
            touch(button, "disabled", not going)

    def offer(self, columns: ColumnRoles | None) -> None:
        """Let the reader choose among the columns that can be on the value axis, if there is a choice."""
        if columns is not None:
            self._silent = True
            touch(self._value, "options", list(columns.values))
            touch(self._value, "value", columns.value)
            self._silent = False
        touch(self._value, "visible", columns is not None and len(columns.values) > 1)

    def _button(self, name: str, gesture: Callable[[], Gesture]) -> pn.widgets.Button:
        button = TipButton(label=name, stylesheets=[BUTTON_CSS], margin=(3, 3), html_attributes=tip(TIPS[name]))
        button.on_click(lambda _event: self._on_gesture(gesture()))
        return button

    def _picked(self, event: Any) -> None:
        if not self._silent and event.new is not None:
            self._on_value(event.new)


def touch(widget: Any, name: str, value: object) -> None:
    """Touch a widget only when something changes: every touch is a message to the browser."""
    if getattr(widget, name) != value:
        setattr(widget, name, value)


def _strip_html(status: Status) -> str:
    width = 100 if status.state == "finished" else 100 * (status.fraction_read or 0)
    state = f'<span class="state"><span class="sign">{SIGNS[status.state]}</span>{status.state}</span>'
    state += '<span class="last">Last frame</span>'
    track = f'<div class="track" role="progressbar" aria-label="Read" aria-valuenow="{width:.0f}">'
    return (f'<div class="head">{state}{track}<div class="read" style="width:{width:.1f}%"></div></div>'
            f'<span class="share">{status.fraction_summary}</span></div>')


def _facts_html(status: Status) -> str:
    facts = "".join(f"<span><i>{escape(name)}</i> {escape(words)}</span>" for name, words in status.facts)
    return f'<div class="facts">{facts}</div>'
