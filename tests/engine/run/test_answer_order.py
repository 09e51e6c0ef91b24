"""Parts of an answer that overlap in time, put in the order of start."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from whimbrel.run import query_result


@pytest.mark.parametrize("long", [1, 4, 100])
@pytest.mark.parametrize("seed", range(4))
def test_rows_of_one_start_keep_their_order(long: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_result, "_LONG", long)  # stretches as they are, or gathered row by row
    chance = np.random.default_rng(seed)
    runs = [np.sort(chance.integers(0, 6, chance.integers(0, 9))) for _ in range(5)]
    number = np.arange(sum(map(len, runs)))
    parts = np.split(number, np.cumsum([len(run) for run in runs])[:-1])
    table = pa.concat_tables(pa.table({"start": run, "number": part}) for run, part in zip(runs, parts, strict=True))
    found = query_result.in_order(table)
    starts = np.concatenate(runs)
    order = np.argsort(starts, kind="stable")
    assert found["start"].to_pylist() == starts[order].tolist()
    assert found["number"].to_pylist() == order.tolist()
