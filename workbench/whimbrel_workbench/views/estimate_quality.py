"""Draw the error bound of an estimate, and what was pinned."""

from __future__ import annotations

from html import escape
from math import isnan, log
from typing import Final

from whimbrel_workbench.frames import PinnedClaim, Quality
from whimbrel_workbench.frames.estimate_quality import Bound, fraction_at
from whimbrel_workbench.frames.format_numbers import format_fraction
from whimbrel_workbench.views.palette import COLOURS, CSS, GRID, INK

QUALITY_CSS: Final = CSS + """
.quality .quiet { font-variant-numeric: tabular-nums; }
"""

PINNED_CSS: Final = CSS + """
ul { list-style: none; margin: 4px 0; padding: 0; }
li { display: flex; flex-wrap: wrap; gap: 0 10px; padding: 3px 8px; border-left: 3px solid #8f8f8f80; margin: 3px 0; }
li.holds { border-left: 3px double #009E73; }
li.overturned { border-left: 6px solid #D55E00; background: #D55E0014; }
li b { min-width: 96px; font-weight: 600; }
"""

# A saved notebook has no style sheet.
_ROW: Final = "display:flex;flex-wrap:wrap;align-items:center;gap:2px 16px;padding:2px 0 4px"
_BOUND: Final = "font-size:15px;font-weight:600;font-variant-numeric:tabular-nums"
_WIDTH: Final = 150
_HEIGHT: Final = 34
_LEFT, _RIGHT, _TOP, _BOTTOM = 2.0, 34.0, 4.0, 4.0
_ABOVE_ZERO: Final = 6.0
"""The curve is logarithmic; zero lies so far below the smallest bound that was."""
_VERDICTS: Final = {"open": "○ not exact yet", "holds": "● confirmed", "overturned": "⚑ proved wrong",
                    "exact": "● exact"}


def quality_html(quality: Quality) -> str:
    """The error bound with its history and notes."""
    curve = ""
    if quality.ends == "both" and not quality.why:
        curve = sparkline_svg(quality.history, quality.goal, projected=bool(quality.outlook),
                              final=quality.final)
    outlook = f'<span class="quiet">{escape(quality.outlook)}</span>' if quality.outlook else ""
    return (f'<div class="quality" style="{_ROW}" role="status" aria-label="Error of {escape(quality.value)}">'
            f'<span><span class="quiet">{escape(quality.value)}</span> '
            f'<span class="bound" style="{_BOUND}">{escape(quality.headline)}</span></span>{curve}{outlook}</div>'
            f'<div class="quiet">{escape("; ".join(quality.notes))}</div>')


def pinned_html(pinned: tuple[PinnedClaim, ...]) -> str:
    """What was pinned, and what became of it."""
    rows = "".join(f'<li class="{each.verdict}"><b>{_VERDICTS[each.verdict]}</b><span>{escape(each.summary)}</span>'
                   f'<span class="quiet">now: {escape(each.now)}</span></li>' for each in pinned)
    return f'<ul aria-label="Pinned">{rows}</ul>' if rows else ""


def sparkline_svg(history: tuple[Bound, ...], goal: float, *, projected: bool = True, final: bool = False) -> str:
    """The error bound over the time of reading, with a dotted projection to the goal.

    That of the exact answer ends at zero.
    """
    known = [each for each in history if not isnan(each.within) and each.within > 0]
    if len(known) < 2:
        return ""
    now = known[-1]
    ahead = fraction_at(now, goal) if projected and not final else 0.0
    began, spent = known[0].seconds, now.seconds - known[0].seconds
    moved = now.fraction_read - known[0].fraction_read
    ahead_s = spent * (ahead - now.fraction_read) / moved if ahead and moved else 0.0
    until = max(history[-1].seconds, now.seconds) if final else now.seconds + min(ahead_s, 2 * spent)
    top, low = max(each.within for each in known), min(each.within for each in known)
    low, bottom = (low, _BOTTOM + _ABOVE_ZERO) if final else (min(goal, low), _BOTTOM)

    def x(seconds: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * ((seconds - began) / (until - began) if until > began else 1.0)

    def y(within: float) -> float:
        return _TOP + (_HEIGHT - _TOP - bottom) * (log(top / within) / log(top / low) if top > low else 0.5)

    line = "L".join(f"{x(each.seconds):.1f} {y(each.within):.1f}" for each in known)
    dotted, end_px, along_px = "", y(now.within), x(until if final else now.seconds)
    aim_px, aim, fell_to = y(goal), format_fraction(goal), now.within
    if final:
        end_px = aim_px = _HEIGHT - _BOTTOM
        line, aim, fell_to = f"{line}L{x(until):.1f} {end_px:.1f}", "0", 0.0
    elif until > now.seconds:
        dotted = (f'<path d="M{x(now.seconds):.1f} {y(now.within):.1f} L{x(until):.1f} {y(goal):.1f}" fill="none" '
                  f'stroke="{COLOURS[0]}" stroke-width="1.4" stroke-dasharray="1.5 3"/>')
    return (f'<svg role="img" aria-label="The error bound fell from {format_fraction(known[0].within)} to '
            f'{format_fraction(fell_to)}" width="{_WIDTH}" height="{_HEIGHT}">'
            f'<path d="M{_LEFT} {aim_px:.1f} H{_WIDTH - _RIGHT}" stroke="{GRID}" stroke-dasharray="3 3"/>'
            f'<text x="{_WIDTH - _RIGHT + 4}" y="{aim_px + 3.5:.1f}" font-size="11" fill="{INK}">'
            f'{aim}</text>'
            f'<path d="M{line}" fill="none" stroke="{COLOURS[0]}" stroke-width="1.8" stroke-linejoin="round"/>{dotted}'
            f'<circle cx="{along_px:.1f}" cy="{end_px:.1f}" r="3" fill="{COLOURS[0]}"/></svg>')
