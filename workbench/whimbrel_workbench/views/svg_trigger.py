"""A triggered scope as SVG."""

from __future__ import annotations

import base64
from io import BytesIO
from typing import Final

import numpy as np
from PIL import Image

from whimbrel_workbench.frames import PLAIN, Style
from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.frames.trigger import TriggerFrame, TriggerWindow
from whimbrel_workbench.views.channel_bands import BAND, band_ticks, on_band
from whimbrel_workbench.views.color_scales import counts_palette
from whimbrel_workbench.views.palette import GRID
from whimbrel_workbench.views.persistence import Counts
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
from whimbrel_workbench.views.trigger import NEWEST, counted, trigger_label, window_lines

_CHANNEL_PX: Final = 90
_TOP_PX: Final = 10
_FOOT_PX: Final = 50
_COLUMNS, _ROWS = 400, 60


def trigger_svg(picture: TriggerFrame, style: Style = PLAIN) -> str:
    """Time from the trigger across, channels one above the other; lighter: more windows."""
    count = len(picture.channels)
    bottom = float(_TOP_PX + max(200, _CHANNEL_PX * count))
    ticks = band_ticks(picture.channels)
    left = max(56.0, 12 + max((wide_px(words) for words in ticks.values()), default=0.0))
    x, y = Scale(picture.x, left, WIDTH_PX - 20), Scale(Extent(0.0, float(count)), bottom, _TOP_PX)
    parts = [f'<path d="M{left} {y(at):.1f}H{x.high_px}" stroke="{GRID}" stroke-opacity="0.25"/>' +
             text(left - 8, y(at) + 4, words, "end") for at, words in ticks.items()]
    parts += along_axis(x, bottom + 18, calendar=False)
    parts.append(text((left + x.high_px) / 2, bottom + 38, trigger_label(picture), "middle"))
    drawn = [(channel, counted(picture, channel, picture.x, _COLUMNS, _ROWS)) for channel in picture.channels]
    most = max(2, *(int(counts.max(initial=0)) for _, counts in drawn))
    for channel, counts in drawn:
        top = y(float(on_band(channel, channel.y.high, count)))
        parts.append(f'<image x="{left:.1f}" y="{top:.1f}" width="{x.high_px - left:.1f}" '
                     f'height="{BAND * (bottom - _TOP_PX) / count:.1f}" preserveAspectRatio="none" '
                     f'href="data:image/png;base64,{_png(counts, most, counts_palette(style))}"/>')
        parts.append(text(left + 6, y(count - channel.slot) + 12, fitting(channel.name, MAX_NAME_PX), "start"))
    parts.append(f'<path d="M{x(0):.1f} {_TOP_PX}V{bottom}" stroke="{GRID}" stroke-dasharray="2 3"/>')
    parts += [_line(each, picture, x, y) for each in (*picture.provisional, *picture.settled[-1:])]
    return svg(parts, bottom + _FOOT_PX)


def _line(window: TriggerWindow, picture: TriggerFrame, x: Scale, y: Scale) -> str:
    dash = "" if window.settled else ' stroke-dasharray="4 3"'
    return "".join(f'<path d="{path(np.where(np.isnan(values), np.nan, at), values, x, y)}" fill="none" '
                   f'stroke="{NEWEST}" stroke-width="1.4"{dash}/>'
                   for _, at, values in window_lines(picture, (window,)))


def _png(counts: Counts, most: int, palette: list[str]) -> str:
    """Counts as colours on a logarithmic scale; no window: transparent."""
    share = np.log(np.maximum(counts, 1)) / np.log(most)
    shades = np.where(counts, 1 + np.clip(share * (len(palette) - 1), 0, len(palette) - 1), 0).astype(np.uint8)
    drawn = Image.fromarray(shades[::-1], "P")
    drawn.putpalette(bytes(3) + b"".join(bytes.fromhex(each[1:7]) for each in palette))
    written = BytesIO()
    drawn.save(written, "PNG", transparency=0, optimize=True)
    return base64.b64encode(written.getvalue()).decode()
