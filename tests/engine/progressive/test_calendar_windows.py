"""Progressive answers over windows of the calendar and closed windows: in the order of time, to the same end."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col

TABLE = pa.table({"at": pa.array(np.arange(1_704_000_000, 1_718_000_000, 7_200), pa.timestamp("s", "Europe/Berlin")),
                  "x": np.arange(1_945) % 7})
QUERIES: dict[str, tuple[str, Callable[[wb.Stream], wb.Stream]]] = {
    "months": ("of the calendar", lambda s: s.tumbling_window("1mo").aggregate(n=wb.count(), s=wb.sum(col.x))),
    "weeks by day": ("of the calendar", lambda s: s.hopping_window("1w", "1d").aggregate(n=wb.count())),
    "both borders": ("on their borders", lambda s: s.tumbling_window("4h", closed="both").aggregate(n=wb.count())),
}


@pytest.mark.parametrize("name", QUERIES)
def test_early_answers_are_settled_windows_and_the_last_one_is_the_result(name: str) -> None:
    reason, query = QUERIES[name]
    asked = query(wb.from_arrow(TABLE, time="at", name="log"))
    progress = asked.progressive(every="20%")
    assert reason in progress.fallback_reason
    answers = [answer.table.select(["start", "n"]).to_pylist() for answer in progress]
    expected = asked.collect()
    assert len(answers) > 2
    assert len(answers[0]) < expected.num_rows
    known = expected.select(["start", "n"]).to_pylist()
    assert answers[-1] == known
    settled = len(answers[2]) - 8  # a week of days may still grow
    assert answers[2][:max(settled, 1)] == known[:max(settled, 1)]
