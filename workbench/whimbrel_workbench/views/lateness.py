"""Draw a histogram of lateness with the cost of each latency."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from whimbrel_workbench.frames.lateness import LateStep, SourceLateness
from whimbrel_workbench.views.chart import page_html
from whimbrel_workbench.views.palette import COLOURS, CSS

LATENESS_CSS: Final = CSS + f"""
.scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; width: 100%; min-width: 520px; font: inherit; color: inherit;
  font-variant-numeric: tabular-nums; }}
th, td {{ text-align: right; padding: 2px 0 2px 14px; white-space: nowrap; }}
th {{ font-weight: 600; border-bottom: 1px solid #8f8f8f80; }}
th:first-child, td:first-child {{ padding-left: 0; text-align: left; }}
td.rows {{ width: 34%; min-width: 140px; }}
.bar {{ display: block; height: 12px; border-radius: 2px; background: {COLOURS[0]}; min-width: 1px; }}
tr.asked td {{ font-weight: 600; background: #0072B21f; }}
.say {{ margin: 6px 0; }}
"""


class LatenessView:
    """Draws :class:`~whimbrel_workbench.frames.lateness.SourceLateness` of each source."""

    def __init__(self) -> None:
        self.panel = page_html("", LATENESS_CSS)

    def draw(self, sources: Sequence[SourceLateness], asked: Sequence[int], note: str = "") -> None:
        """Show what is known; ``asked`` are the latencies at which the query is asked."""
        self.panel.object = lateness_html(sources, asked, note)


def lateness_html(sources: Sequence[SourceLateness], asked: Sequence[int], note: str = "") -> str:
    """The tables, without a script."""
    said = f'<div class="quiet" role="status">{escape(note)}</div>' if note else ""
    return "".join(_table(source, asked) for source in sources) + said


def sentence(step: LateStep) -> str:
    """What waiting so long costs.

    >>> sentence(LateStep(5, "5s", 9, 0.9, 4, 0.004, "3 of 93 (3.2%)"))
    'At a reorder latency of 5s, 0.4% of the events are late, and 3 of 93 (3.2%) results change.'
    """
    changed = f", and {step.changed} results change" if step.changed and step.changed != "none" else (
        ", and no result changes" if step.changed else "")
    return f"At a reorder latency of {step.label}, {_share(step.fraction_lost)} of the events are late{changed}."


def _table(source: SourceLateness, asked: Sequence[int]) -> str:
    maximum = max((step.rows for step in source.steps), default=0) or 1
    body = "".join(_row(step, maximum, asked=step.ticks in asked) for step in source.steps)
    late = source.rows - source.steps[0].rows
    head = (f"{escape(source.source)}: {late:,} of {source.rows:,} events arrived out of order "
            f"({escape(source.of)}).")
    telling = next((step for step in source.steps if step.ticks in asked), None) or next(
        (step for step in source.steps if step.fraction_lost < 0.01), source.steps[-1])
    heads = ("lateness up to", "", "events", "late at this latency", "fraction", "changed results")
    titles = "".join(f"<th>{each}</th>" for each in heads)
    return (f'<div class="quiet">{head}</div><div class="scroll"><table aria-label="lateness"><thead><tr>{titles}'
            f'</tr></thead><tbody>{body}</tbody></table></div><div class="say">{escape(sentence(telling))}</div>')


def _row(step: LateStep, maximum: int, *, asked: bool) -> str:
    bar = f'<span class="bar" style="width:{100 * step.rows / maximum:.1f}%"></span>' if step.rows else ""
    first = "in order" if not step.ticks else escape(step.label)
    sign = ' class="asked" aria-current="true"' if asked else ""
    return (f'<tr{sign}><td>{"▸ " if asked else ""}{first}</td><td class="rows">{bar}</td><td>{step.rows:,}</td>'
            f"<td>{step.lost:,}</td><td>{_share(step.fraction_lost)}</td><td>{escape(step.changed) or '·'}</td></tr>")


def _share(share: float) -> str:
    """A share that is never rounded to nothing.

    >>> _share(0.0), _share(0.004), _share(0.00001)
    ('0%', '0.4%', 'under 0.01%')
    """
    return "0%" if not share else "under 0.01%" if share < 0.0001 else f"{100 * share:.2g}%"
