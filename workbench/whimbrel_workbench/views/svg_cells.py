"""Heat maps and scatter charts as SVG."""

from __future__ import annotations

import base64
from io import BytesIO
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from whimbrel_workbench.frames import PLAIN, Heat, Scatter, Style
from whimbrel_workbench.frames.finality import OPEN
from whimbrel_workbench.frames.format_numbers import value_words
from whimbrel_workbench.frames.points import OTHERS
from whimbrel_workbench.views.color_scales import counts_palette, palette_of
from whimbrel_workbench.views.raster import Raster, Window
from whimbrel_workbench.views.scatter import MAX_POINTS, colours_of
from whimbrel_workbench.views.svg import (
    MAX_NAME_PX,
    WIDTH_PX,
    Scale,
    along_axis,
    axis_margin_px,
    dot,
    fitting,
    svg,
    text,
    text_px,
    values_axis,
    wide_px,
)
from whimbrel_workbench.views.visible_points import in_sight

_ROW_PX: Final = 20
_SCALE_PX: Final = 90
_CELL_PX: Final = 2


def heat_svg(picture: Heat, style: Style = PLAIN) -> str:
    """Cells by key and time: early dotted, provisional hatched; the scale of colours on the right."""
    palette = palette_of(style, picture.shade)
    names = [fitting(name or picture.value, MAX_NAME_PX - 16) for name in picture.names]
    left = min(MAX_NAME_PX, 16 + max(map(text_px, names)))
    bottom = 10.0 + _ROW_PX * len(names)
    ends = value_words(picture.shade.low), value_words(picture.shade.high)
    right = _left_of_colours(*ends)
    x = Scale(picture.x, left, right)
    tints = np.array(palette)[_shade(picture.values, picture, len(palette))].tolist()
    columns = (picture.row, picture.left, picture.right, picture.stage)
    parts = [_HATCHES]
    for row, begin, end, stage, tint in zip(*(column.tolist() for column in columns), tints, strict=True):
        box = (f'x="{x(begin):.1f}" y="{10 + _ROW_PX * row}" width="{max(0.5, x(end) - x(begin)):.1f}" '
               f'height="{_ROW_PX - 1.5}"')
        parts.append(f'<rect {box} fill="{tint}"/>')
        if stage != picture.stages.final:
            hatch = "open" if stage == OPEN else f"early{picture.stages.steps_to_final(stage)}"
            parts.append(f'<rect {box} fill="url(#{hatch})"/>')
    parts += [text(left - 8, 24 + _ROW_PX * row, name, "end") for row, name in enumerate(names)]
    if picture.columns:
        parts += [text(x(at + 0.5), bottom + 18, name, "middle") for at, name in enumerate(picture.columns)]
    else:
        parts += along_axis(x, bottom + 18, calendar=picture.calendar)
    parts += _colours(palette, *ends, right, bottom)
    return svg(parts, bottom + 28)


def scatter_svg(picture: Scatter, style: Style = PLAIN, height_px: int = 320) -> str:
    """Points one by one while they are few, else counted by cell."""
    right, top, bottom = _left_of_colours(value_words(len(picture.points))), 10.0, height_px - 34.0
    y = Scale(picture.y, bottom, top, picture.log[1])
    left = axis_margin_px(y)
    x = Scale(picture.x, left, right, picture.log[0])
    window = Window(picture.x, picture.y, int((right - left) / _CELL_PX), int(bottom - top) // _CELL_PX, picture.log)
    counts = Raster().counts(picture.points, window)
    parts = values_axis(y, left, right) + along_axis(x, height_px - 12, calendar=picture.calendar)
    dense = picture.dense or int(counts.sum()) > MAX_POINTS
    if dense:
        palette = counts_palette(style)
        image = base64.b64encode(_png(counts, palette)).decode()
        parts.append(f'<image x="{left}" y="{top}" width="{right - left}" height="{bottom - top}" '
                     f'preserveAspectRatio="none" href="data:image/png;base64,{image}"/>')
        parts += _colours(palette, "1", value_words(int(counts.max())), right, bottom)
    seen = in_sight(picture, window, settled=not dense)
    tints, places = colours_of(picture, seen.category, style), (*(picture.slots or (0,)), 0)
    shapes = [places[-1 if category == OTHERS else category] for category in seen.category.tolist()]
    points = zip(seen.x.tolist(), seen.y.tolist(), tints, shapes, seen.settled.tolist(), strict=True)
    parts += [dot(x(at), y(value), tint, 0.75 if settled else 0.0, place) for at, value, tint, place, settled in points]
    return svg(parts, height_px)


_HATCHES: Final = (
    '<defs><pattern id="open" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<path d="M0 0 V6" stroke="#fff" stroke-width="2.2" stroke-opacity=".65"/></pattern>'
    + "".join(f'<pattern id="early{behind}" width="{px}" height="{px}" patternUnits="userSpaceOnUse"><circle '
              f'cx="{px / 2}" cy="{px / 2}" r="1.1" fill="#fff" fill-opacity=".8"/></pattern>'
              for behind, px in enumerate((6, 4.5, 3.5))) + "</defs>"
)


def _shade(values: NDArray[np.float64], picture: Heat, colours: int) -> NDArray[np.int64]:
    share = (values - picture.shade.low) / (picture.shade.high - picture.shade.low)
    return np.clip(share * (colours - 1), 0, colours - 1).astype(np.int64)


def _left_of_colours(*words: str) -> float:
    """The right end of a picture that leaves space for a color scale with these labels."""
    return WIDTH_PX - max(_SCALE_PX, 34 + max(wide_px(each) for each in words))


def _colours(palette: list[str], low: str, high: str, right: float, bottom: float) -> list[str]:
    """A strip from few to many, with its ends named."""
    left, step = right + 16, (bottom - 10) / 32
    strip = [f'<rect x="{left:.1f}" y="{bottom - step * (at + 1):.1f}" width="10" height="{step + 0.4:.1f}" '
             f'fill="{palette[round(at * (len(palette) - 1) / 31)]}"/>' for at in range(32)]
    return [*strip, text(left + 15, bottom, low, "start"), text(left + 15, 20, high, "start")]


def _png(counts: NDArray[np.uint32], palette: list[str]) -> bytes:
    """Counts as colours of a logarithmic scale, highest row first; transparent where there is nothing."""
    top = np.log(max(int(counts.max()), 2))
    with np.errstate(divide="ignore"):
        place = np.clip(np.log(counts) / top * (len(palette) - 1), 0, len(palette) - 1) + 1
    image = Image.fromarray(np.where(counts, place, 0).astype(np.uint8)[::-1], "P")
    image.putpalette(bytes(3) + b"".join(bytes.fromhex(each[1:7]) for each in palette))
    written = BytesIO()
    image.save(written, "PNG", transparency=0, optimize=True)
    return written.getvalue()
