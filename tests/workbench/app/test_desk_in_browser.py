"""A desk on a served page: alone, and with a query."""

from __future__ import annotations

from pathlib import Path

import pytest

import whimbrel as wb
from tests.workbench.app.serving import served
from tests.workbench.lab import ALL_TEXT, browser
from whimbrel import col
from whimbrel_workbench.app.script import dashboard_of
from whimbrel_workbench.workspace import Dashboard

SCRIPT = """
# # Packets
import whimbrel as wb
events = wb.from_arrow({"at": range(10), "x": range(10)}, time="at", name="events")
desk = wb.desk(events)
desk.add("large", "SELECT x FROM events WHERE x > 6")
desk.run()
desk
"""


def test_a_script_that_ends_with_a_desk_is_a_dashboard(tmp_path: Path) -> None:
    (tmp_path / "packets.py").write_text(SCRIPT, encoding="utf-8")
    board = dashboard_of(tmp_path / "packets.py")
    assert (list(board.views), list(board.desks)) == ([], ["desk"])
    assert board.layout.rows == (("desk",),)
    assert board.desks["desk"].desk["large"].rows == 3


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("control", [False, True])
def test_a_served_desk_is_live(control: bool, tmp_path: Path) -> None:
    feed = wb.feeds.synthetic(rate=5_000, speed=1.0, seed=3)
    log = wb.from_arrow({"at": range(100), "x": range(100)}, time="at", name="log")
    desk = wb.desk(feed)
    desk.add("counts", feed.tumbling_window("1s").aggregate(n=wb.count()))
    desk.add("busy", desk.stream("counts").where(col.n > wb.parameter("least", 10)))
    views = {"Queries": desk, **({"Sums": log.tumbling_window(10).aggregate(n=wb.sum(col.x))} if control else {})}
    with desk, served(Dashboard("Packets", views), control=control) as server, browser() as chromium:
        page = chromium.new_page(viewport={"width": 1280, "height": 900})
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(server.exposure.url)
        page.get_by_role("button", name="Newest rows of counts").click()
        page.get_by_text("rows settled, newest first").wait_for()
        rows = page.locator(".desk tr[data-mark] td.number").first
        before = rows.inner_text()
        page.wait_for_timeout(2_000)
        assert rows.inner_text() != before
        desk.set("busy", least=12)
        page.get_by_text("least = 12").wait_for()
        for width in (1280, 420):
            page.set_viewport_size({"width": width, "height": 900})
            page.screenshot(path=tmp_path / f"desk-{control}-{width}.png")
        text = page.evaluate(f"({ALL_TEXT})(document.body)")
        assert ("Sums" in text) is control
        assert "synthetic" in text
        assert problems == []
