"""Cells of the calendar are the same for rows in any order."""

from __future__ import annotations

import numpy as np
import pytest

from whimbrel.batch import Batch, Schema
from whimbrel.clock.calendar_grid import CalendarGrid, CalendarWindows
from whimbrel.clock.calendar_span import CalendarSpan
from whimbrel.clock.window_borders import WindowBorders
from whimbrel.operators.windows.calendar_window import numbered

SKIPPED_DAY = 1_325_239_200
"""Midnight of 2011-12-30 in Apia, which had no such day."""


@pytest.mark.parametrize("label", ["start", "end"])
@pytest.mark.parametrize("late_ticks", [0, 3600])
def test_rows_in_order_have_the_cells_that_they_have_in_any_order(label: str, late_ticks: int) -> None:
    day = CalendarSpan(1, "d")
    windows = CalendarWindows(CalendarGrid(day, "Pacific/Apia", "s"), day, WindowBorders(label))
    times = SKIPPED_DAY + 900 * np.arange(-500, 500)
    order = np.random.default_rng(1).permutation(len(times))
    cells, shuffled = (numbered(windows, Batch(Schema(()), each, 1, ()), late_ticks, "") for each in
                       (times, times[order]))
    assert cells[order].tolist() == shuffled.tolist()
    bounds = windows.grid.bounds(int(cells[0]) - 1, int(cells[-1]) + 2)
    assert (np.diff(bounds) == 0).sum() == 1
