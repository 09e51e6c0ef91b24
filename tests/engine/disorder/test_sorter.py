"""Rows leave a sorter in time order, each once, those of one time as they came, whatever it keeps them in."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.batch import Batch, Column, Field, Schema
from whimbrel.clock import INF
from whimbrel.disorder import Sorter, arrival_buffer, sorter
from whimbrel.disorder.sorted_runs import SortedRuns
from whimbrel.kernels import Tier, tier
from whimbrel.kernels.primitives.sorting.impatience import REACH, merge_pieces

SCHEMA = Schema((Field("number", pa.int64()), Field("text", pa.string())))


def rows(times: list[int], first: int) -> Batch:
    numbers = np.arange(first, first + len(times))
    texts = Column.from_arrow(pa.array([str(number) for number in numbers], pa.string()))
    return Batch(SCHEMA, np.array(times, np.int64), 1, (Column(pa.int64(), numbers), texts))


def tuples(batches: list[Batch]) -> list[tuple[int, int, str]]:
    return [(int(time), int(number), text) for batch in batches for time, number, text in
            zip(batch.sync, batch.columns[0].values, batch.columns[1].to_arrow().to_pylist(), strict=True)]


def check(steps: list[tuple[list[int], int]], fork_at: int) -> None:
    """Add and release, step by step; compare with sorting a list."""
    held: list[tuple[int, int, str]] = []
    sort, arrived, watermark = Sorter(), 0, -(10**9)
    for number, (wanted, ahead) in enumerate(steps):
        times = [max(time, watermark) for time in wanted]
        sort.add(rows(times, arrived))
        held += tuples([rows(times, arrived)])
        arrived += len(times)
        if number == fork_at:
            clone = sort.fork()
            assert tuples(clone.release(INF)) == sorted(held)
            assert clone.rows == 0
        watermark += ahead
        assert tuples(sort.release(watermark)) == sorted(row for row in held if row[0] <= watermark)
        held = [row for row in held if row[0] > watermark]
        assert sort.rows == len(held)
    assert tuples(sort.release(INF)) == sorted(held)


@given(st.lists(st.tuples(st.lists(st.integers(-50, 50), max_size=12), st.sampled_from([0, 1, 10, 10**9 + 10])),
                max_size=8), st.integers(0, 8))
def test_every_row_leaves_once_and_in_order(steps: list[tuple[list[int], int]], fork_at: int) -> None:
    with tier("interpreted"):
        check(steps, fork_at)


@pytest.mark.parametrize("form", ["primitives", None])
@pytest.mark.parametrize("slack", [0, 1_000_000])
@pytest.mark.parametrize("seed", range(6))
def test_many_rows(seed: int, slack: int, form: Tier | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorter, "_SLACK_ROWS", slack)
    chance = np.random.default_rng(seed)
    spread = [5, 300, 30_000][seed % 3]
    steps = [((chance.integers(0, 3 * spread, chance.integers(0, 3000)) + at * spread).tolist(), spread)
             for at in range(12)]
    steps[0] = (steps[0][0], 10**9)
    if form is None:
        check(steps, 5)
    else:
        with tier(form):
            check(steps, 5)


def test_a_burst_of_late_rows_leaves_no_runs() -> None:
    sort = Sorter()
    with tier("primitives"):
        sort.add(rows(list(range(10_000, 10_200)), 0))
        sort.add(rows(list(range(9_000, 5_000, -10)), 200))
        sort.release(4_000)
        assert len(sort.runs) > 100
        sort.release(9_500)
        assert len(sort.runs) == 1


def test_a_row_that_is_a_few_rows_late_begins_no_run() -> None:
    sort = Sorter()
    with tier("primitives"):
        sort.add(rows([time + REACH // 2 * (time % 2) for time in range(4 * REACH)], 0))
        sort.release(-1)
        assert len(sort.runs) <= REACH // 4
        assert len(sort.release(3 * REACH)) == 1


def test_a_late_row_has_nothing_put_together_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrival_buffer, "_BATCH_ROWS", 100)
    together: list[int] = []
    concat = Batch.concat
    monkeypatch.setattr(Batch, "concat", lambda batches: together.append(sum(map(len, batches))) or concat(batches))
    sort = Sorter()
    for at in range(0, 5_000, 50):
        sort.add(rows(list(range(at, at + 50)), at))
    sort.add(rows([120, 30], 5_000))  # after all that waits
    out = tuples(sort.release(199))
    assert [time for time, _, _ in out] == sorted([*range(200), 30, 120])
    assert [number for time, number, _ in out if time in (30, 120)] == [30, 5_001, 120, 5_000]
    assert sum(together) == len(out)


def test_rows_that_arrive_in_order_are_neither_copied_nor_put_into_runs() -> None:
    sort = Sorter()
    first, second = rows(list(range(300)), 0), rows([299, *range(299, 500)], 300)
    sort.add(first)
    sort.add(second)
    left = [*sort.release(100), *sort.release(299)]
    assert [time for time, _, _ in tuples(left)] == [*range(300), 299, 299]
    assert np.shares_memory(left[0].sync, first.sync)
    assert (len(sort.runs), sort.rows) == (0, 200)
    sort.add(rows([300], 502))  # out of order: merged with what waits
    assert tuples(sort.release(301)) == [(300, 302, "302"), (300, 502, "502"), (301, 303, "303")]
    assert [number for _, number, _ in tuples(sort.release(INF))] == [*range(304, 502)]


def test_memory_follows_what_waits() -> None:
    sort = Sorter()
    with tier("primitives"):
        sort.add(rows([10**9], 0))  # one row that waits for ever keeps the memory of no other row
        for at in range(1, 40):
            sort.add(rows(list(range(at * 20_000, (at + 1) * 20_000)), at * 20_000))
            assert len(sort.release((at + 1) * 20_000)) == 1
    assert sort.rows == 1
    assert sort.arrivals.held_rows < 300_000
    assert sort.runs.rows == 1


def test_memory_of_runs_is_given_back_while_rows_wait() -> None:
    sort = Sorter()
    with tier("primitives"):
        sort.add(rows([0, 2, 1, *range(3, 100_000)], 0))
        sort.release(0)
        most = sort.runs.nbytes
        left = sort.release(99_000)
        assert sum(map(len, left)) == 99_000
        assert sort.runs.nbytes < most / 4
        assert [row for batch in sort.release(10**6) for row in batch.sync.tolist()] == list(range(99_001, 100_000))


@pytest.mark.parametrize("seed", range(4))
def test_runs_release_what_a_stable_sort_puts_first(seed: int) -> None:
    """Blocks of short runs, which are sorted together, and of long ones, which are dealt; most leave, or few."""
    chance = np.random.default_rng(seed)
    runs, held = SortedRuns(), np.empty((0, 2), np.int64)
    with tier("primitives"):
        for block in range(30):
            jitter, size = int(chance.choice([1, 40, 6_000])), int(chance.choice([10, 1_500, 4_000, 20_000]))
            times = block * 1_000 + np.sort(chance.integers(0, 1_000, size)) - chance.integers(0, jitter, size)
            numbers = block * 20_000 + np.arange(size)
            held = np.concatenate([held, np.column_stack([times, numbers])])
            held = held[np.lexsort(held.T[::-1])]
            watermark = (block - int(chance.choice([0, 1, 6]))) * 1_000
            released = runs.release(watermark, times, numbers)
            assert released.tolist() == held[held[:, 0] <= watermark, 1].tolist()
            held = held[held[:, 0] > watermark]
            assert runs.rows == len(held)


@pytest.mark.parametrize("span", [1, 40, 10**6, 2**40, 2**62])
def test_many_pieces_are_merged_at_once(span: int) -> None:
    chance = np.random.default_rng(span)
    rows, pieces = 300, 12
    bounds = np.sort(chance.choice(np.arange(1, rows), pieces, replace=False))
    bounds[-1] = rows
    times, numbers = chance.integers(-span, span, rows), chance.permutation(10 * rows)[:rows]
    starts = [0, *bounds[:-1]]
    for start, end in zip(starts, bounds, strict=True):
        order = start + np.lexsort((numbers[start:end], times[start:end]))
        times[start:end], numbers[start:end] = times[order], numbers[order]
    merged = np.empty(3 * rows, np.int64), np.empty(3 * rows, np.int64)
    at = merge_pieces(pieces, bounds, times, numbers, *merged, *(np.empty(2 * pieces, np.int64) for _ in range(3)))
    order = np.lexsort((numbers, times))
    assert np.array_equal(merged[0][at : at + rows], times[order])
    assert np.array_equal(merged[1][at : at + rows], numbers[order])


def test_blocks_that_wait_are_few_and_their_bytes_are_counted() -> None:
    chance = np.random.default_rng(0)
    runs, times = SortedRuns(), chance.integers(0, 10**6, (40, 2_000))
    with tier("primitives"):
        empty = runs.nbytes
        for block, of in enumerate(times):
            assert not len(runs.release(-1, of, block * 2_000 + np.arange(2_000)))
        assert len(runs.blocks) == 16
        assert runs.nbytes >= empty + 40 * 2_000 * 16 - 131_072  # the pool was there before
        order = times.ravel().argsort(kind="stable")
        assert runs.fork().cut(10**6).tolist() == order.tolist()
        half = runs.cut(500_000)
        assert half.tolist() == order[: len(half)].tolist()
        assert runs.cut(10**6).tolist() == order[len(half) :].tolist()
        assert runs.rows == len(runs) == 0
