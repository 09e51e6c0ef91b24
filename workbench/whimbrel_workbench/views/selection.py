"""Tell the kernel which mark a reader clicks."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any, Final

import panel as pn
from bokeh.models import BoxSelectTool, CustomJS, GlyphRenderer, TapTool
from bokeh.plotting import figure

from whimbrel_workbench.frames.mark import Mark
from whimbrel_workbench.page_messages import PageMessage
from whimbrel_workbench.views.contract import Host

_CLASS: Final = "whimbrel-picked"

# The page sends the values of the mark, not its index: the marks may change before the kernel reads the message.
_TAPPED: Final = """
    const {source, geometries} = cb_data
    const index = source.selected.indices[0]
    source.selected.indices = []
    if (index == null) return
    const said = {asked: Date.now()}
    for (const [name, column] of Object.entries(columns[sources.indexOf(source)])) {
        said[name] = column === "" ? (name === "at" ? geometries.x : geometries.y) : source.data[column][index]
    }
    figure.tags = [JSON.stringify(said)]
"""
_DRAGGED: Final = """
    const {x0, x1} = cb_obj.geometry
    if (cb_obj.final) figure.tags = [JSON.stringify({at: x0, to: x1, asked: Date.now()})]
"""
_TELL: Final = "out.value = source.tags[0]"

TABLE_CLICK: Final = f"""
const row = event.target.closest("[data-mark]")
const out = this.getRootNode().host.getRootNode().querySelector(".{_CLASS}")
if (row && out) {{
    const box = out.shadowRoot.querySelector("input")
    box.value = row.dataset.mark.slice(0, -1) + ", \\"asked\\": " + Date.now() + "}}"
    box.dispatchEvent(new Event("change"))
}}
"""
"""Of a table, as its ``onclick``: a row carries its mark as JSON, and no script of Bokeh's hears clicks in a text."""


class Selection:
    """Listens to clicks on marks, where the host asks for them.

    Parameters
    ----------
    host : Host

    Attributes
    ----------
    panel : panel.viewable.Viewable
        Has to lie on the page, where nobody sees it.
    """

    def __init__(self, host: Host) -> None:
        self._pick, self._stretches = host.pick, host.stretches
        self.panel = PageMessage(css_classes=[_CLASS])
        self.panel.param.watch(self._picked, "value")

    def listen(self, chart: pn.pane.Bokeh, fig: figure, marks: Mapping[GlyphRenderer, Mapping[str, str]], *,
               stretches: str = "", pans: bool = False) -> None:
        """Hear clicks on the marks of a chart.

        Parameters
        ----------
        chart : panel.pane.Bokeh
        fig : bokeh figure
        marks : mapping of renderer to mapping of str to str
            For each renderer where a mark's fields stand in its data; "" is where the mouse is on the axis.
        stretches : str
            What follows when a reader drags over a stretch of the x axis, where the host asks for that too; empty where
            nothing does.
        pans : bool
            Whether a drag still moves the chart, until the reader chooses the tool for stretches.
        """
        if self._pick is None:
            return
        for renderer in marks:
            renderer.selection_glyph = renderer.nonselection_glyph = None  # a click changes no mark
        models = {"figure": fig, "sources": [each.data_source for each in marks],
                  "columns": list(map(dict, marks.values()))}
        fig.add_tools(TapTool(renderers=list(marks), callback=CustomJS(args=models, code=_TAPPED), visible=False))
        if stretches and self._stretches:
            select = BoxSelectTool(dimensions="width", renderers=[], description=stretches)
            fig.add_tools(select)
            if not pans:
                fig.toolbar.active_drag = select
            fig.js_on_event("selectiongeometry", CustomJS(args={"figure": fig}, code=_DRAGGED))
        chart.jscallback(args={"out": weakref.proxy(self.panel)}, tags=_TELL)

    def _picked(self, event: Any) -> None:
        mark = Mark.read(event.new)
        if mark is not None and self._pick is not None:
            self._pick(mark)
