"""A scope as SVG: settled filled, provisional with a dashed outline."""

from __future__ import annotations

from typing import Final

import numpy as np

from whimbrel_workbench.frames import PLAIN, ScopeFrame, Style
from whimbrel_workbench.frames.event_marks import EventMarks
from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.views.channel_bands import band_ticks, on_band
from whimbrel_workbench.views.palette import GRID, STRONG, colour
from whimbrel_workbench.views.svg import (
    MAX_NAME_PX,
    WIDTH_PX,
    Scale,
    along_axis,
    fitting,
    path,
    svg,
    text,
    wide_px,
)
from whimbrel_workbench.views.visible_samples import Stretch, VisibleSamples, visible_samples

_CHANNEL_PX: Final = 90
_TOP_PX: Final = 10
_FOOT_PX: Final = 34
_MAX_MARKS: Final = 200
_COLUMNS: Final = 600


def scope_svg(picture: ScopeFrame, style: Style = PLAIN) -> str:
    """All channels over all of the axis, with their events."""
    count = len(picture.channels)
    bottom = _TOP_PX + max(160, _CHANNEL_PX * count)
    ticks = band_ticks(picture.channels)
    left = 16 + max(wide_px(words) for words in ticks.values())
    x, y = Scale(picture.x, left, WIDTH_PX - 20), Scale(Extent(0.0, float(count)), bottom, _TOP_PX)
    parts = [f'<path d="M{left:.1f} {y(at):.1f} H{x.high_px:.1f}" stroke="{GRID}" stroke-opacity=".3"/>'
             + text(left - 8, y(at) + 4, words, "end") for at, words in ticks.items()]
    parts += along_axis(x, bottom + _FOOT_PX - 12, calendar=picture.calendar)
    parts += [] if picture.marks is None else _events(picture.marks, picture, x, y)
    for seen in visible_samples(picture, picture.x, _COLUMNS):
        tint = colour(seen.channel.slot, style, seen.channel.column)
        parts += [_drawn(seen, each, count, x, y, f'stroke="{tint}" fill="{"none" if seen.single else tint}"')
                  for each in seen.settled]
        parts += [_drawn(seen, each, count, x, y, f'stroke="{tint}" stroke-dasharray="4 3" fill="none"')
                  for each in seen.provisional]
        parts.append(text(left + 6, y(count - seen.channel.slot) + 12, fitting(seen.channel.name, MAX_NAME_PX),
                          "start"))
    return svg(parts, bottom + _FOOT_PX)


def _drawn(seen: VisibleSamples, stretch: Stretch, count: int, x: Scale, y: Scale, paint: str) -> str:
    at, low, high = stretch[0], on_band(seen.channel, stretch[1], count), on_band(seen.channel, stretch[2], count)
    if seen.single:
        return f'<path d="{path(np.where(np.isnan(low), np.nan, at), low, x, y)}" {paint} stroke-width="1.4"/>'
    outline = path(np.concatenate([at, at[::-1]]), np.concatenate([high, low[::-1]]), x, y)
    return f'<path d="{outline}Z" {paint} stroke-width="1" stroke-linejoin="round"/>'


def _events(marks: EventMarks, picture: ScopeFrame, x: Scale, y: Scale) -> list[str]:
    at = marks.in_sight(picture.x, _MAX_MARKS)
    right = np.where(np.isnan(marks.right[at]), picture.last, marks.right[at])
    dashes = ["none" if settled else "4 3" for settled in marks.settled[at].tolist()]
    return [f'<rect x="{x(begin):.1f}" y="{y.high_px}" width="{max(0.5, x(end) - x(begin)):.1f}" '
            f'height="{y.low_px - y.high_px:.1f}" fill="{STRONG}" fill-opacity="{0.3 if dash == "none" else 0}" '
            f'stroke="{STRONG}" stroke-dasharray="{dash}"/>'
            for begin, end, dash in zip(marks.left[at].tolist(), right.tolist(), dashes, strict=True)]
