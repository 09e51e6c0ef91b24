"""C. Sorting disorder (after Impatience, ICDE 2018, figures 7 to 9): whole logs, rows as they come, and as needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pyarrow as pa

import whimbrel as wb
from bench import disordered, online_sort
from bench.compare import Row, compare
from bench.sides import Ours, collected
from whimbrel import col
from whimbrel.batch import Batch, Column, Field, Schema
from whimbrel.clock import INF
from whimbrel.disorder import Sorter, measure_disorder
from whimbrel.disorder.sorted_runs import SortedRuns
from whimbrel.kernels import Compiled, PrefetchingStorage, time_order, wait_for_compiler
from whimbrel.kernels.primitives.sorting import impatience as primitive

Array = np.ndarray[Any, Any]

ROWS, QUICK_ROWS = 20_000_000, 2_000_000
PERIODS = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
PAYLOAD = Schema(tuple(Field(f"c{number}", pa.int32()) for number in range(4)))
NAMES = ("time", *PAYLOAD.names)
BATCH_ROWS = 65_536
BLOCK_ROWS = 10_000
"""Rows between punctuations from which on the engine looks at the shape of a block."""

_impatience, _heap = Compiled(online_sort.impatience), Compiled(online_sort.heap)
gathered = PrefetchingStorage()


def run(*, quick: bool) -> Iterator[Row]:
    """Rows of figures: times and four 32-bit columns in memory; output pages are fresh on both sides."""
    rows = QUICK_ROWS if quick else ROWS
    made = {"CloudLog-like": disordered.cloud_log(rows), "AndroidLog-like": disordered.android_log(rows)}
    with wait_for_compiler():
        for name, times in made.items():
            print(f"   {name}: {measure_disorder(times)}; the paper's: {disordered.PAPER[name.removesuffix('-like')]}")
        for name, times in made.items():
            yield from _offline(name, times)
        for percent in (1, 10, 30, 100):
            yield from _offline(f"{percent}% moved by N(0, 1,000)", disordered.synthetic(rows, percent, 1_000))
        for name, times in disordered.catalogued(rows):
            yield from _offline(name, times)
        for name, times in made.items():
            for every in PERIODS:
                yield from _online(name, times, every)
        yield from _as_needed(made["CloudLog-like"])


def _offline(name: str, times: Array) -> Iterator[Row]:
    """Whole columns; and the same rows in batches, as a source gives them, which peers have to put together.

    Ours leave as batches too, ready for the next operator; they are put together to be compared, outside of the time.
    """
    columns = [np.arange(len(times), dtype=np.int32) + number for number in range(4)]
    starts = range(0, len(times), BATCH_ROWS)
    cut = [[column[at : at + BATCH_ROWS] for column in (times, *columns)] for at in starts]
    batches = [Batch(PAYLOAD, parts[0], 1, tuple(Column(pa.int32(), part) for part in parts[1:])) for parts in cut]
    frame = pl.DataFrame(dict(zip(NAMES, (times, *columns), strict=True)))
    frames = [frame.slice(at, BATCH_ROWS) for at in starts]

    def ours() -> list[Array]:
        order = time_order(times)
        return [times, *columns] if order is None else [gathered.take(column, order) for column in (times, *columns)]

    def ours_in_batches() -> list[Batch]:
        sorter = Sorter()
        for batch in batches:
            sorter.add(batch)
        return sorter.release(INF)

    def by_numpy(*columns: Array) -> list[Array]:
        order = columns[0].argsort(kind="stable")
        return [column[order] for column in columns]

    def same(mine: list[Array], theirs: list[Array] | pl.DataFrame) -> bool:
        other = [theirs[name].to_numpy() for name in NAMES] if isinstance(theirs, pl.DataFrame) else theirs
        return all(np.array_equal(one, two) for one, two in zip(mine, other, strict=True))

    def same_in_batches(mine: list[Batch], theirs: list[Array] | pl.DataFrame) -> bool:
        whole = Batch.concat(mine)
        return same([whole.sync, *(np.asarray(column.values) for column in whole.columns)], theirs)

    yield from compare("C offline", name, len(times), ours, {
        "NumPy stable": lambda: by_numpy(times, *columns),
        "Polars stable": lambda: frame.sort("time", maintain_order=True),
    }, same)
    yield from compare("C offline, batches", name, len(times), ours_in_batches, {
        "NumPy stable": lambda: by_numpy(*map(np.concatenate, zip(*cut, strict=True))),
        "Polars stable": lambda: pl.concat(frames).sort("time", maintain_order=True),
    }, same_in_batches)


def _online(name: str, all_times: Array, every: int) -> Iterator[Row]:
    late_by = np.maximum.accumulate(all_times) - all_times
    latency = int(np.quantile(late_by, 0.99))
    times = np.ascontiguousarray(all_times[late_by <= latency])
    columns = [np.arange(len(times), dtype=np.int32) + number for number in range(4)]
    rows, numbers = len(times), np.arange(len(times))
    chunks = 2 * (rows // primitive.CHUNK) + 4_096
    pool = [np.zeros(chunks * primitive.CHUNK, np.int64) for _ in range(2)]
    after = np.zeros(chunks, np.int64)
    runs, tails = np.zeros(primitive.COLUMNS * 4_096, np.int64), np.zeros(4_096, np.int64)
    scratch = [np.zeros(size, np.int64) for size in (rows, rows, 3 * rows, 3 * rows, 4_096, 8_192, 8_192, 8_192)]
    ends, slots, out = (np.zeros(rows, np.int64) for _ in range(3))

    def sort(*, huffman: bool = True, speculate: bool = True) -> list[Array]:
        scalars = np.zeros(primitive.SCALARS, np.int64)
        scalars[primitive.FREE] = chunks
        done = _impatience(times, every, latency, huffman, speculate, numbers, *pool, after, np.arange(chunks), runs,
                           tails, scalars, *scratch, out)
        assert done == rows
        return [gathered.take(column, out) for column in (times, *columns)]

    def by_block() -> list[Array]:
        """Runs as the engine fills them, where blocks are large enough to be looked at."""
        waiting, left, newest = SortedRuns(), [], int(times[0])
        for at in range(0, rows, every):
            block = times[at : at + every]
            newest = max(newest, int(block.max()))
            left.append(waiting.release(newest - latency, block, numbers[at : at + every]))
        order = np.concatenate([*left, waiting.cut(INF)])
        return [gathered.take(column, order) for column in (times, *columns)]

    def by_heap() -> list[Array]:
        assert _heap(times, every, latency, ends, slots, out) == rows
        return [times[out], *(column[out] for column in columns)]

    def by_merging() -> list[Array]:
        """A sorted buffer into which each stretch is merged, by a sort that finds the two runs."""
        held, kept, left, newest = times[:0], numbers[:0], [], times[0]
        for at in range(0, rows, every):
            held = np.concatenate([held, times[at : at + every]])
            kept = np.concatenate([kept, numbers[at : at + every]])
            order = held.argsort(kind="stable")
            held, kept = held[order], kept[order]
            newest = max(newest, held[-1])
            cut = int(np.searchsorted(held, newest - latency, "right"))
            left.append(kept[:cut].copy())  # a view would keep all that was held with it
            held, kept = held[cut:], kept[cut:]
        order = np.concatenate([*left, kept])
        return [times[order], *(column[order] for column in columns)]

    def same(mine: list[Array], theirs: list[Array]) -> bool:
        return np.array_equal(mine[0], theirs[0]) and np.array_equal(np.sort(mine[1]), np.sort(theirs[1]))

    peers = {"heap": by_heap} | ({"sorted buffer": by_merging} if every >= rows // 200 else {})
    peers |= {"without Huffman": partial(sort, huffman=False), "no speculation": partial(sort, speculate=False)}
    ours = sort if every < BLOCK_ROWS else by_block
    yield from compare("C online", f"{name}, every {every:,}", rows, ours, peers, same)


def _as_needed(times: Array) -> Iterator[Row]:
    """Queries whose rows are sorted where order is needed, against the same ones sorted at the source."""
    chance = np.random.default_rng(9)
    columns = {"arrived": np.arange(len(times)), "share": chance.random(len(times)).astype(np.float32)}
    columns |= {name: np.arange(len(times), dtype=np.int32) for name in PAYLOAD.names}
    table = pa.table({"at": times, **columns})

    def log() -> wb.Stream:
        return wb.from_arrow(table, time="at", arrival="arrived")

    queries: dict[str, Callable[[], wb.Stream]] = {
        f"selectivity {share}": lambda share=share: log().where(col.share < share).sliding_window(1)
        for share in (0.01, 0.05, 0.2, 0.5, 1.0)}
    queries["one column of four"] = lambda: log().select("c0").sliding_window(1)
    queries["tumbling window first"] = lambda: log().tumbling_window(60_000_000).aggregate(
        n=wb.count(), total=wb.sum(col.c0))

    def at_the_source(query: wb.Stream) -> pa.Table:
        with mock.patch("whimbrel.optimize.sort_as_needed", lambda plan: plan):
            return query.collect()

    for name, build in queries.items():
        yield from compare("C sort as needed", name, len(times), collected(build),
                           {"sorted at source": Ours(build, at_the_source)}, pa.Table.equals)
