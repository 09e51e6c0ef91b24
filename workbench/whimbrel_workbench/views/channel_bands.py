"""Bands of channels, one above the other."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor
from typing import Any, Final

import numpy as np
from bokeh.models import ColumnDataSource, FixedTicker, LabelSet
from bokeh.plotting import figure

from whimbrel_workbench.frames.extent import Extent, decimal_step
from whimbrel_workbench.frames.format_numbers import value_words
from whimbrel_workbench.frames.result import Floats
from whimbrel_workbench.frames.scope import ScopeChannel
from whimbrel_workbench.views.palette import FONT, INK

BAND: Final = 0.84
"""Share of its height that a channel fills at most; between it and the next one is space."""

_TICKS: Final = 4
_CHANNEL_PX: Final = 96
_ONE_CHANNEL_PX: Final = 200
_AXIS_PX: Final = 60


class ChannelBands:
    """Names and ticks of the channels of a chart."""

    def __init__(self, fig: figure) -> None:
        self._figure = fig
        self._names = ColumnDataSource({"y": [], "text": []})
        fig.add_layout(LabelSet(x=6, x_units="screen", y="y", text="text", source=self._names, text_color=INK,
                                text_font=FONT, text_font_size="12px", text_font_style="bold", text_baseline="top"))

    def draw(self, channels: Sequence[ScopeChannel]) -> None:
        ticks = band_ticks(channels)
        axis = self._figure.yaxis[0]
        if axis.major_label_overrides != ticks:
            axis.update(ticker=FixedTicker(ticks=list(ticks)), major_label_overrides=ticks)
            self._figure.ygrid[0].ticker = axis.ticker
        self._names.data = {"y": [len(channels) - channel.slot - 0.01 for channel in channels],
                            "text": [channel.name for channel in channels]}


def bands(channels: Sequence[ScopeChannel]) -> Extent:
    """The axis of all bands."""
    return Extent(0.0, float(len(channels)))


def height_px(channels: Sequence[ScopeChannel], scale: float = 1.0) -> int:
    """Height of a chart, at a multiple of the usual one."""
    return _AXIS_PX + int(scale * max(_ONE_CHANNEL_PX, _CHANNEL_PX * len(channels)))


def on_band(channel: ScopeChannel, values: Any, channels: int) -> Floats:
    """Where values stand in the band of their channel."""
    share = (np.asarray(values, np.float64) - channel.y.low) / (channel.y.high - channel.y.low)
    return np.asarray(channels - 1 - channel.slot + (1 - BAND) / 2 + BAND * share)


def band_ticks(channels: Sequence[ScopeChannel]) -> dict[float, str]:
    """Round values of each channel, at their places."""
    found = {}
    for channel in channels:
        step = decimal_step((channel.y.high - channel.y.low) / _TICKS)
        for at in range(ceil(channel.y.low / step - 1e-9), floor(channel.y.high / step + 1e-9) + 1):
            found[float(on_band(channel, at * step, len(channels)))] = value_words(at * step)
    return found
