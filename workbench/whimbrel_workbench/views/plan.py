"""Draw the plan: one line per operator, with counters."""

from __future__ import annotations

from html import escape
from typing import Final

import panel as pn

from whimbrel_workbench.frames.format_numbers import rate_words
from whimbrel_workbench.frames.plan import PlanFrame, PlanStep
from whimbrel_workbench.views.chart import page_html
from whimbrel_workbench.views.palette import COLOURS, CSS

_LANE_PX: Final = 18
_CODE: Final = "font-family:var(--jp-code-font-family,ui-monospace,monospace)"

PLAN_CSS: Final = CSS + f"""
.scroll {{ overflow-x: auto; }}
table.plan {{ border-collapse: collapse; width: 100%; min-width: 640px; font: inherit; color: inherit;
  font-variant-numeric: tabular-nums; table-layout: auto; }}
.plan tr {{ background: none !important; }}
.plan th {{ text-align: right; font-weight: 600; padding: 2px 0 4px 14px; white-space: nowrap; }}
.plan td {{ text-align: right; padding: 0 0 0 14px; white-space: nowrap; height: 34px; }}
.plan th.step, .plan td.step {{ text-align: left; white-space: normal; min-width: 180px; padding-left: 6px; }}
.plan td.step {{ {_CODE}; font-size: 12px; line-height: 1.3; padding-top: 4px; padding-bottom: 4px;
  overflow-wrap: anywhere; }}
.plan td.graph {{ position: relative; padding: 0; }}
.plan td.graph svg {{ position: absolute; inset: 0 auto 0 0; height: 100%; }}
.plan td.graph i {{ position: absolute; top: 50%; width: 10px; height: 10px; margin: -5px 0 0 -5px; border-radius: 5px;
  background: {COLOURS[0]}; }}
.plan td.graph i.source {{ border-radius: 2px; }}
.plan td.spent {{ width: 24%; min-width: 150px; text-align: left; }}
.plan .track {{ display: inline-block; width: calc(100% - 120px); min-width: 24px; height: 8px; border-radius: 2px;
  background: #8f8f8f30; vertical-align: 1px; }}
.plan .bar {{ display: block; height: 100%; border-radius: 2px; background: {COLOURS[0]}; }}
.plan .took {{ display: inline-block; width: 108px; margin-left: 8px; }}
"""

KERNEL_CSS: Final = CSS + f"""
details {{ margin: 4px 0; }}
summary {{ cursor: pointer; {_CODE}; font-size: 12px; overflow-wrap: anywhere; }}
summary:focus-visible {{ outline: 2px solid {COLOURS[0]}; }}
pre {{ {_CODE}; font-size: 12px; line-height: 1.4; margin: 4px 0 10px 14px; padding: 8px 12px; overflow-x: auto;
  border-left: 2px solid {COLOURS[0]}; background: #8f8f8f14; }}
"""


class PlanView:
    """Draws :class:`~whimbrel_workbench.frames.plan.PlanFrame`: a table that moves, and texts that stay open."""

    def __init__(self) -> None:
        self._graph = page_html("", PLAN_CSS)
        self._kernels = page_html("", KERNEL_CSS)
        self.panel = pn.Column(self._graph, self._kernels, sizing_mode="stretch_width", margin=(4, 0))

    def draw(self, plan: PlanFrame) -> None:
        """Show the plan as it is now."""
        self._graph.object = plan_html(plan)
        texts = kernels_html(plan)
        if self._kernels.object != texts:  # a text that somebody has unfolded stays unfolded
            self._kernels.object = texts


