"""Draw a desk: a line for each query, and rows of one."""

from __future__ import annotations

import json
from collections.abc import Callable
from html import escape
from typing import Final

import panel as pn

import whimbrel
from whimbrel_workbench.frames.desk import DeskFrame, QueryLine, QueryRows
from whimbrel_workbench.frames.mark import Mark
from whimbrel_workbench.frames.status import SIGNS
from whimbrel_workbench.html_pane import LAST_CSS
from whimbrel_workbench.views.chart import page_html
from whimbrel_workbench.views.contract import Host
from whimbrel_workbench.views.palette import COLOURS, CSS
from whimbrel_workbench.views.selection import TABLE_CLICK, Selection

_QUIET: Final = "var(--jp-ui-font-color2, #767676)"

DESK_CSS: Final = f"""
.desk {{ container-type: inline-size; font-variant-numeric: tabular-nums; }}
.desk .top {{ display: flex; flex-wrap: wrap; gap: 2px 18px; align-items: baseline; margin-bottom: 8px;
  font-size: 12px; }}
.desk .top b {{ font-size: 13px; font-weight: 600; min-width: 84px; }}
.desk .top i, .desk .under i {{ font-style: normal; color: {_QUIET}; }}
.desk table {{ border-collapse: collapse; width: 100%; font: inherit; color: inherit; }}
.desk tr {{ background: none !important; }}
.desk th {{ font-weight: 600; text-align: left; white-space: nowrap; padding: 3px 14px 3px 0;
  border-bottom: 1px solid #8f8f8f80; }}
.desk td {{ text-align: left; white-space: nowrap; padding: 5px 14px 5px 0; vertical-align: top;
  border-bottom: 1px solid #8f8f8f2b; }}
.desk tr.over td {{ border-bottom: 0; padding-bottom: 0; }}
.desk th.number, .desk td.number {{ text-align: right; }}
.desk th.fold, .desk td.fold {{ padding-right: 24px; }}
.desk tr[data-mark] {{ cursor: pointer; }}
.desk tr[data-mark]:hover td {{ background: #8f8f8f1c; }}
.desk tr.chosen td, .desk tr.chosen + tr.under td {{ background: {COLOURS[0]}1a; }}
.desk tr.chosen td:first-child {{ box-shadow: inset 3px 0 0 {COLOURS[0]}; }}
.desk td:first-child, .desk th:first-child {{ padding-left: 10px; }}
.desk td.name {{ font-weight: 600; white-space: normal; overflow-wrap: anywhere; min-width: 8em; }}
.desk .sign {{ display: inline-block; width: 20px; font-weight: 400; }}
.desk .link {{ display: inline-block; color: {_QUIET}; }}
.desk .link.query {{ color: inherit; border-bottom: 1px dotted currentColor; }}
.desk .track {{ display: inline-block; width: 72px; height: 7px; border-radius: 2px; background: #8f8f8f30;
  overflow: hidden; margin-right: 8px; }}
.desk .bar {{ display: block; height: 100%; border-radius: 2px; background: {COLOURS[0]};
  transition: width .25s linear; }}
.desk .bar.full {{ background: {COLOURS[5]}; }}
.desk .took {{ display: inline-block; min-width: 58px; }}
.desk tr.under td {{ white-space: normal; overflow-wrap: anywhere; font-size: 12px; padding: 1px 14px 6px 30px;
  color: {_QUIET}; }}
.desk .error {{ color: var(--jp-ui-font-color1, #333); border-left: 3px solid {COLOURS[5]}; padding-left: 8px; }}
.desk button {{ font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer;
  text-align: left; }}
.desk button:focus-visible {{ outline: 2px solid {COLOURS[0]}; outline-offset: 1px; border-radius: 2px; }}
@container (max-width: 760px) {{ .desk .wide {{ display: none; }} }}
@container (max-width: 520px) {{
  .desk .middle {{ display: none; }}
  .desk .track {{ display: none; }}
  .desk td, .desk th {{ padding-right: 8px; }}
  .desk td.name {{ min-width: 5em; }}
}}
"""

ROWS_CSS: Final = f"""
.newest {{ margin-top: 14px; container-type: inline-size; font-variant-numeric: tabular-nums; }}
.newest h4 {{ font-size: 13px; font-weight: 600; margin: 0 0 4px; }}
.newest h4 span {{ font-weight: 400; font-size: 12px; color: {_QUIET}; margin-left: 8px; }}
.newest .scroll {{ overflow-x: auto; scrollbar-width: thin; }}
.newest table {{ border-collapse: collapse; font: inherit; color: inherit; min-width: 50%; }}
.newest th, .newest td {{ text-align: left; white-space: nowrap; padding: 3px 18px 3px 0;
  border-bottom: 1px solid #8f8f8f2b; }}
.newest th {{ font-weight: 600; border-bottom-color: #8f8f8f80; }}
.newest .number {{ text-align: right; }}
.newest tr {{ background: none !important; }}
.newest tr.open td {{ font-style: italic; }}
.newest td.settling {{ vertical-align: baseline; color: {_QUIET}; font-size: 12px; font-style: normal !important; }}
"""

_HEADS: Final = (("query", ""), ("reads", "wide"), ("rows in", "number wide"), ("rows out", "number"),
                 ("cost", ""), ("ns/row", "number middle"), ("held", "number middle"), ("budget", "wide"),
                 ("parameters", "middle"))
_BUDGET_NEAR: Final = 0.8


