from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel.batch import Batch
from whimbrel.connect import ArrowSource
from whimbrel.errors import DisorderError
from whimbrel.kernels import wait_for_compiler, with_gaps
from whimbrel.plan import Source
from whimbrel.run import Pipeline

ROWS = 1 << 17
TIMES = np.concatenate([np.arange(0, ROWS), ROWS + 4 + 5 * np.arange(ROWS)])


def pieces(times: np.ndarray) -> pa.Table:
    """A table in two pieces, the first of which is half of all rows."""
    half = len(times) // 2
    return pa.concat_tables([pa.table({"at": part}) for part in (times[:half], times[half:])])


def gaps(source: Source, offset: int = 0) -> list[tuple[int, tuple[int, int] | None]]:
    with wait_for_compiler():
        return [(len(batch), with_gaps(batch).gaps) for batch in source.read([], offset) if isinstance(batch, Batch)]


def test_gaps_are_those_of_the_piece_that_is_read() -> None:
    source = ArrowSource(pieces(TIMES), time="at")
    for _ in range(2):
        assert gaps(source) == [(ROWS, (1, 1)), (ROWS, (5, 5))]
        assert gaps(source, ROWS) == [(ROWS, (5, 5))]
        assert gaps(source, ROWS // 2) == [(ROWS // 2, (1, 1)), (ROWS, (5, 5))]
        assert gaps(source.excerpt(ROWS, 2 * ROWS)) == [(ROWS, (5, 5))]
    whole = ArrowSource(pa.table({"at": TIMES}), time="at")
    for _ in range(2):
        assert gaps(whole) == [(2 * ROWS, (1, 5))]
        assert gaps(whole, ROWS) == [(ROWS, (5, 5))]


def test_gaps_are_known_when_a_piece_comes_again() -> None:
    source = ArrowSource(pieces(TIMES), time="at")
    gaps(source)
    assert [batch.gaps for batch in source.read([]) if batch is not None] == [(1, 1), (5, 5)]


def test_rows_that_are_not_in_order_are_an_error_each_time() -> None:
    times = TIMES.copy()
    times[ROWS + 9] = 0
    query = wb.from_arrow(pieces(times), time="at")
    for _ in range(2):
        with pytest.raises(DisorderError, match=f"Row {ROWS + 9:,}"):
            query.collect()


def test_what_is_read_as_one_by_an_early_answer_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    query = wb.from_arrow(pa.table({"at": TIMES}), time="at").tumbling_window(1 << 20).aggregate(n=wb.count())
    exact = query.collect()
    gaps = []
    push = Pipeline.push

    def pushed(pipeline: Pipeline, source: int, batch: Batch) -> list[list[Batch]]:
        gaps.append(batch.gaps)
        return push(pipeline, source, batch)

    monkeypatch.setattr(Pipeline, "push", pushed)
    answer, = query.progressive(every="100%", order="random", block_rows=1 << 12)
    assert answer.table["n"].to_pylist() == exact["n"].to_pylist()
    assert gaps == [(1, 5)]
