"""A page of a dashboard, before any browser shows it."""

from __future__ import annotations

import threading

import panel as pn
import pytest
from bokeh.document import Document
from bokeh.models import ImportedStyleSheet, Plot, Range1d

import whimbrel as wb
from whimbrel_workbench.app.browser_session import BrowserSession
from whimbrel_workbench.frames import Frame
from whimbrel_workbench.workspace import Dashboard

# Panel's widgets will have another name for their name, one day.
pytestmark = pytest.mark.filterwarnings("ignore:Widget.name is deprecated")

COUNTS = wb.from_arrow({"at": [1, 4, 12], "k": ["a", "b", "a"]}, time="at").group_by("k").tumbling_window(10).aggregate(
    n=wb.count())


class Page:
    """Waits for a picture."""

    def __init__(self) -> None:
        self.drawn = threading.Event()

    def offer(self, _name: str, frame: Frame) -> None:
        if frame.picture is not None:
            self.drawn.set()


@pytest.mark.parametrize("control", [False, True])
def test_what_is_there_is_part_of_a_page_from_the_start(control: bool) -> None:
    """Each page came empty, and was sent its charts when it had drawn nothing."""
    dashboard = Dashboard("Counts", {"lines": COUNTS, "table": COUNTS.view(kind="table")})
    shared = dashboard.shared_run()
    try:
        BrowserSession(dashboard, shared, empty := Document(), control=control)
        assert not list(empty.select({"type": Plot}))
        shared.join(first := Page())
        assert first.drawn.wait(30)
        BrowserSession(dashboard, shared, later := Document(), control=control)
        [chart] = later.select({"type": Plot})
        assert chart.document is later
        fresh = pn.widgets.Select(options=["a widget of a kind that was not there"]).get_root(later)
        links = [sheet.url for sheet in fresh.select({"type": ImportedStyleSheet})]
        assert links
        assert not [link for link in links if "://" in link]
        # The counter of frames changes with each frame: if it were drawn, the page would be laid out again for it.
        assert {type(root) for root in later.roots if root.tags} == {Range1d}
    finally:
        shared.close()
