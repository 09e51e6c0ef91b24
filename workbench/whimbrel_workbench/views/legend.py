"""The legend: keys, and the meaning of marks."""

from __future__ import annotations

from html import escape
from math import isnan
from typing import Final

from whimbrel_workbench.frames import (
    PLAIN,
    Bars,
    Heat,
    Lines,
    Picture,
    Scatter,
    ScopeFrame,
    Spectrogram,
    Stages,
    Style,
    TriggerFrame,
)
from whimbrel_workbench.frames.finality import OPEN
from whimbrel_workbench.views.color_scales import counts_palette
from whimbrel_workbench.views.legend_marks import (
    band_svg,
    box_svg,
    cell_svg,
    halo_svg,
    interval_svg,
    line_svg,
    mark_svg,
    shades_svg,
    whisker_svg,
)
from whimbrel_workbench.views.palette import GRID, STRONG
from whimbrel_workbench.views.scatter import MAX_POINTS
from whimbrel_workbench.views.trigger import NEWEST

_WORD: Final = "display:inline-flex;align-items:center;gap:5px;max-width:100%"
_SIGN: Final = '<span style="display:inline-flex;flex:none">'
_KEY: Final = "white-space:nowrap;overflow:hidden;text-overflow:ellipsis"
_ROW: Final = "display:flex;flex-wrap:wrap;gap:2px 14px"
_CHANGED: Final = "just changed"
_REVISED: Final = "revision, from the early value"
_INTERVAL: Final = "confidence interval"
_PLAIN: Final = "#808080"
_LIGHTER: Final = ("lighter", "lighter still", "lightest")
_DOTTED: Final = ("dotted", "dotted closer", "dotted closest")


def legend_html(picture: Picture, style: Style = PLAIN) -> str:
    """Keys on the left, the meaning of marks on the right; nothing for what explains itself."""
    match picture:
        case _ if style.show_legend is False:
            return ""
        case Lines():
            keys = [(mark_svg(line.slot, style, line.label), line.label) for line in picture if line.label]
            signs = [(mark_svg(0, tint=_PLAIN, stage=stage, stages=picture.stages), said)
                     for stage, said in _stages(picture.stages, "solid, filled", _LIGHTER, "dashed, hollow")]
            revised = _banded(picture.stages) or any(len(line.revised) for line in picture)
            signs += [(whisker_svg(_PLAIN), _REVISED)] * revised
            signs += [(band_svg(_PLAIN), _INTERVAL)] * picture.estimated
            signs.append((halo_svg(_PLAIN), f"halo: {_CHANGED}"))
        case Bars():
            keys = []
            signs = [(box_svg(picture.stages.fullness(stage), style), said)
                     for stage, said in _stages(picture.stages, "filled", _LIGHTER, "hatched")]
            revised = _banded(picture.stages) or any(not isnan(bar.before) for bar in picture.bars)
            signs += [(whisker_svg(_PLAIN), _REVISED)] * revised
            signs += [(interval_svg(), _INTERVAL)] * picture.estimated
            signs.append((box_svg(0, style, halo=True), f"wide edge: {_CHANGED}"))
        case Heat():
            keys = []
            signs = [(cell_svg(stage, picture.stages), said)
                     for stage, said in _stages(picture.stages, "plain", _DOTTED, "hatched")]
            final = picture.stages.final
            signs += [(cell_svg(final, picture.stages, revised=True), "revised")] * _banded(picture.stages)
            signs.append((cell_svg(final, picture.stages, changed=True), f"framed: {_CHANGED}"))
        case Scatter():
            keys = [(mark_svg(place, style, name, line=False), name)
                    for place, name in zip(picture.slots, picture.names, strict=True)]
            keys += [(mark_svg(0, tint=GRID, line=False), "others")] if picture.others else []
            counted = picture.dense or picture.rows > MAX_POINTS
            signs = [(shades_svg(counts_palette(style)), "lighter: more points")] * counted
            signs += [(mark_svg(0, tint=_PLAIN, line=False), "filled: settled"),
                      (mark_svg(0, tint=_PLAIN, stage=OPEN, line=False), "hollow: provisional")]
        case ScopeFrame():
            keys = []
            signs = [(box_svg(1.0, style), "filled: settled"), (box_svg(0.0, style), "hatched, dashed: provisional")]
            signs += [(box_svg(1.0, Style(color=STRONG)), "event")] * (picture.marks is not None)
            signs.append((box_svg(0.15, Style(color=_PLAIN)), "grey ground: new"))
        case TriggerFrame():
            keys = []
            signs = [(shades_svg(counts_palette(style)), "lighter: more windows"),
                     (line_svg(NEWEST), "solid: newest window"), (line_svg(NEWEST, "4 3"), "dashed: provisional"),
                     (halo_svg(NEWEST), f"wide: {_CHANGED}")]
        case Spectrogram():
            keys = []
            signs = [(shades_svg(counts_palette(style)), "lighter: louder"), (box_svg(0.0, Style(color=_PLAIN)),
                                                                         "hatched: provisional")]
        case _:
            return ""
    named = "".join(f'<span style="{_WORD}" title="{name}">{_SIGN}{sign}</span>'
                    f'<span style="{_KEY}">{name}</span></span>'
                    for sign, name in ((sign, escape(key)) for sign, key in keys))
    meant = "".join(f'<span style="{_WORD}">{_SIGN}{sign}</span> {escape(said)}</span>' for sign, said in signs)
    return (f'<div style="{_ROW};padding:6px 0 4px">{named}'
            f'<span class="quiet" style="{_ROW};margin-left:auto">{meant}</span></div>')


def _stages(stages: Stages, final: str, early: tuple[str, str, str], is_open: str) -> list[tuple[int, str]]:
    """Every stage, the final one first, with how it looks and what it is."""
    looks = [is_open, *(early[stages.steps_to_final(stage)] for stage in range(OPEN + 1, stages.final)), final]
    return [(stage, f"{looks[stage]}: {stages.label(stage)}") for stage in range(stages.final, -1, -1)]


def _banded(stages: Stages) -> bool:
    return stages.final > 1
