"""Draw a table: provisional rows are italic with a hollow mark."""

from __future__ import annotations

from html import escape
from typing import Final

import panel as pn

from whimbrel_workbench.frames import Stages, TableFrame, TableRow
from whimbrel_workbench.frames.finality import OPEN
from whimbrel_workbench.views.chart import page_html
from whimbrel_workbench.views.contract import Host
from whimbrel_workbench.views.palette import CSS
from whimbrel_workbench.views.selection import TABLE_CLICK, Selection

TABLE_CSS: Final = """
.scroll { overflow-x: auto; scrollbar-width: thin; container-type: inline-size; }
/* The right edge fades while more columns are hidden there. */
.scroll { animation: more linear; animation-timeline: scroll(self inline); }
@keyframes more { 0%, 90% { mask-image: linear-gradient(to left, #0000, #000 48px) } 100% { mask-image: none } }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 3px 12px 3px 0; white-space: nowrap; border-bottom: 1px solid #8f8f8f2b; }
th { font-weight: 600; border-bottom-color: #8f8f8f80; }
th.number, td.number { text-align: right; }
tr.open td { font-style: italic; }
tr.early td { opacity: .78; }
td.state { color: var(--jp-ui-font-color2, #767676); font-size: 12px; opacity: 1 !important; }
td.changed, tr.fresh td.state { box-shadow: inset 0 0 0 100px #0072B226, inset 0 -2px 0 #0072B2; }
s { opacity: .65; margin-right: 6px; }
tr[data-mark] { cursor: pointer; }
tr[data-mark]:hover td { background: #8f8f8f1c; }
@container (max-width: 480px) {
  td.state span, .end { display: none }
  th, td { padding-right: 8px }
  td:not(.number, .state) { white-space: normal; overflow-wrap: anywhere; min-width: 7em }
}
button { font: inherit; color: inherit; background: none; border: 0; padding: 0 4px 0 0; cursor: pointer; }
button:focus-visible { outline: 2px solid #0072B2; outline-offset: 1px; border-radius: 2px; }
"""


class RowsView:
    """Draws :class:`~whimbrel_workbench.frames.TableFrame` as one piece of HTML."""

    def __init__(self, picture: TableFrame, host: Host) -> None:
        self._picked = host.pick is not None
        self._table = page_html("", CSS + TABLE_CSS)
        self._panel = pn.Column(self._table, Selection(host).panel, sizing_mode="stretch_width", margin=0)
        self.draw(picture)

    @property
    def panel(self) -> pn.viewable.Viewable:
        return self._panel

    def draw(self, picture: TableFrame) -> None:
        self._table.object = table_html(picture, picked=self._picked)


def mark_of(stage: int, stages: Stages) -> str:
    """A filled, half or hollow mark, and what it means."""
    early = "◕◐◔"[stages.steps_to_final(stage)] if stages.final > 2 else "◐"
    sign = "●" if stage == stages.final else "○" if stage == OPEN else early
    return f"{sign} <span>{escape(stages.label(stage))}</span>"


def table_html(picture: TableFrame, *, picked: bool = False) -> str:
    """The table; one that can be picked from has a button for each row."""
    # On a narrow page values go before the ends of windows.
    kinds = [f"{'number' if numeric else ''} {'end' if name == 'end' else ''}".strip()
             for name, numeric in zip(picture.names, picture.numeric, strict=True)]
    head = "".join(f'<th class="{kind}">{escape(name)}</th>' for name, kind in zip(picture.names, kinds, strict=True))
    body = "".join(_row_html(row, kinds, picture.stages, picked=picked) for row in picture.table)
    shown = f"Newest {len(picture.table):,} of {picture.rows:,} rows, {picture.settled_rows:,} settled."
    if "end" not in picture.names:
        shown += " All are point events."
    if any(any(row.before) for row in picture.table):
        shown += " Struck out: the early value."
    if any(row.changed or row.fresh for row in picture.table):
        shown += " Underlined: just changed."
    click = f' onclick="{escape(TABLE_CLICK)}"' if picked else ""
    table = f"<table{click}><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="scroll">{table}</div><div class="quiet" style="margin-top:6px">{shown}</div>'


def _row_html(row: TableRow, kinds: list[str], stages: Stages, *, picked: bool) -> str:
    state = "settled" if row.stage == stages.final else "open" if row.stage == OPEN else "early"
    cells = "".join(
        f'<td class="{kind}{" changed" if place in row.changed else ""}">'
        f'{f"<s>{escape(row.before[place])}</s>" if row.before[place] else ""}{escape(cell)}</td>'
        for place, (cell, kind) in enumerate(zip(row.cells, kinds, strict=True)))
    fresh = " fresh" if row.fresh else ""
    first = mark_of(row.stage, stages)
    if picked:
        first = f'<button aria-label="Source events of {escape(", ".join(row.cells))}">{first}</button>'
    mark = f' data-mark="{escape(row.mark)}"' if picked else ""
    return f'<tr class="{state}{fresh}"{mark}><td class="state">{first}</td>{cells}</tr>'