class DeskTable:
    """Draws :class:`~whimbrel_workbench.frames.desk.DeskFrame` as two pieces of HTML.

    Parameters
    ----------
    choose : callable
        Called with the name of the query that a reader clicks.
    """

    def __init__(self, choose: Callable[[str], None]) -> None:
        css = CSS + LAST_CSS
        self._table, self._rows = page_html("", css + DESK_CSS), page_html("", css + ROWS_CSS)

        def pick(mark: Mark) -> None:
            if mark.key is not None:
                choose(mark.key)

        self.panel = pn.Column(self._table, self._rows, Selection(Host(pick=pick)).panel,
                               sizing_mode="stretch_width", margin=(4, 0))

    def draw(self, frame: DeskFrame) -> None:
        """Show a frame; what is as before is not sent."""
        for pane, html in ((self._table, desk_html(frame, picked=True)), (self._rows, rows_html(frame.chosen))):
            if pane.object != html:
                pane.object = html


def still_desk_html(frame: DeskFrame) -> str:
    """A frame for saved notebooks and exports."""
    return (f"<style>{DESK_CSS}{ROWS_CSS}</style>{desk_html(frame)}{rows_html(frame.chosen)}"
            f'<div style="font-size:12px;opacity:.75;margin-top:8px">Last frame, {frame.state}'
            f" · whimbrel {whimbrel.__version__}</div>")


def desk_html(frame: DeskFrame, *, picked: bool = False) -> str:
    """Indicators and a line for each query; with a button for each if a reader can choose one."""
    facts = "".join(f"<span><i>{escape(name)}</i> {escape(words)}</span>" for name, words in frame.facts)
    top = (f'<div class="top"><b><span class="state"><span class="sign">{SIGNS[frame.state]}</span>{frame.state}</span>'
           f'<span class="last">Last frame</span></b><span><i>reads</i> {escape(", ".join(frame.sources))}</span>'
           f"{facts}</div>")
    if not frame.lines:
        return f'<div class="desk">{top}<div class="quiet">No queries yet: desk.add(name, query).</div></div>'
    heads = "".join(f'<th class="{kind}">{name}</th>' for name, kind in _HEADS)
    chosen = None if frame.chosen is None else frame.chosen.name
    body = "".join(_line_html(line, chosen=line.name == chosen, picked=picked) for line in frame.lines)
    click = f' onclick="{escape(TABLE_CLICK)}"' if picked else ""
    hidden = f'<div class="quiet">{frame.hidden:,} more queries, which cost less.</div>' if frame.hidden else ""
    return (f'<div class="desk">{top}<table{click}><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>'
            f"{hidden}</div>")


def _line_html(line: QueryLine, *, chosen: bool, picked: bool) -> str:
    mark = f' data-mark="{escape(json.dumps({"key": line.name}))}"' if picked else ""
    name = escape(line.name)
    if picked:
        name = f'<button aria-label="Newest rows of {name}" aria-pressed="{str(chosen).lower()}">{name}</button>'
    sources = ", ".join(f'<span class="link">{escape(each)}</span>' for each in line.reads)
    cells = (
        ("name", f'<span class="sign" title="{line.state}" aria-label="{line.state}">{SIGNS[line.state]}</span>{name}'),
        ("wide", sources), ("number wide", line.rows_in), ("number", line.rows),
        ("cost", f'{_bar(line.fraction)}<span class="took">{line.seconds}</span>'),
        ("number middle", line.ns_per_row), ("number middle", line.held),
        ("wide", "" if line.budget is None else f"{_bar(line.budget)}{escape(line.budget_words)}"),
        ("middle", escape(line.parameters)))
    under = []
    if line.error:
        under.append(f'<div class="error">{line.state}: {escape(line.error)}</div>')
    if line.newest:
        under.append(f"<i>newest</i> {escape(line.newest)}")
    kinds = " ".join(["over"] * bool(under) + ["chosen"] * chosen)
    row = f'<tr class="{kinds}"{mark}>{"".join(f"<td class={kind!r}>{cell}</td>" for kind, cell in cells)}</tr>'
    return row + (f'<tr class="under"{mark}><td colspan="{len(_HEADS)}">{"".join(under)}</td></tr>' if under else "")


def _bar(fraction: float) -> str:
    full = " full" if fraction > _BUDGET_NEAR else ""
    return f'<span class="track"><span class="bar{full}" style="width:{100 * min(fraction, 1.0):.1f}%"></span></span>'


def rows_html(chosen: QueryRows | None) -> str:
    """The newest rows of the chosen query: provisional ones are italic with a hollow mark."""
    if chosen is None:
        return ""
    head = f"<h4>{escape(chosen.name)}<span>{chosen.settled_rows:,} rows settled, newest first</span></h4>"
    if not chosen.cells:
        return f'<div class="newest">{head}<div class="quiet">No rows yet.</div></div>'
    kinds = ["number" if numeric else "" for numeric in chosen.numeric]
    names = "".join(f'<th class="{kind}">{escape(name)}</th>' for name, kind in zip(chosen.names, kinds, strict=True))
    body = ""
    for settled, cells in chosen.cells:
        words = "".join(f'<td class="{kind}">{escape(cell)}</td>' for cell, kind in zip(cells, kinds, strict=True))
        state = "● settled" if settled else "○ provisional"
        body += f'<tr class="{"" if settled else "open"}"><td class="settling">{state}</td>{words}</tr>'
    return (f'<div class="newest">{head}<div class="scroll"><table><thead><tr><th></th>{names}</tr></thead>'
            f"<tbody>{body}</tbody></table></div></div>")
