"""The legend, in words: which mark is which key, and what a hollow or dashed mark means."""

from __future__ import annotations

from html import escape
from typing import Final

from whimbrel_workbench.frames import Bars, Lines
from whimbrel_workbench.views.palette import COLOURS, MARKERS, colour, marker

MOST_NAMED: Final = 12
_WORD: Final = '<span style="white-space:nowrap">'
_ROW: Final = "display:flex;flex-wrap:wrap;gap:2px 14px"
_BOX: Final = '<svg width="22" height="12" style="vertical-align:-1px">'
_SHAPES: Final = (
    '<circle cx="13" cy="7" r="3.6" {paint}/>',
    '<rect x="9.6" y="3.6" width="6.8" height="6.8" {paint}/>',
    '<path d="M13 2.6 L17.2 10.2 H8.8 Z" {paint}/>',
    '<path d="M13 2 L17 7 L13 12 L9 7 Z" {paint}/>',
    '<path d="M13 11.4 L17.2 3.8 H8.8 Z" {paint}/>',
    '<path d="M9 7 L11 3.5 H15 L17 7 L15 10.5 H11 Z" {paint}/>',
)


def mark_svg(place: int, *, settled: bool, tint: str | None = None) -> str:
    """A short line with its marker, as it looks in the chart."""
    tint = tint or colour(place)
    dash = "" if settled else ' stroke-dasharray="4 3"'
    paint = f'fill="{tint}" stroke="{tint}"' if settled else f'fill="none" stroke="{tint}" stroke-width="1.5"'
    shape = _SHAPES[MARKERS.index(marker(place))].format(paint=paint)
    return (f'<svg width="26" height="14" style="vertical-align:-2px"><path d="M0 7 H26" stroke="{tint}" '
            f'stroke-width="2"{dash}/>{shape}</svg>')


def box_svg(*, settled: bool) -> str:
    """A piece of a bar, as it looks in the chart."""
    tint = COLOURS[0]
    if settled:
        return f'{_BOX}<rect width="22" height="12" fill="{tint}"/></svg>'
    lines = "".join(f"M{x} 12 L{x + 12} 0 " for x in range(-10, 22, 6))
    return (f'{_BOX}<rect x=".7" y=".7" width="20.6" height="10.6" fill="none" stroke="{tint}" stroke-width="1.4"/>'
            f'<path d="{lines}" stroke="{tint}"/></svg>')


def legend_html(picture: Lines | Bars) -> str:
    """Keys on the left, the meaning of solid and hollow on the right."""
    if isinstance(picture, Bars):
        keys, settled, provisional = "", box_svg(settled=True), box_svg(settled=False)
        shapes = ("filled", "hatched")
    else:
        keys = "".join(f"{_WORD}{mark_svg(line.place, settled=True)} {escape(line.label)}</span>"
                       for line in picture if line.label)
        settled, provisional = (mark_svg(0, settled=flag, tint="#808080") for flag in (True, False))
        shapes = ("solid, filled", "dashed, hollow")
    meaning = (f"{_WORD}{settled} {shapes[0]}: settled</span>"
               f"{_WORD}{provisional} {shapes[1]}: may still change</span>")
    return (f'<div style="{_ROW};padding:6px 0 4px">{keys}'
            f'<span class="quiet" style="{_ROW};margin-left:auto">{meaning}</span></div>')


def caption(picture: Lines | Bars) -> str:
    """What is drawn and what is not, in one sentence or two."""
    by = " and ".join(picture.keys)
    shown = len(picture.lines) if isinstance(picture, Lines) else len(picture.names)
    provisional = picture.rows - picture.settled_rows
    words = f"{picture.value}" + (f" by {by}" if by else "")
    words += f". {picture.settled_rows:,} rows settled, {provisional:,} may still change."
    if picture.others:
        named = ", ".join(picture.others[:MOST_NAMED])
        more = len(picture.others) - MOST_NAMED
        words += f" Shown: {shown} of {shown + len(picture.others)}; not shown: {named}"
        words += f" and {more} more." if more > 0 else "."
    return words
