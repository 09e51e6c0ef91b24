"""The last frame as static HTML, for saved notebooks."""

from __future__ import annotations

import base64
from html import escape

import whimbrel
from whimbrel_workbench.frames import (
    Bars,
    BigNumbers,
    Frame,
    Heat,
    Lines,
    Picture,
    Scatter,
    ScopeFrame,
    Spectrogram,
    Stages,
    TableFrame,
    TriggerFrame,
)
from whimbrel_workbench.views.big_numbers import figures_html
from whimbrel_workbench.views.caption import caption, undrawn_words
from whimbrel_workbench.views.error_card import failure_html
from whimbrel_workbench.views.estimate_quality import pinned_html, quality_html
from whimbrel_workbench.views.svg_cells import heat_svg, scatter_svg
from whimbrel_workbench.views.svg_charts import bars_svg, lines_svg
from whimbrel_workbench.views.svg_scope import scope_svg
from whimbrel_workbench.views.svg_spectrogram import spectrogram_svg
from whimbrel_workbench.views.svg_trigger import trigger_svg
from whimbrel_workbench.views.table import table_html


def still_html(frame: Frame, *, unfolded: bool = False) -> str:
    """Picture, indicators and query text of a frame; no script, no style sheet, nothing fetched."""
    status = frame.status
    facts = " · ".join(f"{name} {words}" for name, words in (("", status.fraction_summary), *status.facts))
    query = (f'<details{" open" * unfolded}><summary>query</summary>'
             f'<pre style="font-size:12px">{escape(frame.query)}</pre></details>')
    failure = failure_html(status.failure) if status.failure else ""
    quality = quality_html(frame.quality) + pinned_html(frame.quality.pinned) if frame.quality else ""
    return (f'<div style="max-width:900px;font-size:13px">{quality}{_picture(frame)}{failure}'
            f'<div style="font-size:12px;opacity:.75">Last frame, {escape(status.state)}: {escape(facts.strip())}'
            f" · whimbrel {whimbrel.__version__}</div>"
            f"{query}</div>")


def _picture(frame: Frame) -> str:
    style = frame.style
    match frame.picture:
        case Lines() as picture:
            early = ", lighter: early result" * _banded(picture.stages)
            return _image(frame, lines_svg(picture, style), f"Dashed: provisional{early}.")
        case Bars() as picture:
            early = ", lighter: early result" * _banded(picture.stages)
            return _image(frame, bars_svg(picture, style), f"Hollow: provisional{early}.")
        case Heat() as picture:
            early = ", dotted: early result" * _banded(picture.stages)
            return _image(frame, heat_svg(picture, style), f"Hatched: provisional{early}.")
        case Scatter() as picture:
            return _image(frame, scatter_svg(picture, style), "Hollow: provisional.")
        case ScopeFrame() as picture:
            return _image(frame, scope_svg(picture, style), "Dashed, hollow: provisional.")
        case Spectrogram() as picture:
            return _image(frame, spectrogram_svg(picture, style), "Lighter: louder.")
        case TriggerFrame() as picture:
            return _image(frame, trigger_svg(picture, style), "Lighter: more windows. Dashed: provisional.")
        case TableFrame() as picture:
            return table_html(picture.compared(picture))  # nobody looked at it before: nothing is marked
        case BigNumbers() as picture:
            return figures_html(picture.compared(picture))
        case None:
            words = undrawn_words(frame.undrawn, frame.columns.value) if frame.undrawn else "No rows."
            return "" if frame.status.failure else f"<div>{escape(words)}</div>"


def _image(frame: Frame, svg: str, meaning: str) -> str:
    """An image rather than inline SVG: viewers that clean foreign HTML keep images."""
    picture: Picture | None = frame.picture
    words = f"{caption(picture)} {meaning}" if picture else meaning
    title = f'<div style="font-size:15px;padding:4px 0">{escape(frame.style.title)}</div>' if frame.style.title else ""
    data = base64.b64encode(svg.encode()).decode()
    # Narrower its words could not be read: then it is moved sideways.
    return (f'{title}<div style="overflow-x:auto"><img alt="{escape(words)}" src="data:image/svg+xml;base64,{data}" '
            'style="width:100%;min-width:700px;max-width:900px"/></div>'
            f'<div style="font-size:12px;opacity:.75">{escape(words)}</div>')


def _banded(stages: Stages) -> bool:
    return stages.final > 1
