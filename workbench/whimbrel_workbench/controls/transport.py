"""The transport bar of a replay: play, step, speed, clock and position."""

from __future__ import annotations

import time
import weakref
from datetime import datetime, timedelta
from html import escape
from typing import Any, Final, Protocol

import panel as pn
from bokeh.models import CustomJSTickFormatter

from whimbrel_workbench.controls.accessible import NamedSlider, TipButton, named, tip
from whimbrel_workbench.controls.focus import keep_focus
from whimbrel_workbench.controls.toolbar import BUTTON_CSS, SELECT_CSS, touch
from whimbrel_workbench.frames import Playback
from whimbrel_workbench.frames.format_times import instant_text
from whimbrel_workbench.html_pane import Text
from whimbrel_workbench.page_messages import PageMessage

_INFINITE: Final = float("inf")
_SPEEDS: Final = (0.1, 1.0, 10.0, 100.0, 1_000.0, 10_000.0, 100_000.0, _INFINITE)
_STEPS: Final = {"next arrival": "arrival", "next batch": "batch", "1 second": "1s", "1 minute": "1m",
                 "10 minutes": "10m", "1 hour": "1h", "6 hours": "6h", "1 day": "1d", "1 week": "1w"}
_TICK_STEPS: Final = {"next arrival": "arrival", "next batch": "batch",
                      **{f"{ticks:,} ticks": ticks for ticks in (1, 10, 100, 1_000, 10_000)}}
_PLACES: Final = 1_000
_DRAGGED_S: Final = 2.0

_CLOCK_CSS: Final = """
:host { font: 13px/28px var(--jp-ui-font-family, system-ui, sans-serif); color: var(--jp-ui-font-color1, #333); }
.clock { white-space: nowrap; font-variant-numeric: tabular-nums; }
.clock b { font-weight: 600; display: inline-block; min-width: 122px; }
.clock i { display: inline-block; min-width: 48px; font-style: normal; color: var(--jp-ui-font-color2, #767676); }
"""

# As wide with either label, so that its neighbors do not move.
_PLAY_CSS: Final = BUTTON_CSS + ".bk-btn { min-width: 116px; }"

LABELLED_CSS: Final = SELECT_CSS + """
.bk-input-group { flex-direction: row; align-items: center; gap: 6px; }
.bk-input-group label { margin: 0; white-space: nowrap; font: 12px/1 var(--jp-ui-font-family, system-ui, sans-serif);
  color: var(--jp-ui-font-color2, #767676); }
"""

SLIDER_CSS: Final = """
:host { --panel-primary-color: #0072B2; }
.noUi-target { background: #8f8f8f38; border: none; box-shadow: none; height: 6px; border-radius: 3px; }
.noUi-target .noUi-connect { background: #0072B2 !important; }
.noUi-target[inert] { opacity: .38; }
.noUi-handle { border-radius: 50%; border: 2px solid #0072B2; background: var(--jp-layout-color0, #fff);
  box-shadow: none; }
.noUi-handle:focus-visible { outline: 2px solid #0072B2; outline-offset: 2px; }
"""

# A slider reports a release only at a new position. A key or a click at the old position counts too, because the run
# has moved the handle since. The release of the first click is reported as well.
_MOVED: Final = """
    const letGo = cb_obj.properties.value_throttled
    const say = () => { if (letGo.get_value() != null) said.value = `${letGo.get_value()} ${Date.now()}` }
    if (!cb_obj.connected) {
        cb_obj.connected = letGo.change.connect(say)
        if (!letGo.is_unset) say()
    }
    cb_obj.setv({value_throttled: null}, {silent: true})
"""

_SHOW_INSTANT: Final = """
const at = first + tick * (last - first)
return calendar ? new Date(at).toISOString().slice(0, 19).replace("T", " ") : Math.round(at).toLocaleString("en")
"""


class ReplayControls(Protocol):
    """What a reader can do with a replay."""

    def play(self) -> None: ...

    def hold(self) -> None: ...

    def step(self, by: str | int) -> None: ...

    def hurry(self, speed: float) -> None: ...

    def seek(self, to: datetime | int) -> None: ...


