"""Sliders for the reorder latencies of a query."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import panel as pn
import param
from bokeh.models import CustomJSTickFormatter

from whimbrel_workbench.controls.accessible import NamedSlider, named
from whimbrel_workbench.controls.toolbar import touch
from whimbrel_workbench.controls.transport import SLIDER_CSS
from whimbrel_workbench.html_pane import Text

_CSS: Final = """
:host { font: 12px/26px var(--jp-ui-font-family, system-ui, sans-serif); color: var(--jp-ui-font-color1, #333); }
i { font-style: normal; color: var(--jp-ui-font-color2, #767676); }
"""

_MOVED_S: Final = 2.0
"""So long a slider that was moved stays where it is: what it asks for is on its way."""

Choice = tuple[int, str]
"""A latency in ticks, and its words."""


class LatencyControl:
    """Shows the latencies at which a query is asked, and reports which ones the reader wants.

    Parameters
    ----------
    on_ask : callable
        Called with latencies in ticks, growing.
    """

    def __init__(self, on_ask: Callable[[list[int]], object]) -> None:
        self._on_ask = on_ask
        self._choices: list[Choice] = []
        self._silent = False
        self._moved_s = -_MOVED_S
        self._sliders: list[NamedSlider] = []
        self._words: list[Text] = []
        self.panel = pn.Column(sizing_mode="stretch_width", margin=0, visible=False)

    def draw(self, choices: Sequence[Choice], asked: Sequence[int]) -> None:
        """Offer these latencies; the sliders stand on those that are asked for, if any are."""
        known = sorted({*choices, *((ticks, words) for ticks, words in self._choices if ticks in asked)})
        touch(self.panel, "visible", len(known) > 1)
        if len(known) < 2:
            return
        several = max(1, len(asked))
        if known != self._choices or several != len(self._sliders):
            self._choices = known
            self._make(several)
        ticks = [each for each, _ in known]
        places = [ticks.index(each) for each in asked if each in ticks] or [len(known) - 1]
        self._silent = True
        for slider, words, place in zip(self._sliders, self._words, places, strict=False):
            if slider.value != place and time.monotonic() - self._moved_s > _MOVED_S:
                with param.edit_constant(slider):  # else letting go where it was made would be no change
                    slider.param.update(value=place, value_throttled=place)
            touch(words, "object", self._said(place, promised=bool(asked)))
        self._silent = False

    def _make(self, several: int) -> None:
        words = [words for _, words in self._choices]
        shown = CustomJSTickFormatter(args={"words": words}, code="return words[Math.round(tick)] ?? ''")
        self._sliders = [NamedSlider(start=0, end=len(words) - 1, step=1, value=0, format=shown, show_value=False,
                                     html_attributes=named("Reorder latency"), stylesheets=[SLIDER_CSS],
                                     sizing_mode="stretch_width", margin=(6, 14, 10, 14)) for _ in range(several)]
        self._words = [Text("", stylesheets=[_CSS], margin=(0, 8)) for _ in range(several)]
        for slider in self._sliders:
            slider.param.watch(self._moved, "value")
            slider.param.watch(self._let_go, "value_throttled")
        self.panel[:] = [pn.Column(said, slider, sizing_mode="stretch_width", margin=0)
                         for slider, said in zip(self._sliders, self._words, strict=True)]

    def _said(self, place: int, *, promised: bool) -> str:
        latency = self._choices[place][1] if promised else "unlimited: waits for every late row"
        return f"<i>reorder latency</i> {latency}"

    def _moved(self, _event: Any) -> None:
        if not self._silent:
            self._moved_s = time.monotonic()

    def _let_go(self, _event: Any) -> None:
        if not self._silent:
            self._on_ask(sorted({self._choices[round(slider.value)][0] for slider in self._sliders}))
