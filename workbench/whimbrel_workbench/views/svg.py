"""Parts of SVG charts: scales, axes and text."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from math import ceil, floor, isnan, log10
from typing import Final
from unicodedata import combining, east_asian_width

import numpy as np
from numpy.typing import NDArray

from whimbrel_workbench.frames.extent import Extent, calendar_step, decimal_step
from whimbrel_workbench.frames.format_numbers import value_words
from whimbrel_workbench.views.palette import FONT, GRID, INK, MARKERS, marker

WIDTH_PX: Final = 900
MAX_NAME_PX: Final = 300.0
_CHAR_PX: Final = 6.6
_WIDER: Final = 1.2
"""So much wider than usual the letters of a font may be."""
_MARGIN_PX: Final = 22.0
"""So far words may stand out beyond the ends of an axis."""
_EDGE_PX: Final = 2.0
_LEFT_PX: Final = 64.0
_OUTLINES: Final = ("m-3 -3 h6 v6 h-6", "m0 -3.8 l3.7 6.6 h-7.4", "m0 -4.2 l3.5 4.2 l-3.5 4.2 l-3.5 -4.2",
                    "m0 3.8 l3.7 -6.6 h-7.4", "m-3.6 0 l1.8 -3.1 h3.6 l1.8 3.1 l-1.8 3.1 h-3.6")
"""Of the markers after the circle, from their center."""


@dataclass(frozen=True, slots=True)
class Scale:
    """From axis positions to pixels."""

    extent: Extent
    low_px: float
    high_px: float
    log: bool = False

    def __call__(self, at: float) -> float:
        low, high = self.extent.low, self.extent.high
        share = (log10(at / low) / log10(high / low)) if self.log else (at - low) / (high - low)
        return self.low_px + share * (self.high_px - self.low_px)

    def ticks(self, *, calendar: bool = False) -> list[float]:
        """Round positions, about five of them."""
        low, high = self.extent.low, self.extent.high
        low, high = (log10(low), log10(high)) if self.log else (low, high)
        step = calendar_step((high - low) / 6) if calendar else decimal_step((high - low) / 6)
        if self.log:
            step = max(1.0, ceil(step))
        places = np.arange(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1) * step
        return list((10.0**places if self.log else places).tolist())


def path(xs: NDArray[np.float64], ys: NDArray[np.float64], x: Scale, y: Scale) -> str:
    """SVG path commands; NaN lifts the pen."""
    commands, down = [], False
    for a, b in zip(xs.tolist(), ys.tolist(), strict=True):
        here = not isnan(a)
        if here:
            commands.append(f"{'L' if down else 'M'}{x(a):.1f} {y(b):.1f}")
        down = here
    return "".join(commands)


def dot(x: float, y: float, tint: str, fullness: float, slot: int = 0) -> str:
    """A point with the marker of its key."""
    paint = f'fill="{tint}" fill-opacity="{fullness:g}" stroke="{tint}" stroke-width="1.4"'
    if marker(slot) == MARKERS[0]:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" {paint}/>'
    return f'<path d="M{x:.1f} {y:.1f} {_OUTLINES[MARKERS.index(marker(slot)) - 1]}Z" {paint}/>'


def text(x: float, y: float, label: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{INK}">{escape(label)}</text>'


def fitting(label: str, max_px: float) -> str:
    """Words without their middle if they are too long.

    >>> fitting("a rather long name of a key", 100.0)
    'a rather…a key'
    """
    if text_px(label) <= max_px:
        return label
    end = max_px // (3 * _CHAR_PX) * _CHAR_PX
    return f"{_begin(label, max_px - end - 2 * _CHAR_PX)}…{_begin(label[::-1], end)[::-1]}"


def _begin(label: str, max_px: float) -> str:
    return next((label[:count] for count in range(len(label), 0, -1) if text_px(label[:count]) <= max_px), "")


def text_px(label: str) -> float:
    """About how wide words are; letters of East Asia and pictures are twice as wide as others.

    >>> text_px("名前") == text_px("name")
    True
    """
    return _CHAR_PX * sum(2 if east_asian_width(letter) in "WF" else not combining(letter) for letter in label)


def wide_px(label: str) -> float:
    """How wide words are at most, in a wide font."""
    return _WIDER * text_px(label)


def axis_margin_px(y: Scale) -> float:
    """Margin for the labels of an axis."""
    return max(_LEFT_PX, *(8 + _EDGE_PX + wide_px(value_words(at)) for at in y.ticks()))


def values_axis(y: Scale, left_px: float, right_px: float) -> list[str]:
    """Grid lines with their values, as long as the chart is wide."""
    return [f'<path d="M{left_px} {y(at):.1f} H{right_px:.1f}" stroke="{GRID}" stroke-opacity=".3"/>'
            + text(left_px - 8, y(at) + 4, value_words(at), "end") for at in y.ticks()]


def along_axis(x: Scale, y_px: float, *, calendar: bool) -> list[str]:
    """Positions along the x axis; words at its ends stay inside, whatever font there is."""
    ticks = x.ticks(calendar=calendar)
    step_ms = ticks[1] - ticks[0] if len(ticks) > 1 else 0.0
    left, right = max(x.low_px - _MARGIN_PX, _EDGE_PX), min(x.high_px + _MARGIN_PX, WIDTH_PX - _EDGE_PX)
    parts = []
    for at in ticks:
        said = instant(at, step_ms) if calendar else value_words(at)
        half = wide_px(said) / 2
        place, anchor = (left, "start") if x(at) - half < left else (right, "end") if x(at) + half > right else (
            x(at), "middle")
        parts.append(text(place, y_px, said, anchor))
    return parts


def instant(at_ms: float, step_ms: float) -> str:
    """An instant, in as much detail as neighbours that are a step apart need."""
    shape = "%Y-%m-%d" if step_ms >= 86_400_000 else "%m-%d %H:%M" if step_ms >= 60_000 else "%H:%M:%S"
    return datetime.fromtimestamp(at_ms / 1e3, UTC).strftime(shape)


def svg(parts: list[str], height_px: float) -> str:
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH_PX} {height_px:g}" font-size="12" '
            f'font-family="{escape(FONT)}">{"".join(parts)}</svg>')
