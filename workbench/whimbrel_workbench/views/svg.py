"""Pieces of SVG: scales, axes, words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from math import isnan, log10
from typing import Final

import numpy as np
from numpy.typing import NDArray

from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.frames.numbers import value_words
from whimbrel_workbench.views.palette import FONT, GRID, INK

WIDTH_PX: Final = 900
_CHAR_PX: Final = 6.6


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

    def ticks(self, count: int) -> list[float]:
        spread = np.geomspace if self.log else np.linspace
        return list(spread(self.extent.low, self.extent.high, count).tolist())


def path(xs: NDArray[np.float64], ys: NDArray[np.float64], x: Scale, y: Scale) -> str:
    """SVG path commands; NaN lifts the pen."""
    commands, down = [], False
    for a, b in zip(xs.tolist(), ys.tolist(), strict=True):
        here = not isnan(a)
        if here:
            commands.append(f"{'L' if down else 'M'}{x(a):.1f} {y(b):.1f}")
        down = here
    return "".join(commands)


def dot(x: float, y: float, tint: str, fullness: float) -> str:
    return (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="{tint}" fill-opacity="{fullness:g}" stroke="{tint}" '
            f'stroke-width="1.4"/>')


def text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{INK}">{escape(words)}</text>'


def text_px(words: str) -> float:
    """About how wide words are."""
    return _CHAR_PX * len(words)


def values_axis(y: Scale, left_px: float) -> list[str]:
    """Grid lines with their values."""
    return [f'<path d="M{left_px} {y(at):.1f} H{WIDTH_PX - 20}" stroke="{GRID}" stroke-opacity=".3"/>'
            + text(left_px - 8, y(at) + 4, value_words(at), "end") for at in y.ticks(5)]


def along_axis(x: Scale, y_px: float, *, calendar: bool) -> list[str]:
    """Five positions along the x axis."""
    span_ms = x.extent.high - x.extent.low
    return [text(x(at), y_px, instant(at, span_ms) if calendar else value_words(at), anchor)
            for at, anchor in zip(x.ticks(5), ("start", "middle", "middle", "middle", "end"), strict=True)]


def instant(at_ms: float, span_ms: float) -> str:
    shape = "%Y-%m-%d" if span_ms > 5 * 86_400_000 else "%m-%d %H:%M" if span_ms > 300_000 else "%H:%M:%S"
    return datetime.fromtimestamp(at_ms / 1e3, UTC).strftime(shape)


def svg(parts: list[str], height_px: float) -> str:
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH_PX} {height_px:g}" font-size="12" '
            f'font-family="{escape(FONT)}">{"".join(parts)}</svg>')