class Transport:
    """Shows a :class:`~whimbrel_workbench.frames.Playback` and controls it; hidden without a replay.

    It is disabled when no run follows the clock any more.

    Parameters
    ----------
    player : ReplayController
        Does what the reader wants.
    """

    def __init__(self, player: ReplayControls) -> None:
        self._player = player
        self._silent = False
        self._dragged_s = -_DRAGGED_S
        self._shown: Playback | None = None
        self._seek: NamedSlider | None = None
        self.panel = pn.FlexBox(flex_wrap="wrap", align_items="center", sizing_mode="stretch_width", visible=False)

    def draw(self, playback: Playback | None) -> None:
        """Show how far it has come."""
        touch(self.panel, "visible", playback is not None)
        if playback is None:
            return
        if self._shown is None:
            self._make()
        if self._shown is None or (playback.first, playback.last) != (self._shown.first, self._shown.last):
            self._make_slider(playback)
        self._shown = playback
        going = playback.state in ("playing", "waiting")
        touch(self._play, "label", "❚❚ Pause replay" if playback.state == "playing" else "▶ Start replay")
        touch(self._step, "disabled", playback.state == "ended" or not playback.followed)
        for each in (self._play, self._by, self._speed, *self._slider):
            touch(each, "disabled", not playback.followed)
        touch(self._clock, "object", _clock_html(playback, going=going))
        self._silent = True
        if playback.speed not in self._speed.options.values():
            speeds = sorted({*self._speed.options.values(), playback.speed})
            touch(self._speed, "options", {_speed_words(speed): speed for speed in speeds})
        touch(self._speed, "value", playback.speed)
        if self._seek is not None and time.monotonic() - self._dragged_s > _DRAGGED_S:
            touch(self._seek, "value", round(playback.fraction or 0.0, 4))
        self._silent = False

    def _make(self) -> None:
        """Once something is replayed: most views replay nothing, and are there sooner without."""
        self._play = self._button("▶ Start replay", "Start or pause the clock of the replay", self._toggle, _PLAY_CSS)
        self._by = self._select("by", _STEPS)
        self._step = self._button("Step replay", "Advance the clock by one step",
                                  lambda: self._player.step(self._by.value))
        keep_focus(self._play)
        keep_focus(self._step, otherwise=self._play)
        self._speed = self._select("speed", {_speed_words(speed): speed for speed in _SPEEDS})
        self._speed.param.watch(self._hurried, "value")
        self._clock = Text("", stylesheets=[_CLOCK_CSS], margin=(3, 8))
        self._slider = pn.Row(styles={"flex": "1 1 220px"}, min_width=200, margin=0)
        self._said = PageMessage()
        self._said.param.watch(self._let_go, "value")
        self.panel[:] = [self._play, self._step, self._by, self._speed, self._clock, self._slider, self._said]

    def _make_slider(self, playback: Playback) -> None:
        """Once the range is known, since its words are those of the log's time."""
        first, last = playback.first, playback.last
        if first is None or last is None or first == last:
            return
        calendar = isinstance(first, datetime)
        ends = dict(zip(("first", "last"), map(_number, (first, last)), strict=True))
        shown = CustomJSTickFormatter(args={**ends, "calendar": calendar}, code=_SHOW_INSTANT)
        self._seek = NamedSlider(start=0, end=1, step=1 / _PLACES, value=0, format=shown, show_value=False,
                                 html_attributes=named("Seek in the replay"), stylesheets=[SLIDER_CSS],
                                 sizing_mode="stretch_width", margin=(0, 14))
        self._seek.param.watch(self._dragged, "value")
        # Panel keeps a callback, and what it knows, as long as the slider.
        self._seek.jscallback(args={"said": weakref.proxy(self._said)}, value=_MOVED)
        self._slider[:] = [self._seek]
        touch(self._by, "options", _STEPS if calendar else _TICK_STEPS)

    def _toggle(self) -> None:
        if self._shown is not None and self._shown.state == "playing":
            self._player.hold()
        else:
            self._player.play()

    def _hurried(self, event: Any) -> None:
        if not self._silent:
            self._player.hurry(event.new)

    def _dragged(self, _event: Any) -> None:
        if not self._silent:
            self._dragged_s = time.monotonic()

    def _let_go(self, event: Any) -> None:
        self._dragged_s = -_DRAGGED_S
        try:
            share = float(event.new.partition(" ")[0])
        except ValueError:
            return  # a page may say what it likes
        if self._shown is not None and 0 <= share <= 1 and (to := self._shown.at(share)) is not None:
            self._player.seek(to)

    def _button(self, label: str, what: str, action: Any, css: str = BUTTON_CSS) -> pn.widgets.Button:
        button = TipButton(label=label, stylesheets=[css], margin=(3, 3), html_attributes=tip(what))
        button.on_click(lambda _event: action())
        return button

    def _select(self, label: str, options: dict[str, Any]) -> pn.widgets.Select:
        return pn.widgets.Select(label=label, options=options, stylesheets=[LABELLED_CSS], width=150, margin=(3, 6))


def _number(moment: datetime | int) -> float:
    """As a browser counts: milliseconds by the clock on the wall, or ticks."""
    if not isinstance(moment, datetime):
        return moment
    return (moment.replace(tzinfo=None) - datetime(1970, 1, 1)) / timedelta(milliseconds=1)  # noqa: DTZ001


def _speed_words(speed: float) -> str:
    """Such as "1,000 times".

    >>> _speed_words(0.1), _speed_words(1000.0), _speed_words(float("inf"))
    ('\N{MULTIPLICATION SIGN}0.1', '\N{MULTIPLICATION SIGN}1,000', 'full speed')
    """
    return "full speed" if speed == _INFINITE else f"\N{MULTIPLICATION SIGN}{speed:,.10g}"


def _clock_html(playback: Playback, *, going: bool) -> str:
    sign = f" <i>{'' if going else escape(playback.state)}</i>"
    now = f"<b>{escape(instant_text(playback.now))}</b>"
    return f'<div class="clock" role="timer" aria-label="Simulated time">{now}{sign}</div>'
