"""Colors of the Okabe-Ito palette, and markers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from whimbrel_workbench.frames import PLAIN, Style

COLOURS: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
MARKERS: Final = ("circle", "square", "triangle", "diamond", "inverted_triangle", "hex")

INK: Final = "#7d7d7d"
"""Text and axes inside a canvas, which cannot follow the theme: readable on white and on near-black."""

STRONG: Final = "#7a8691"
"""Ends of intervals, over hatched marks of any colour."""

FLAG: Final = "⚑ proved wrong"

GRID: Final = "#8f8f8f"
FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"

CSS: Final = """
:host { font: 13px/1.45 var(--jp-ui-font-family, system-ui, sans-serif); color: var(--jp-ui-font-color1, #333); }
.quiet { color: var(--jp-ui-font-color2, #767676); font-size: 12px; }
"""


def colour(slot: int, style: Style = PLAIN, name: str = "") -> str:
    """The colour of a key: what the user chose, else that of its place."""
    match style.color:
        case None:
            return COLOURS[slot % len(COLOURS)]
        case str() as one:
            return one
        case Mapping() as named:
            return named.get(name, GRID)
        case several:
            return several[slot % len(several)]


def marker(slot: int) -> str:
    return MARKERS[(slot + slot // len(COLOURS)) % len(MARKERS)]
