"""A spectrogram as SVG."""

from __future__ import annotations

import base64
from io import BytesIO
from typing import Final

import numpy as np
from PIL import Image

from whimbrel_workbench.frames import PLAIN, Style
from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.frames.spectrogram import Spectrogram
from whimbrel_workbench.views.color_scales import palette_of
from whimbrel_workbench.views.spectrogram import SHADES, frames_words, shaded, spectrum_image
from whimbrel_workbench.views.svg import WIDTH_PX, Scale, along_axis, axis_margin_px, svg, text, values_axis

_COLUMNS: Final = 400


def spectrogram_svg(picture: Spectrogram, style: Style = PLAIN, height_px: int = 300) -> str:
    """Time across, frequency up; lighter: louder."""
    bottom = height_px - 34.0
    y = Scale(Extent(0.0, picture.per_s / 2), bottom, 24.0)
    x = Scale(picture.x, axis_margin_px(y), WIDTH_PX - 20)
    columns, image, most = spectrum_image(picture, _COLUMNS)
    drawn = Image.fromarray(shaded(image, most)[::-1], "P")
    palette = palette_of(style, Extent(0.0, 1.0))[-SHADES:]
    drawn.putpalette(bytes(3) + b"".join(bytes.fromhex(each[1:7]) for each in palette))
    written = BytesIO()
    drawn.save(written, "PNG", transparency=0, optimize=True)
    left, right = (x(at) for at in picture.channel.axis.positions(np.array(columns.ends)).tolist())
    data = base64.b64encode(written.getvalue()).decode()
    cells = (f'<image x="{left:.1f}" y="24" width="{right - left:.1f}" height="{bottom - 24}" '
             f'preserveAspectRatio="none" href="data:image/png;base64,{data}"/>')
    return svg([*values_axis(y, x.low_px, x.high_px), *along_axis(x, height_px - 12, calendar=picture.calendar), cells,
                text(x.low_px, 14, f"{picture.frequency} · {frames_words(columns)}", "start")], height_px)
