"""Bench E over recorded data gives what loops by hand, Polars and annotations say; so do its other rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bench import fusion_ladder, real_data
from bench.assumptions import same_tables
from tests.conftest import SHARED_DATA


@pytest.mark.data
@pytest.mark.slow
def test_rows_of_recorded_data(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("scipy")
    seen = list[str]()

    def compared(workload: str, case: str, rows: int, ours: Callable[[], Any], peers: dict[str, Callable[[], Any]],
                 same: Callable[[Any, Any], bool], **_: Any) -> Iterator[str]:
        if workload != "E files, ECG":  # other detectors take long
            assert all(same(ours(), peer()) for peer in peers.values()), workload
        seen.append(workload)
        yield workload

    monkeypatch.setattr(real_data, "compare", compared)
    assert list(real_data.rows_of_files(SHARED_DATA)) == seen
    assert {"E files, bearings", "E files, metrics", "E files, market feed"} <= set(seen)


@pytest.mark.parametrize("name", fusion_ladder.RUNGS)
def test_rungs_of_the_ladder_give_one_answer(name: str) -> None:
    rung = fusion_ladder.RUNGS[name]
    query, pinned = fusion_ladder.trend(300), fusion_ladder.trend(300)
    plan = rung(pinned.node)
    assert pinned.node.once("optimized", lambda: plan) is plan
    assert query.collect().num_rows
    assert same_tables(("d",))(query.collect(), pinned.collect())
