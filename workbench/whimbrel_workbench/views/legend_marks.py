"""Marks of the legend as SVG."""

from __future__ import annotations

from typing import Final

from whimbrel_workbench.frames import PLAIN, Stages, Style
from whimbrel_workbench.frames.finality import ONE_BAND, OPEN
from whimbrel_workbench.views.palette import MARKERS, STRONG, colour, marker

_BOX: Final = '<svg width="22" height="12" style="vertical-align:-1px">'
_SHAPES: Final = (
    '<circle cx="13" cy="7" r="3.6" {paint}/>',
    '<rect x="9.6" y="3.6" width="6.8" height="6.8" {paint}/>',
    '<path d="M13 2.6 L17.2 10.2 H8.8 Z" {paint}/>',
    '<path d="M13 2 L17 7 L13 12 L9 7 Z" {paint}/>',
    '<path d="M13 11.4 L17.2 3.8 H8.8 Z" {paint}/>',
    '<path d="M9 7 L11 3.5 H15 L17 7 L15 10.5 H11 Z" {paint}/>',
)
_SHADE: Final = "#2a788e"


def mark_svg(slot: int, style: Style = PLAIN, name: str = "", *, tint: str | None = None, stage: int | None = None,
             stages: Stages = ONE_BAND, line: bool = True) -> str:
    """A marker, and a short line through it, as they look in a chart; without a stage, as of what is settled."""
    tint, stage = tint or colour(slot, style, name), stages.final if stage is None else stage
    dash = ' stroke-dasharray="4 3"' if stage == OPEN else f' stroke-opacity="{stages.strength(stage):g}"'
    paint = f'fill="{tint}" fill-opacity="{stages.fullness(stage):g}" stroke="{tint}" stroke-width="1.5"'
    shape = _SHAPES[MARKERS.index(marker(slot))].format(paint=paint)
    stroke = f'<path d="M0 7 H26" stroke="{tint}" stroke-width="2"{dash}/>' if line else ""
    return f'<svg width="26" height="14" style="vertical-align:-2px">{stroke}{shape}</svg>'


def halo_svg(tint: str) -> str:
    return (f'<svg width="20" height="18" style="vertical-align:-4px"><circle cx="10" cy="9" r="8.5" fill="{tint}" '
            f'fill-opacity=".28"/><circle cx="10" cy="9" r="3.5" fill="{tint}"/></svg>')


def line_svg(tint: str, dashes: str = "none") -> str:
    """A line without markers."""
    return (f'<svg width="26" height="10"><path d="M0 5h26" stroke="{tint}" stroke-width="2" '
            f'stroke-dasharray="{dashes}"/></svg>')


def whisker_svg(tint: str) -> str:
    """From a dash, the early value, to a dot, what it became."""
    return (f'<svg width="14" height="16" style="vertical-align:-3px"><path d="M7 14 V4 M3 14 H11" stroke="{tint}" '
            f'stroke-width="1.4"/><circle cx="7" cy="4" r="3" fill="{tint}"/></svg>')


def interval_svg() -> str:
    """The ends between which a final value lies."""
    return (f'{_BOX}<path d="M2 6 H20 M2 2 V10 M20 2 V10" fill="none" stroke="{STRONG}" stroke-width="2"/></svg>')


def band_svg(tint: str) -> str:
    """The same along a line."""
    return (f'{_BOX}<path d="M0 1 L22 3.5 V8.5 L0 11 Z" fill="{tint}" fill-opacity=".18" stroke="{tint}" '
            f'stroke-opacity=".45"/><path d="M0 6 H22" stroke="{tint}" stroke-width="2" stroke-dasharray="4 3"/></svg>')


def box_svg(fullness: float, style: Style = PLAIN, *, halo: bool = False) -> str:
    """A piece of a bar, as it looks in the chart."""
    tint = colour(0, style)
    if halo:
        return (f'{_BOX}<rect x="2.5" y="2.5" width="17" height="7" fill="none" stroke="{tint}" stroke-opacity=".3" '
                f'stroke-width="5"/><rect x="2.5" y="2.5" width="17" height="7" fill="{tint}"/></svg>')
    hatch = "".join(f"M{x} 12 L{x + 12} 0 " for x in range(-10, 22, 6)) if fullness == 0 else ""
    return (f'{_BOX}<rect x=".7" y=".7" width="20.6" height="10.6" fill="{tint}" fill-opacity="{fullness:g}" '
            f'stroke="{tint}" stroke-width="1.4"/><path d="{hatch}" stroke="{tint}"/></svg>')


def cell_svg(stage: int, stages: Stages, *, changed: bool = False, revised: bool = False) -> str:
    """A cell of a heat map."""
    inside = ""
    if stage == OPEN:
        inside = f'<path d="{"".join(f"M{x} 12 L{x + 12} 0 " for x in range(-10, 22, 6))}" stroke="#fff"/>'
    elif stage != stages.final:
        across = (3, 5, 7)[stages.steps_to_final(stage)]
        inside = "".join(f'<circle cx="{22 * (at + 0.5) / across:.1f}" cy="{y}" r="{3.3 / across:.2f}" fill="#fff"/>'
                         for at in range(across) for y in ((3, 9) if across == 3 else (2, 6, 10)))
    if changed:
        inside += '<rect x="1.5" y="1.5" width="19" height="9" fill="none" stroke="#fff" stroke-width="1.5"/>'
    if revised:
        inside += '<path d="M11 2.5 L14.5 6 L11 9.5 L7.5 6 Z" fill="#fff"/>'
    return f'{_BOX}<rect width="22" height="12" fill="{_SHADE}"/>{inside}</svg>'


def shades_svg(palette: list[str]) -> str:
    """From few to many."""
    steps = "".join(f'<rect x="{6 * at}" width="6" height="10" fill="{palette[at * (len(palette) - 1) // 5]}"/>'
                    for at in range(6))
    return f'<svg width="36" height="10" style="vertical-align:-1px">{steps}</svg>'
