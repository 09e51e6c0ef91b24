"""The newest rows as a table: settled upright, provisional italic with a hollow mark."""

from __future__ import annotations

from html import escape
from typing import Final

import panel as pn

from whimbrel_workbench.frames import Rows
from whimbrel_workbench.views.chart import page_html
from whimbrel_workbench.views.palette import CSS

_TABLE_CSS: Final = CSS + """
.scroll { overflow-x: auto; scrollbar-width: thin; container-type: inline-size; }
@container (max-width: 480px) { td.state span { display: none } }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 3px 12px 3px 0; white-space: nowrap; border-bottom: 1px solid #8f8f8f2b; }
th { font-weight: 600; border-bottom-color: #8f8f8f80; }
th.number, td.number { text-align: right; }
tr.open td { font-style: italic; }
td.state { color: var(--jp-ui-font-color2, #767676); font-size: 12px; }
"""


class RowsView:
    """Draws :class:`~whimbrel_workbench.frames.Rows` as one piece of HTML."""

    def __init__(self, picture: Rows) -> None:
        self._panel = page_html(table_html(picture), _TABLE_CSS)

    @property
    def panel(self) -> pn.viewable.Viewable:
        return self._panel

    def draw(self, picture: Rows) -> None:
        self._panel.object = table_html(picture)


def table_html(picture: Rows) -> str:
    kinds = ['class="number"' if numeric else "" for numeric in picture.numeric]
    head = "".join(f"<th {kind}>{escape(name)}</th>" for name, kind in zip(picture.names, kinds, strict=True))
    body = []
    for cells, settled in zip(picture.cells, picture.settled, strict=True):
        row = "".join(f"<td {kind}>{escape(cell)}</td>" for cell, kind in zip(cells, kinds, strict=True))
        state = "● <span>settled</span>" if settled else "○ <span>may change</span>"
        body.append(f'<tr class="{"settled" if settled else "open"}"><td class="state">{state}</td>{row}</tr>')
    shown = f"Newest {len(picture.cells):,} of {picture.rows:,} rows; {picture.settled_rows:,} are settled."
    if "end" not in picture.names:
        shown += " Each is a point in time."
    table = f'<table><thead><tr><th></th>{head}</tr></thead><tbody>{"".join(body)}</tbody></table>'
    return f'<div class="scroll">{table}</div><div class="quiet" style="margin-top:6px">{shown}</div>'
