"""Status and buttons of the run that several views share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Final

import panel as pn

from whimbrel_workbench.controls.accessible import TipButton, tip
from whimbrel_workbench.controls.toolbar import BUTTON_CSS, TIPS, Gesture, touch
from whimbrel_workbench.frames import Status
from whimbrel_workbench.frames.status import SIGNS
from whimbrel_workbench.html_pane import LAST_CSS, Text

CSS: Final = """
:host { font: 13px/1.5 var(--jp-ui-font-family, system-ui, sans-serif); color: var(--jp-ui-font-color1, #333); }
.head { display: flex; justify-content: space-between; font-variant-numeric: tabular-nums; }
.state, .last { font-weight: 600; }
""" + LAST_CSS + """
.sign { display: inline-block; min-width: 24px; }
.track { height: 6px; border-radius: 3px; background: #8f8f8f38; overflow: hidden; margin: 6px 0 2px; }
.read { height: 100%; border-radius: 3px; background: #0072B2; transition: width .25s linear; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 3px 14px; margin: 0; font-size: 12px;
  font-variant-numeric: tabular-nums; }
dt { color: var(--jp-ui-font-color2, #767676); }
h3 { font-size: 13px; font-weight: 600; margin: 0 0 4px; }
h3:not(:first-child) { margin-top: 12px; }
dd { margin: 0; overflow-wrap: anywhere; }
"""


class RunPanel:
    """Shows what several views say of their common run.

    Parameters
    ----------
    on_gesture : callable, optional
        Called with what the reader wants of the run; without it there is nothing to press.

    Attributes
    ----------
    head, facts, buttons : panel.viewable.Viewable
        State and progress, indicators, and the buttons, if any.
    """

    def __init__(self, on_gesture: Callable[[Gesture], object] | None = None) -> None:
        self._on_gesture = on_gesture
        self.head, self.facts = (Text("", stylesheets=[CSS], sizing_mode="stretch_width", margin=0)
                                 for _ in range(2))
        self.buttons = pn.FlexBox(sizing_mode="stretch_width", margin=0, gap="6px", visible=on_gesture is not None)
        if on_gesture is not None:
            self._pause = self._button("Pause", lambda: "resume" if self._pause.label == "Resume" else "pause")
            self._keep = self._button("Stop run", lambda: "keep")
            self._restart = self._button("Restart run", lambda: "restart")
            self._fit = self._button("Fit axes", lambda: "fit")
            self.buttons[:] = [self._pause, self._keep, self._restart, self._fit]

    def draw(self, statuses: Sequence[Status]) -> None:
        """Show how the run is doing, as its views tell it."""
        status = together(statuses)
        touch(self.head, "object", _head_html(status))
        touch(self.facts, "object", facts_html(status.facts))
        if self._on_gesture is not None:
            touch(self._pause, "label", "Resume" if status.state == "paused" else "Pause")
            for button in (self._pause, self._keep):
                touch(button, "disabled", status.state not in ("running", "paused"))

    def _button(self, name: str, gesture: Callable[[], Gesture]) -> pn.widgets.Button:
        button = TipButton(label=name, stylesheets=[BUTTON_CSS], margin=0, html_attributes=tip(TIPS[name]))
        button.on_click(lambda _event: self._on_gesture(gesture()) if self._on_gesture else None)
        return button


def together(statuses: Sequence[Status]) -> Status:
    """Merge the statuses of several views: the state of the longest running one, and each fact once.

    >>> one = Status("finished", 1.0, (("rows", "7"),))
    >>> together([one, Status("running", 0.5, (("rows", "7"), ("late", "2")))])
    Status(state='running', fraction_read=0.5, facts=(('rows', '7'), ('late', '2')), failure=None, playback=None)
    """
    order = ("failed", "running", "paused", "stopped", "finished")
    first = min(statuses, key=lambda status: order.index(status.state))
    shares = [status.fraction_read for status in statuses]
    share = None if any(each is None for each in shares) else min(each for each in shares if each is not None)
    facts: dict[str, str] = {}
    for status in statuses:
        for name, words in status.facts:
            facts.setdefault(name, words)
    return Status(first.state, share, tuple(facts.items()), first.failure)


def facts_html(facts: Sequence[tuple[str, str]]) -> str:
    """Names and words in two columns."""
    return f"<dl>{''.join(f'<dt>{escape(name)}</dt><dd>{escape(words)}</dd>' for name, words in facts)}</dl>"


def _head_html(status: Status) -> str:
    width = 100 if status.state == "finished" else 100 * (status.fraction_read or 0)
    state = f'<span class="state"><span class="sign">{SIGNS[status.state]}</span>{status.state}</span>'
    return (f'<div class="head">{state}<span class="last">Last frame</span><span>{status.fraction_summary}</span></div>'
            f'<div class="track" role="progressbar" aria-valuenow="{width:.0f}">'
            f'<div class="read" style="width:{width:.1f}%"></div></div>')
