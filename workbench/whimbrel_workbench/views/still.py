"""The last frame as plain HTML: what a saved notebook shows when nothing runs any more."""

from __future__ import annotations

import base64
from html import escape

from whimbrel_workbench.frames import Bars, Figures, Frame, Lines, Rows
from whimbrel_workbench.views.failure import failure_html
from whimbrel_workbench.views.figures import figures_html
from whimbrel_workbench.views.legend import caption
from whimbrel_workbench.views.rows import table_html
from whimbrel_workbench.views.sketch import bars_svg, lines_svg


def still_html(frame: Frame) -> str:
    """Picture, indicators and query text of a frame; no script, no style sheet, nothing fetched."""
    status = frame.status
    facts = " · ".join(f"{name} {words}" for name, words in (("", status.share_words), *status.facts))
    query = f'<details><summary>query</summary><pre style="font-size:12px">{escape(frame.query)}</pre></details>'
    failure = failure_html(status.failure) if status.failure else ""
    return (f'<div style="max-width:900px;font-size:13px">{_picture(frame)}{failure}'
            f'<div style="font-size:12px;opacity:.75">Last frame, {escape(status.state)}: {escape(facts.strip())}</div>'
            f"{query}</div>")


def _picture(frame: Frame) -> str:
    match frame.picture:
        case Lines() as picture:
            return _image(lines_svg(picture), f"{caption(picture)} Dashed: may still change.")
        case Bars() as picture:
            return _image(bars_svg(picture), f"{caption(picture)} Hollow: may still change.")
        case Rows() as picture:
            return table_html(picture)
        case Figures() as picture:
            return figures_html(picture)
        case None:
            return "" if frame.status.failure else "<div>No rows.</div>"


def _image(svg: str, words: str) -> str:
    """An image rather than inline SVG: viewers that clean foreign HTML keep images."""
    data = base64.b64encode(svg.encode()).decode()
    return (f'<img alt="{escape(words)}" src="data:image/svg+xml;base64,{data}" style="width:100%;max-width:900px"/>'
            f'<div style="font-size:12px;opacity:.75">{escape(words)}</div>')
