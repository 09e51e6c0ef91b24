from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whimbrel as wb
from whimbrel.batch import Ticks
from whimbrel.connect import ParquetSource
from whimbrel.errors import DisorderError
from whimbrel.plan import Blocks, Node, OrderingSpec, TimeGrid, UnsortedSource
from whimbrel.run import Execution
from whimbrel.run.statistics_watermark import statistics_watermark
from whimbrel.testing.rows import InBlocks

GROUP_ROWS = 65_536
GROUPS = 6
ROWS = GROUPS * GROUP_ROWS
LATE_BY = 1_000


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows up to a thousand ticks late, in row groups of more rows than that."""
    chance = np.random.default_rng(1)
    at = np.arange(ROWS) - chance.integers(0, LATE_BY, ROWS)
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    pq.write_table(pa.table({"at": at, "seen": np.arange(ROWS), "key": at % 3}), path, row_group_size=GROUP_ROWS)
    return path


def max_held(stream: wb.Stream) -> tuple[pa.Table, int]:
    """The answer, and how many rows waited at most; sums of floats take sorted rows, so that rows wait."""
    most = 0
    with closing(Execution(stream.node)) as session:
        while not session.finished:
            session.step()
            most = max(most, session.answers[0].metrics().buffered_rows)
        return session.answers[0].settled(), most


def test_rows_of_history_wait_no_longer_than_footers_say(log: Path) -> None:
    history = wb.read_parquet(log, time="at", arrival="seen")
    query = history.group_by("key").hopping_window(900, 300).aggregate(n=wb.count(), half=wb.sum(wb.col.at * 0.5))
    answer, most = max_held(query)
    promised = wb.read_parquet(log, time="at", reorder_latency=LATE_BY)
    expected = promised.group_by("key").hopping_window(900, 300).aggregate(n=wb.count(), half=wb.sum(wb.col.at * 0.5))
    assert answer.equals(expected.collect())
    assert 0 < most < 2 * GROUP_ROWS  # of six: one that is being read, and what the next may begin before


def test_history_in_no_order_at_all_waits_whole(tmp_path: Path) -> None:
    at = np.random.default_rng(1).permutation(ROWS)
    pq.write_table(pa.table({"at": at, "seen": np.arange(ROWS)}), tmp_path / "log.parquet", row_group_size=GROUP_ROWS)
    history = wb.read_parquet(tmp_path / "log.parquet", time="at", arrival="seen")
    answer, most = max_held(history.tumbling_window(ROWS).aggregate(n=wb.count(), half=wb.sum(wb.col.at * 0.5)))
    assert (answer["n"].to_pylist(), most) == ([ROWS], ROWS)


def test_a_run_that_resumes_from_a_row_knows_as_much(log: Path) -> None:
    source = ParquetSource(log, time="at", arrival="seen")
    bounds = statistics_watermark(UnsortedSource(source))
    assert bounds is not None
    starts = pq.read_table(log)["at"].to_numpy()
    for rows in (0, 1, GROUP_ROWS - 1, GROUP_ROWS, ROWS - 1):
        inside = rows // GROUP_ROWS * GROUP_ROWS
        assert bounds.earliest(rows) == starts[inside:].min() <= starts[rows:].min()


def test_a_source_that_promises_an_order_is_not_asked(log: Path) -> None:
    assert statistics_watermark(ParquetSource(log, time="at", reorder_latency=LATE_BY)) is None
    assert statistics_watermark(ParquetSource(log, time="seen")) is None


class Lying(InBlocks):
    """Its blocks say that the second begins at 9, but there is a row at 2."""

    def blocks(self, rows: int, cuts: TimeGrid | None = None) -> Blocks | None:
        def ticks(*times: int) -> Ticks:
            return np.array(times, np.int64)

        return Blocks(ticks(0, 2), ticks(2, 4), ticks(1, 9), ticks(5, 12))


def test_a_row_that_bounds_deny_is_an_error() -> None:
    def facts(*times: int) -> Sequence[tuple[int, int, dict[str, object]]]:
        names = ("key", "k2", "x", "y", "flag")
        return [(time, time + 1, dict.fromkeys(names) | {"time": time}) for time in times]

    with pytest.raises(DisorderError, match="arrived when the watermark was 9"):
        wb.Stream(Node(Lying([facts(1, 5), facts(12, 2)], disorder=OrderingSpec(None)))).collect()
