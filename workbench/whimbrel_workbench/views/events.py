"""Draw source events as tables, with their operators."""

from __future__ import annotations

from html import escape
from typing import Final

from whimbrel_workbench.frames.events import LineageEvents, OriginRows
from whimbrel_workbench.views.chart import page_html
from whimbrel_workbench.views.error_card import failure_html
from whimbrel_workbench.views.palette import COLOURS, CSS

EVENTS_CSS: Final = CSS + f"""
.row b {{ font-weight: 600; }}
.row span {{ white-space: nowrap; margin-right: 14px; font-variant-numeric: tabular-nums; }}
.row i {{ font-style: normal; color: var(--jp-ui-font-color2, #767676); }}
.path {{ font: 12px/1.9 var(--jp-code-font-family, ui-monospace, monospace); overflow-wrap: anywhere; margin: 4px 0; }}
.path span {{ padding: 1px 6px; border-radius: 3px; background: #8f8f8f24; }}
.again {{ margin: 6px 0; font-weight: 600; }}
.scroll {{ max-height: 300px; overflow: auto; scrollbar-width: thin; border: 1px solid #8f8f8f48; border-radius: 4px; }}
.scroll:focus-visible {{ outline: 2px solid {COLOURS[0]}; }}
table {{ border-collapse: collapse; width: 100%; font-size: 12px; font-variant-numeric: tabular-nums; }}
th, td {{ text-align: left; padding: 2px 12px; white-space: nowrap; border-bottom: 1px solid #8f8f8f2b; }}
th {{ position: sticky; top: 0; font-weight: 600; background: var(--jp-layout-color0, var(--card, #fff)); }}
th.number, td.number {{ text-align: right; }}
"""


class EventsView:
    """Draws :class:`~whimbrel_workbench.frames.events.LineageEvents`."""

    def __init__(self) -> None:
        self.panel = page_html(events_html(LineageEvents("nothing")), EVENTS_CSS)

    def draw(self, events: LineageEvents) -> None:
        """Show what is known now."""
        self.panel.object = events_html(events)


def events_html(events: LineageEvents) -> str:
    """What is known, as one piece of HTML."""
    if events.state == "nothing":
        return '<div class="quiet">Click a mark in the chart, or choose a row here.</div>'
    facts = " ".join(f"<span><i>{escape(name)}</i> {escape(words)}</span>" for name, words in events.row)
    head = f'<div class="row" role="status"><b>Source events of</b> {facts}</div>'
    match events.state:
        case "looking":
            return f'{head}<div class="quiet">Reading the sources again ...</div>'
        case "failed" if events.failure is not None:
            return head + failure_html(events.failure)
    sign = {True: "✓ ", False: "≠ ", None: ""}[events.same]
    paths = "".join(f'<div class="path">{" → ".join(f"<span>{escape(step)}</span>" for step in path)}</div>'
                    for path in events.paths)
    tables = "".join(_table(origin) for origin in events.origins)
    return f'{head}<div class="again">{sign}{escape(events.again)}</div>{paths}{tables}'


def _table(origin: OriginRows) -> str:
    many = f"{origin.rows:,} event{'s' * (origin.rows != 1)} of {escape(origin.source)}"
    if not origin.rows:
        return f'<div class="quiet">{many}</div>'
    shown = f"{many}, the newest {len(origin.table):,} of them:" if origin.rows > len(origin.table) else f"{many}:"
    kinds = ["number" if numeric else "" for numeric in origin.numeric]
    head = "".join(f'<th class="{kind}">{escape(name)}</th>' for name, kind in zip(origin.names, kinds, strict=True))
    body = "".join("<tr>" + "".join(f'<td class="{kind}">{escape(cell)}</td>' for cell, kind in
                                    zip(row, kinds, strict=True)) + "</tr>" for row in origin.table)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return (f'<div class="quiet" style="margin-top:6px">{shown}</div>'
            f'<div class="scroll" tabindex="0" role="region" aria-label="{many}">{table}</div>')
