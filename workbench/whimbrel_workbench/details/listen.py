"""Hear, save and inspect a stretch of a signal."""

from __future__ import annotations

import base64
from html import escape
from typing import Any, Final

import numpy as np
import panel as pn

from whimbrel.errors import PlanError
from whimbrel_workbench.controls.transport import LABELLED_CSS
from whimbrel_workbench.frames import ScopeFrame, Spectrogram
from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.frames.format_numbers import value_words
from whimbrel_workbench.frames.mark import Mark
from whimbrel_workbench.frames.playback_audio import check_playback, stretch_values, wav_of
from whimbrel_workbench.frames.result import Floats
from whimbrel_workbench.frames.scope import ScopeChannel
from whimbrel_workbench.frames.table import cell_words
from whimbrel_workbench.sessions import LiveSession
from whimbrel_workbench.sessions.run_status import failure_of
from whimbrel_workbench.views.chart import page_html
from whimbrel_workbench.views.error_card import failure_html
from whimbrel_workbench.views.events import EVENTS_CSS

MAX_LISTED: Final = 50
_SPEEDS: Final = (0.01, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 100.0, 1_000.0)
_NOTHING: Final = ('<div class="quiet">Choose the selection tool of the chart, and drag over a stretch of the signal.'
                   "</div>")


class ListenPanel:
    """Plays a stretch that a reader dragged over, offers it as a file, and lists its events.

    Parameters
    ----------
    feed : LiveSession
        Of a signal.
    """

    name: Final = "Listen"
    about: Final = "Hear and save a dragged stretch, and show its events"

    def __init__(self, feed: LiveSession) -> None:
        self._feed = feed
        self._stretch: Extent | None = None
        self._channel = pn.widgets.Select(label="channel", options=[], stylesheets=[LABELLED_CSS], margin=(3, 8))
        self._speed = pn.widgets.Select(label="speed", options={f"x{speed:,g}": speed for speed in _SPEEDS}, value=1.0,
                                        stylesheets=[LABELLED_CSS], margin=(3, 8))
        for choice in (self._channel, self._speed):
            choice.param.watch(self._chosen, "value")
        self._sound = page_html(_NOTHING, EVENTS_CSS)
        self.panel = pn.Column(pn.FlexBox(self._channel, self._speed, align_items="center"), self._sound,
                               sizing_mode="stretch_width", margin=(4, 0))

    def draw(self) -> None:
        picture = _signal(self._feed)
        names = [channel.name for channel in picture.channels] if picture is not None else []
        if names and self._channel.options != names:
            self._channel.param.update(options=names, value=self._channel.value if self._channel.value in names
                                       else names[0])

    def pick(self, mark: Mark) -> None:
        """Take a stretch of the axis."""
        if mark.at is not None and mark.to is not None:
            self._stretch = Extent(*sorted((mark.at, mark.to)))
            self.draw()
            self._show()

    def _chosen(self, _event: Any) -> None:
        if self._stretch is not None:
            self._show()

    def _show(self) -> None:
        picture, stretch = _signal(self._feed), self._stretch
        if picture is None or stretch is None:
            return
        channel = next((each for each in picture.channels if each.name == self._channel.value), picture.channels[0])
        try:
            self._sound.object = _player(picture, channel, stretch, self._speed.value) + _events(picture, stretch)
        except PlanError as error:
            self._sound.object = failure_html(failure_of(error)) + _events(picture, stretch)


def _signal(feed: LiveSession) -> ScopeFrame | None:
    picture = feed.picture.scope if isinstance(feed.picture, Spectrogram) else feed.picture
    return picture if isinstance(picture, ScopeFrame) else None


def _player(picture: ScopeFrame, channel: ScopeChannel, stretch: Extent, speed: float) -> str:
    """A player, a link to save the file, and what is in it."""
    with picture.store.lock:
        begin, end = channel.reach
        low, high = channel.axis.positions(np.array([begin, end - 1])).tolist()
        inside = stretch.low <= high and low <= stretch.high
        first = channel.axis.first_at(max(stretch.low, low)) if inside else begin
        stop = min(end, channel.axis.first_at(min(stretch.high, high)) + 1) if inside else begin
        rate_hz = check_playback(stop - first, channel.axis.per_s, speed)
        values = stretch_values(channel, first, stop)
    data = f"data:audio/wav;base64,{base64.b64encode(wav_of(values, rate_hz)).decode()}"
    name = f"{channel.name.replace(' ', '').replace('·', '-')}.wav"
    return (f'<div class="row" role="status"><b>{escape(channel.name)}</b> {_facts(values, rate_hz)}</div>'
            f'<audio controls src="{data}" style="height:34px;max-width:100%;margin:6px 0"></audio> '
            f'<a style="color:inherit" href="{data}" download="{escape(name, quote=True)}">Save stretch</a>')


def _facts(values: Floats, rate_hz: float) -> str:
    there = values[np.isfinite(values)]
    facts = [("samples", f"{len(there):,}"), ("playback", f"{value_words(len(values) / rate_hz)} s")]
    facts += [("missing", f"{len(values) - len(there):,}, silent")] * (len(there) < len(values))
    if len(there):
        facts += [("min", value_words(float(there.min()))), ("max", value_words(float(there.max())))]
    return " ".join(f"<span><i>{name}</i> {escape(words)}</span>" for name, words in facts)


def _events(picture: ScopeFrame, stretch: Extent) -> str:
    """The events of a stretch as a table."""
    if picture.marks is None:
        return ""
    marks = picture.marks
    right = np.where(np.isnan(marks.right), np.inf, marks.right)
    at = np.flatnonzero((marks.left <= stretch.high) & (right >= stretch.low))
    rows = marks.table.take(at[-MAX_LISTED:][::-1])
    many = f"{len(at):,} event{'s' * (len(at) != 1)} in this stretch"
    if not len(at):
        return f'<div class="quiet">{many}.</div>'
    shown = f"{many}, the newest {len(rows)} of them:" if len(at) > len(rows) else f"{many}:"
    head = "".join(f"<th>{escape(name)}</th>" for name in rows.column_names)
    cells = zip(*(cell_words(rows.column(name)) for name in rows.column_names), strict=True)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in cells)
    return (f'<div class="quiet" style="margin-top:6px">{shown}</div><div class="scroll" tabindex="0" role="region" '
            f'aria-label="{many}"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>')
