"""Groups of a window that closes."""

from __future__ import annotations

import numpy as np
import pytest

from whimbrel.kernels.primitives.windows import panes


@pytest.mark.parametrize(("room", "in_order"), [(40, True), (100, False)])
def test_groups_come_in_the_order_of_memory_where_many_have_rows(room: int, in_order: bool,
                                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panes, "FAR", 30)
    came = np.random.default_rng(3).permutation(36)[:20]
    rows, touched = np.zeros(room, np.int64), np.zeros(room, np.int64)
    rows[came], touched[:20] = 1 + came % 3, came
    assert panes.by_number(rows, touched, 20) == 20
    assert touched[:20].tolist() == (sorted(came.tolist()) if in_order else came.tolist())
