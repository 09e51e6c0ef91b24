"""Charts as small SVG texts, for places where no plotting library is at hand."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from math import isnan
from typing import Final

import numpy as np
from numpy.typing import NDArray

from whimbrel_workbench.frames import Bars, Lines
from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.frames.numbers import value_words
from whimbrel_workbench.views.palette import COLOURS, FONT, GRID, INK, colour

_WIDTH_PX: Final = 900
_MOST_POINTS: Final = 500
_MOST_MARKED: Final = 60


@dataclass(frozen=True, slots=True)
class _Scale:
    """From axis positions to pixels."""

    extent: Extent
    low_px: float
    high_px: float

    def __call__(self, at: float) -> float:
        share = (at - self.extent.low) / (self.extent.high - self.extent.low)
        return self.low_px + share * (self.high_px - self.low_px)

    def ticks(self, count: int) -> list[float]:
        return list(np.linspace(self.extent.low, self.extent.high, count).tolist())


def lines_svg(picture: Lines, height_px: int = 300) -> str:
    """Lines over time: settled solid, provisional dashed, keys named on top."""
    x, y = _Scale(picture.x, 64, _WIDTH_PX - 20), _Scale(picture.y, height_px - 30, 30)
    parts = [f'<path d="M64 {y(at):.1f} H{_WIDTH_PX - 20}" stroke="{GRID}" stroke-opacity=".3"/>'
             + _text(56, y(at) + 4, value_words(at), "end") for at in y.ticks(5)]
    span_ms = picture.x.high - picture.x.low if picture.calendar else None
    parts += [_text(x(at), height_px - 8, value_words(at) if span_ms is None else _instant(at, span_ms), anchor)
              for at, anchor in zip(x.ticks(5), ("start", "middle", "middle", "middle", "end"), strict=True)]
    along = 64.0
    for line in picture:
        thin, tint = line.thinned(_MOST_POINTS), colour(line.place)
        for path, dash in ((thin.settled_path(), "none"), (thin.provisional_path(), "5 4")):
            parts.append(f'<path d="{_path(*path, x, y)}" fill="none" stroke="{tint}" stroke-width="1.8" '
                         f'stroke-dasharray="{dash}"/>')
        if len(line.x) <= _MOST_MARKED:
            points = zip(line.x, line.y, line.settled, strict=True)
            parts += [_dot(x(at), y(value), tint, settled) for at, value, settled in points]
        if line.label:
            parts.append(_dot(along + 5, 12, colour(line.place), True) + _text(along + 14, 16, line.label, "start"))
            along += 34 + 7.5 * len(line.label)
    return _svg(parts, height_px)


def bars_svg(picture: Bars) -> str:
    """Bars by key: settled filled, provisional hollow with a dashed edge."""
    height_px = 24 + 24 * len(picture.names)
    x = _Scale(picture.extent, 150, _WIDTH_PX - 90)
    parts = []
    for rank, (name, length, settled) in enumerate(zip(picture.names, picture.lengths, picture.settled, strict=True)):
        top, ends = 12 + 24 * rank, sorted((x(0.0), x(length)))
        fill, dash = (COLOURS[0], "none") if settled else ("none", "4 3")
        parts.append(f'<rect x="{ends[0]:.1f}" y="{top}" width="{ends[1] - ends[0]:.1f}" height="17" fill="{fill}" '
                     f'stroke="{COLOURS[0]}" stroke-width="1.5" stroke-dasharray="{dash}"/>')
        parts.append(_text(142, top + 13, name, "end") + _text(ends[1] + 6, top + 13, value_words(length), "start"))
    return _svg(parts, height_px)


def _path(xs: NDArray[np.float64], ys: NDArray[np.float64], x: _Scale, y: _Scale) -> str:
    """SVG path commands; NaN lifts the pen."""
    commands, down = [], False
    for a, b in zip(xs.tolist(), ys.tolist(), strict=True):
        here = not isnan(a)
        if here:
            commands.append(f"{'L' if down else 'M'}{x(a):.1f} {y(b):.1f}")
        down = here
    return "".join(commands)


def _dot(x: float, y: float, tint: str, settled: bool) -> str:
    fill = tint if settled else "white"
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="{fill}" stroke="{tint}" stroke-width="1.4"/>'


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{INK}">{escape(words)}</text>'


def _instant(at_ms: float, span_ms: float) -> str:
    shape = "%Y-%m-%d" if span_ms > 5 * 86_400_000 else "%m-%d %H:%M" if span_ms > 300_000 else "%H:%M:%S"
    return datetime.fromtimestamp(at_ms / 1e3, UTC).strftime(shape)


def _svg(parts: list[str], height_px: int) -> str:
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH_PX} {height_px}" font-size="12" '
            f'font-family="{escape(FONT)}">{"".join(parts)}</svg>')
