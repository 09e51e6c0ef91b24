"""What a served dashboard does with its process."""

from __future__ import annotations

import gc
import threading

import pytest

import whimbrel as wb
from tests.workbench.app.serving import ask, served
from whimbrel_workbench.workspace import Dashboard

COUNTS = wb.from_arrow({"at": [1, 4, 12]}, time="at").tumbling_window(10).aggregate(n=wb.count())


def test_a_page_comes_before_its_charts_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser waited for them with nothing to do, and ran the scripts only then."""
    came, made = threading.Event(), threading.Event()

    def make(*_of: object, **_settings: object) -> None:
        assert came.wait(30)
        made.set()

    monkeypatch.setattr("whimbrel_workbench.app.server.BrowserSession", make)
    with served(Dashboard("Counts", {"lines": COUNTS}), token=None) as server:
        _, _, page = ask(server, "/")
        came.set()
        assert "<h2>lines</h2>" in page
        assert made.wait(30)


def test_what_is_loaded_is_not_looked_through_for_garbage_while_pages_are_served() -> None:
    """All pages stood still when one was closed: the collector of garbage went through 170,000 objects."""
    with served(Dashboard("Counts", {"lines": COUNTS})) as server:
        assert ask(server, "/")[0] == 403  # it listens
        assert len(gc.get_objects()) < gc.get_freeze_count()
