"""Line and bar charts as SVG."""

from __future__ import annotations

from math import isnan
from typing import Final

import numpy as np

from whimbrel_workbench.frames import PLAIN, Bar, Bars, Line, Lines, Style
from whimbrel_workbench.frames.finality import OPEN
from whimbrel_workbench.views.bars import whiskered, words_of
from whimbrel_workbench.views.lines import BAND, marked
from whimbrel_workbench.views.palette import INK, STRONG, colour
from whimbrel_workbench.views.svg import (
    MAX_NAME_PX,
    WIDTH_PX,
    Scale,
    along_axis,
    axis_margin_px,
    dot,
    fitting,
    path,
    svg,
    text,
    text_px,
    values_axis,
)

_MAX_POINTS: Final = 500


def lines_svg(picture: Lines, style: Style = PLAIN, height_px: int = 300) -> str:
    """Lines over time: settled solid, early light, provisional dashed, keys named on top."""
    y = Scale(picture.y, height_px - 30, 30, log=bool(style.logy))
    left = along = axis_margin_px(y)
    x = Scale(picture.x, left, WIDTH_PX - 20)
    parts = values_axis(y, left, x.high_px) + along_axis(x, height_px - 8, calendar=picture.calendar)
    for line in picture:
        tint = colour(line.slot, style, line.label)
        parts += _line(line, tint, x, y)
        if line.label:
            parts.append(dot(along + 5, 12, tint, 1.0, line.slot) + text(along + 14, 16, line.label, "start"))
            along += 34 + text_px(line.label)
    return svg(parts, height_px)


def bars_svg(picture: Bars, style: Style = PLAIN) -> str:
    """Bars by key: settled filled, early light, provisional hollow with a dashed edge."""
    left = min(MAX_NAME_PX, 16 + max(text_px(name) for name in picture.names))
    right = WIDTH_PX - 20 - max(text_px(words_of(bar)) for bar in picture.bars)
    x = Scale(picture.extent, left, right, log=bool(style.logy))
    parts = [_bar(bar, 12 + 24 * rank, x, picture, style) for rank, bar in enumerate(picture.bars)]
    return svg(parts, 24 + 24 * len(picture.bars))


def _line(line: Line, tint: str, x: Scale, y: Scale) -> list[str]:
    thin = line.thinned(_MAX_POINTS)
    paths = ((OPEN, thin.open_path()), *thin.early_paths(), (line.stages.final, thin.settled_path()))
    parts = [f'<path d="{path(np.concatenate([along, along[::-1]]), np.concatenate([low, high[::-1]]), x, y)}Z" '
             f'fill="{tint}" fill-opacity="{BAND["fill_alpha"]}"/>' for along, low, high in thin.bands()]
    parts += [f'<path d="{path(*points, x, y)}" fill="none" stroke="{tint}" stroke-width="1.8" '
              f'stroke-dasharray="{"5 4" if stage == OPEN else "none"}" '
              f'stroke-opacity="{line.stages.strength(stage):g}"/>' for stage, points in paths if len(points[0])]
    moves = zip(*(each[line.revised].tolist() for each in (line.x, line.before, line.y)), strict=True)
    parts += [f'<path d="M{x(at):.1f} {y(before):.1f} V{y(now):.1f} M{x(at) - 4:.1f} {y(before):.1f} h8" '
              f'stroke="{tint}"/>' for at, before, now in moves]
    at = marked(line)
    ends = zip(*(each[at[line.bounded[at]]].tolist() for each in (line.x, line.low, line.high)), strict=True)
    parts += [f'<path d="M{x(along):.1f} {y(low):.1f} V{y(high):.1f}" stroke="{tint}" stroke-width="1.4"/>'
              for along, low, high in ends]
    points = zip(line.x[at].tolist(), line.y[at].tolist(), line.stage[at].tolist(), strict=True)
    return parts + [dot(x(when), y(value), tint, line.stages.fullness(stage), line.slot)
                    for when, value, stage in points]


def _bar(bar: Bar, top: float, x: Scale, picture: Bars, style: Style) -> str:
    tint = colour(0, style)
    ends = sorted((x(picture.extent.low if style.logy else 0.0), x(bar.length)))
    dash = "4 3" if bar.stage == OPEN else "none"
    drawn = (f'<rect x="{ends[0]:.1f}" y="{top}" width="{ends[1] - ends[0]:.1f}" height="17" fill="{tint}" '
             f'fill-opacity="{picture.stages.fullness(bar.stage):g}" stroke="{tint}" stroke-width="1.5" '
             f'stroke-dasharray="{dash}"/>')
    if not isnan(bar.before):
        drawn += f'<path d="M{x(bar.before):.1f} {top} v17 m0 -8.5 H{x(bar.length):.1f}" stroke="{INK}" fill="none"/>'
    after = max(ends[1], x(bar.before) if not isnan(bar.before) else 0)
    if whiskered(bar):
        minimum, maximum = (min(max(x(end), x.low_px), x.high_px) for end in (bar.low, bar.high))
        drawn += (f'<path d="M{minimum:.1f} {top + 4} v9 m0 -4.5 H{maximum:.1f} m0 -4.5 v9" stroke="{STRONG}" '
                  f'stroke-width="2" fill="none"/>')
        after = max(after, maximum)
    name = fitting(bar.name, MAX_NAME_PX - 16)
    return drawn + text(x.low_px - 8, top + 13, name, "end") + text(after + 6, top + 13, words_of(bar), "start")
