"""Draw bars: settled filled, early lighter, provisional hollow and hatched."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import ceil, isfinite, isnan, nan
from typing import Any, Final

import panel as pn
from bokeh.core.properties import field, value
from bokeh.models import ColumnDataSource, FactorRange, GlyphRenderer, HoverTool, Range1d

from whimbrel_workbench.frames import Bar, Bars, Style
from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.frames.finality import OPEN
from whimbrel_workbench.frames.format_numbers import between_words, interval_words, moved_words, value_words
from whimbrel_workbench.views.axis_format import name_ticks
from whimbrel_workbench.views.chart import chart, name_axes
from whimbrel_workbench.views.contract import Host
from whimbrel_workbench.views.follow_axes import NO_MARGIN, FollowAxes, Margin
from whimbrel_workbench.views.palette import FLAG, FONT, INK, STRONG, colour
from whimbrel_workbench.views.resort_button import ResortButton
from whimbrel_workbench.views.selection import Selection

_COLUMNS: Final = ("key", "low", "value", "words", "state", "fullness", "hatch", "colour", "before", "halo", "minimum",
                   "maximum", "reach", "side", "shift", "window", "instant")
_LETTER_PX: Final = 6.8
_SHIFT_PX: Final = 6.0
"""From the end of a bar to its words."""
_THICK: Final = 0.68


class BarsView:
    """Draws :class:`~whimbrel_workbench.frames.Bars`; each redraw replaces the data of one source."""

    def __init__(self, picture: Bars, host: Host) -> None:
        self._style = host.style
        hover = HoverTool(tooltips=[("", "@key"), ("", "@words"), ("", "@state"), ("", "@window")])
        self._figure = chart(self._style, hover, x_range=Range1d(), y_range=FactorRange(), tools="save",
                             x_axis_type="log" if self._style.logy else "linear")
        self._figure.ygrid[0].visible = False
        names = self._figure.yaxis[0]
        names.update(major_tick_line_color=None, axis_line_color=None, formatter=name_ticks(self._figure, names))
        self._follow = FollowAxes(self._figure, *_axes(picture, self._style))
        self._source = ColumnDataSource({name: [] for name in _COLUMNS})
        bars = self._add_bars()
        hover.renderers = [bars]
        self._resort, pick = ResortButton(host), Selection(host)
        self._panel = self._follow.panel(self._resort.panel, pick.panel)
        pick.listen(self._panel[0], self._figure, {bars: {"key": "key", "instant": "instant"}})
        self.draw(picture)

    @property
    def panel(self) -> pn.viewable.Viewable:
        return self._panel

    def draw(self, picture: Bars) -> None:
        self._source.data = _columns(picture, self._style)
        name_axes(self._figure, self._style, picture.value, "")
        self._follow.move(*_axes(picture, self._style))
        self._resort.offer(picture.stale)

    def _add_bars(self) -> GlyphRenderer:
        source, add = self._source, self._figure
        add.hbar("key", left="low", right="value", height=_THICK, source=source, fill_color=None, line_color="colour",
                 line_width=9, line_alpha="halo", line_join="round")
        bars = add.hbar("key", left="low", right="value", height=_THICK, source=source, line_color="colour",
                        line_width=1.5, fill_color="colour", fill_alpha="fullness", hatch_pattern="hatch",
                        hatch_color="colour", hatch_scale=8)
        add.segment("before", "key", "value", "key", source=source, line_color=INK, line_width=1.5)
        add.scatter("before", "key", source=source, marker="dash", angle=1.5708, size=17, line_color=INK, line_width=2)
        add.segment("minimum", "key", "maximum", "key", source=source, line_color=STRONG, line_width=2)
        for end in ("minimum", "maximum"):
            add.scatter(end, "key", source=source, marker="dash", angle=1.5708, size=11, line_color=STRONG,
                        line_width=2)
        add.text("reach", "key", "words", source=source, x_offset="shift", text_align=field("side"),
                 text_baseline="middle", text_color=INK, text_font=value(FONT), text_font_size="12px")
        return bars


def words_of(bar: Bar) -> str:
    """The value of a bar, with its interval, or with its first value if it was revised."""
    if bar.flag:
        return f"{words_of(replace(bar, flag=False))} {FLAG}"
    if bar.estimate:
        return interval_words(bar.length, bar.low, bar.high)
    if isnan(bar.before):
        return value_words(bar.length)
    moved = moved_words(bar.before, bar.length)
    since = f"{moved} from {value_words(bar.before)}" if moved else "unchanged"
    return f"{value_words(bar.length)} ({since})"


def whiskered(bar: Bar) -> bool:
    """Whether it is an estimate with both ends of an interval."""
    return bar.estimate and isfinite(bar.low) and isfinite(bar.high)


def _reach(bar: Bar, shown: Extent) -> float:
    """Where the words of a bar begin: beyond its end, which is on the left of a negative one, and beyond its marks."""
    ends = [bar.low, bar.high] if whiskered(bar) else [bar.before] if isfinite(bar.before) else []
    return max(min([bar.length, *ends]), shown.low) if bar.length < 0 else min(max([bar.length, *ends]), shown.high)


def _axes(picture: Bars, style: Style) -> tuple[Extent, None, list[str], int, Margin]:
    low, high = picture.extent.low, picture.extent.high
    before, letters = (_letters(bar for bar in picture.bars if (bar.length < 0) is negative)
                       for negative in (True, False))
    extent = Extent(low, high * (high / low) ** (0.015 * letters)) if style.logy else picture.extent
    height_px = style.height or 60 + 25 * max(2, len(picture.bars)) + (24 if style.title else 0)
    return extent, None, list(reversed(picture.names)), height_px, (
        NO_MARGIN if style.logy else (_margin_px(before), _margin_px(letters)))


def _letters(bars: Iterable[Bar]) -> int:
    """How many letters the words of bars take; the axis must not move with each digit."""
    return 4 * ceil(max((len(words_of(bar)) for bar in bars), default=0) / 4)


def _margin_px(letters: int) -> float:
    return _SHIFT_PX + _LETTER_PX * letters if letters else 0.0


def _columns(picture: Bars, style: Style) -> dict[str, list[Any]]:
    bars, stages = picture.bars, picture.stages
    return {
        "key": [bar.name for bar in bars],
        "low": [picture.extent.low if style.logy else 0.0] * len(bars),
        "value": [bar.length for bar in bars],
        "words": [words_of(bar) for bar in bars],
        "state": [between_words(stages.label(bar.stage), bar.low, bar.high) if bar.estimate else stages.label(bar.stage)
                  for bar in bars],
        "fullness": [stages.fullness(bar.stage) for bar in bars],
        "hatch": ["/" if bar.stage == OPEN else " " for bar in bars],
        "colour": [colour(0 if isinstance(style.color, str | None) else place, style, bar.name)
                   for place, bar in enumerate(bars)],
        "before": [bar.before for bar in bars],
        "halo": [0.3 if bar.changed else 0.0 for bar in bars],
        "minimum": [bar.low if whiskered(bar) else nan for bar in bars],
        "maximum": [bar.high if whiskered(bar) else nan for bar in bars],
        "reach": [_reach(bar, picture.extent) for bar in bars],
        "side": ["right" if bar.length < 0 else "left" for bar in bars],
        "shift": [-_SHIFT_PX if bar.length < 0 else _SHIFT_PX for bar in bars],
        "instant": [bar.instant for bar in bars],
        "window": [f"from {bar.start}" if picture.windows else "" for bar in bars],
    }