class PlanTable:
    """A plan as it was at one moment, for a cell of a notebook and for a terminal."""

    def __init__(self, plan: PlanFrame) -> None:
        self.steps = plan.steps
        self.kernels = dict(plan.kernels)
        self._plan = plan

    def __repr__(self) -> str:
        rows = [("operator", "rows in", "rows out", "buffered", "time"),
                *((step.name, f"{step.rows_in:,}", f"{step.rows_out:,}", f"{step.held:,}", _seconds(step.seconds))
                  for step in self.steps)]
        wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join("  ".join(cell.rjust(width) if at else cell.ljust(width)
                                   for at, (cell, width) in enumerate(zip(row, wide, strict=True))) for row in rows)

    def _repr_html_(self) -> str:
        css = (PLAN_CSS + KERNEL_CSS).replace(":host", ".whimbrel-plan")
        scoped = f"<style>@scope (.whimbrel-plan) {{ {css} }}</style>"
        return f'<div class="whimbrel-plan">{scoped}{plan_html(self._plan)}{kernels_html(self._plan)}</div>'


def plan_html(plan: PlanFrame) -> str:
    """The graph as a table, without a script."""
    if not plan.steps:
        return '<div class="quiet">The plan appears when the query runs.</div>'
    wide = _LANE_PX * plan.lanes
    heads = "".join(f"<th>{name}</th>" for name in ("rows in", "rows out", "rows/s", "buffered"))
    body = "".join(_line(step, plan, wide) for step in plan.steps)
    words = f"Operators worked {plan.busy:.0%} of the time. Rows flow down. Times are those of each operator alone."
    return (f'<div class="scroll"><table class="plan" aria-label="plan"><thead><tr><th style="width:{wide}px"></th>'
            f'<th class="step">operator</th>{heads}<th style="text-align:left">time</th></tr></thead>'
            f'<tbody>{body}</tbody></table></div><div class="quiet" style="margin-top:4px">{words}</div>')


def kernels_html(plan: PlanFrame) -> str:
    """The generated code of each operator, below its name."""
    if not plan.kernels:
        return ""
    texts = "".join(f"<details><summary>{escape(name)}</summary><pre>{escape(text.strip())}</pre></details>"
                    for name, text in plan.kernels)
    return f'<div class="quiet" style="margin-top:6px">Generated code, by operator:</div>{texts}'


def _line(step: PlanStep, plan: PlanFrame, wide: int) -> str:
    kind = "" if step.slot.above else ' class="source"'
    dot = f'<i{kind} style="left:{_middle(step.slot.lane)}px"></i>'
    counts = "".join(f"<td>{cell}</td>" for cell in (
        f"{step.rows_in:,}", f"{step.rows_out:,}", rate_words(step.rows_per_s).removesuffix(" rows/s"),
        f"{step.held:,}"))
    spent = (f'<span class="track"><span class="bar" style="width:{100 * step.fraction:.1f}%"></span></span>'
             f'<span class="took">{_seconds(step.seconds)} · {step.fraction:.0%}</span>')
    return (f'<tr><td class="graph" style="min-width:{wide}px">{_lines(step, wide)}{dot}</td>'
            f'<td class="step">{escape(step.name)}</td>{counts}<td class="spent">{spent}</td></tr>')


def _lines(step: PlanStep, wide: int) -> str:
    """The lanes of one line, as high as the line turns out to be."""
    here = _middle(step.slot.lane)
    paths = [f"M{_middle(lane)} 0 V100" for lane in step.slot.passing]
    # A line that continues below this one and also ends here branches off in the upper half.
    paths += [f"M{_middle(lane)} 0 C{_middle(lane)} 40 {here} 10 {here} 50" for lane in step.slot.above]
    paths += [f"M{here} 50 V100"] if step.slot.below else []
    drawn = "".join(f'<path d="{path}" vector-effect="non-scaling-stroke"/>' for path in paths)
    return (f'<svg width="{wide}" viewBox="0 0 {wide} 100" preserveAspectRatio="none" fill="none" '
            f'stroke="{COLOURS[0]}" stroke-width="1.6" aria-hidden="true">{drawn}</svg>')


def _middle(lane: int) -> int:
    return _LANE_PX * lane + _LANE_PX // 2


def _seconds(seconds: float) -> str:
    """A time with about three digits."""
    if seconds < 1:
        return f"{1e3 * seconds:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 100 else f"{seconds:,.0f} s"
