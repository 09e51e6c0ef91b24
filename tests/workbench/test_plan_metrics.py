"""The plan on the page: lanes that never cross an operator, counters that are those of the run."""

from __future__ import annotations

import re

import whimbrel as wb
from whimbrel import col
from whimbrel.run import Metrics
from whimbrel.run.operator_metrics import OperatorMetrics
from whimbrel_workbench.frames.plan import lane_slots
from whimbrel_workbench.sessions.plan_metrics import PlanWatch
from whimbrel_workbench.views.plan import kernels_html, plan_html


def metrics(elapsed_s: float, *rows: int) -> Metrics:
    steps = tuple(OperatorMetrics(f"step {at}", (at - 1,) if at else (), count, count, 0.1, 0) for at,
                  count in enumerate(rows))
    return Metrics(elapsed_s=elapsed_s, steps=steps)


def test_a_chain_has_one_lane() -> None:
    assert {(slot.lane, slot.passing) for slot in lane_slots([(), (0,), (1,), (2,)])} == {(0, ())}


def test_lanes_stay_free_of_other_operators() -> None:
    shapes = [(), (), (0,), (1, 2), (0,), (3, 4), (), (5, 6)], [(), (0,), (0,), (0,), (1, 2, 3)], [(), (0, 0)]
    for shape in shapes:
        for slot in lane_slots(shape):
            assert slot.lane not in slot.passing or slot.lane in slot.above
        assert not lane_slots(shape)[-1].passing
        assert all(slot.below for slot in lane_slots(shape)[:-1])


def test_rates_are_those_since_the_update_before() -> None:
    watch = PlanWatch()
    assert [step.rows_per_s for step in watch.update(metrics(2.0, 100, 50), {}).steps] == [50, 25]
    assert [step.rows_per_s for step in watch.update(metrics(2.1, 200, 50), {}).steps] == [50, 25]
    assert [step.rows_per_s for step in watch.update(metrics(4.0, 500, 50), {}).steps] == [200, 0]
    assert [step.rows_per_s for step in watch.update(metrics(1.0, 9, 9), {}).steps] == [9, 9]


def test_the_page_shows_what_the_run_counts() -> None:
    log = wb.from_arrow({"at": list(range(100)), "x": list(range(100))}, time="at", name="<log>")
    run = log.where(col.x >= 40).tumbling_window(10).aggregate(most=wb.max(col.x)).start()
    assert run.wait(60)
    plan = PlanWatch().update(run.metrics, run.kernels())
    text = plan_html(plan)
    cells = [re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<td.*?</td>", text)]
    assert "&lt;log&gt;" in cells
    assert "100" in cells
    assert "6" in cells
    assert "<script" not in text
    assert "most=max(col.x)" in kernels_html(plan)
    assert "def step(" in kernels_html(plan)


def test_nothing_ran_yet() -> None:
    assert "appears when the query runs" in plan_html(PlanWatch().update(Metrics(), {}))
    assert kernels_html(PlanWatch().update(Metrics(), {})) == ""
