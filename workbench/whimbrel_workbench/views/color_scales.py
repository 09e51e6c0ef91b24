"""Color scales that work in greyscale and for color-blind readers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from bokeh import palettes
from bokeh.colors import named
from bokeh.core.properties import Color

from whimbrel.errors import PlanError, near_match
from whimbrel_workbench.frames import Style
from whimbrel_workbench.frames.extent import Extent

_GROWING: Final = "Viridis"
_AROUND_ZERO: Final = "PuOr"
_TWO_KINDS: Final = frozenset(("BrBG", "PRGn", "PiYG", "PuOr", "RdBu", "RdGy", "RdYlBu", "RdYlGn", "Spectral"))
_FINE: Final = 511
"""Colours enough that a part of them still changes smoothly."""

_DARKEST: Final = 24
"""So many colours are too dark for single points on a dark page."""


def check_colours(style: Style) -> None:
    """Refuse colours and palettes that are not known: with them a chart stays empty.

    Raises
    ------
    PlanError
    """
    asked = style.color
    for name in () if asked is None else (asked,) if isinstance(asked, str) else (
            asked.values() if isinstance(asked, Mapping) else asked):
        if not Color().is_valid(name):
            raise PlanError(f"Unknown color: {name!r}.", where=f"opts(color={name!r})",
                            hint=near_match(name, sorted(named.__all__), noun="color") + " Or use #rrggbb.")
    if style.cmap is not None:
        palette_of(style, Extent(0.0, 1.0))


def palette_of(style: Style, shade: Extent) -> list[str]:
    """256 colours: those that the user named, else growing ones, or two kinds around zero.

    Palettes of two kinds turn at zero wherever it lies, and are as strong on one side of it as on the other.

    Raises
    ------
    PlanError
        There is no palette of that name.
    """
    name = style.cmap or (_AROUND_ZERO if shade.low < 0 < shade.high else _GROWING)
    known = {each.lower(): each for each in palettes.all_palettes}
    if name.lower() not in known:
        raise PlanError(f"Unknown palette: {name!r}.", where=f"opts(cmap={name!r})",
                        hint=near_match(name, sorted(palettes.all_palettes), noun="palette"))
    sizes = palettes.all_palettes[known[name.lower()]]
    colours, first, last = list(sizes[max(sizes)]), 0.0, 1.0
    if known[name.lower()] in _TWO_KINDS and shade.low < 0 < shade.high:
        colours, reach = list(palettes.interp_palette(colours, _FINE)), max(-shade.low, shade.high)
        first, last = (0.5 + end / reach / 2 for end in (shade.low, shade.high))
    return [colours[round(at * (len(colours) - 1))] for at in np.linspace(first, last, 256).tolist()]


def counts_palette(style: Style) -> list[str]:
    """Colours of how many points there are: growing ones, whatever the points' own values are."""
    return palette_of(style, Extent(0.0, 1.0))[_DARKEST:]
