"""Partition a bounded query by time ranges or keys, for parallel threads."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
import pyarrow as pa

from whimbrel.batch import Column
from whimbrel.clock import INF, MIN_TIME
from whimbrel.errors import WhimbrelError
from whimbrel.kernels import wait_for_compiler
from whimbrel.optimize import cut_sources, first_rows, optimize, with_first_samples
from whimbrel.plan import Node, OrderingSpec, Reach, Source, SourceSlice, TimeGrid
from whimbrel.run.execution import Execution
from whimbrel.run.key_partitions import partition_by_key
from whimbrel.run.partial_windows import CutWindows, cut_windows, states_of
from whimbrel.run.query_result import in_order

T = TypeVar("T")

_FEWEST_ROWS = 1 << 19
"""Rows a range should have at least: with less, starting threads and computing halos costs more than it saves."""
_BEGIN_ROWS = 1 << 20
"""Rows that are done in the time it takes to begin a range: its plan, its kernels, its part of the answer."""
_SLACK = 0.1
"""So much more may the thread with most to do be given for more ranges, which make up for what turns out slow."""
_UNEVEN = 1.25
"""A thread may get this many times its part of the rows before windows are cut."""
_HALO_SHARE = 0.2
"""Largest halo of a range, as a fraction of its rows."""


@dataclass(frozen=True)
class Piece:
    """A time range of the result: the plan over slices of the sources, and the bounds of its starts."""

    plan: Node
    start: int = MIN_TIME
    end: int = INF

    def answer(self, stop: threading.Event | None = None) -> pa.Table:
        """Its rows in the order of start; fewer after a stop."""
        with closing(Execution(self.plan, hurry=True)) as session, wait_for_compiler():
            while not session.finished and not (stop is not None and stop.is_set()):
                session.step()
            table = session.answers[0].settled()
        starts = Column.from_arrow(table.column("start").combine_chunks()).values
        first, stop_row = np.searchsorted(starts, [self.start, self.end])
        if self.end == INF:
            stop_row = len(table)
        return table.slice(first, stop_row - first)


def in_ranges(plan: Node, parts: int) -> list[Piece]:
    """Partition a bounded query by time ranges or keys; empty if it cannot be cut."""
    reach = optimize(plan).reach
    sources = plan.sources()
    if reach is None or not all(_can_be_cut(source) for source in sources):
        return []
    cuts = _cuts(sources, reach, parts)
    ranges = list(pairwise([MIN_TIME, *cuts, INF]))
    excerpts = [[_excerpt(source, reach, *each) for source in sources] for each in ranges]
    for left, right in pairwise(excerpts):
        if any(before.stop <= after.first < (before.source.rows or 0)
               for before, after in zip(left, right, strict=True)):
            return []  # neighbours must share a row, or nobody would see that two of them are out of order
    return [Piece(_instead(plan, dict(zip(sources, given, strict=True))), *each)
            for given, each in zip(excerpts, ranges, strict=True)] if cuts else []


def collect_side_by_side(plan: Node, threads: int) -> pa.Table | None:
    """The exact result, on several threads; None if the plan or its sources cannot be cut.

    They take ranges of time. A range is given its halo as well, and of its answer the rows that start within it are
    kept (TiLT, section 4.3). Windows that are too long for that are cut, and states of their parts merged. Where these
    are nearly as many as the rows, and where events last for who knows how long, they take shares of the keys.
    """
    cut = plan.once(("side by side", threads), lambda: _cut(plan, threads))
    if isinstance(cut, CutWindows):
        return _side_by_side(threads, [functools.partial(states_of, part) for part in cut.parts], cut.answer)
    return _side_by_side(threads, [piece.answer for piece in cut], pa.concat_tables) if cut else None


def _cut(plan: Node, threads: int) -> CutWindows | list[Piece]:
    """The parts of a query for several threads; none where it cannot be cut."""
    plan, = cut_sources((with_first_samples(plan, first_rows),))
    pieces = in_ranges(plan, threads)
    if _uneven(pieces, threads) and sum(source.rows or 0 for source in plan.sources()) >= threads * _FEWEST_ROWS:
        cut = cut_windows(plan, threads)
        if cut is not None and cut.few:
            return cut
        if cut is not None or optimize(plan).reach is None:
            pieces = [Piece(part_plan) for part_plan in partition_by_key(plan, threads)] or pieces
    return pieces


def _side_by_side(threads: int, parts: Sequence[Callable[[threading.Event], T]],
                  together: Callable[[list[T]], pa.Table]) -> pa.Table | None:
    """The results of all parts; None if one fails."""
    stop = threading.Event()
    with ThreadPoolExecutor(threads, thread_name_prefix="whimbrel-range") as pool:
        try:
            made = [pool.submit(part, stop) for part in parts]
            return in_order(together([each.result() for each in made]))
        except WhimbrelError:  # the reader of all rows in order raises it again, with row numbers from the first
            return None
        finally:
            stop.set()


def _uneven(pieces: Sequence[Piece], threads: int) -> bool:
    """Whether there is none, or one with far more rows than a thread's part."""
    rows = [sum(source.rows or 0 for source in piece.plan.sources()) for piece in pieces]
    return not rows or max(rows) * threads > _UNEVEN * sum(rows)


def _can_be_cut(source: Source) -> bool:
    return source.disorder == OrderingSpec() and not (source.live or source.edges or source.as_it_comes)


def _cuts(sources: Sequence[Source], reach: Reach, threads: int) -> list[int]:
    """Where ranges end: some for each thread, so that all end at about one time, if halos are short."""
    largest = max(sources, key=lambda source: source.rows or 0)
    rows = largest.rows or 0
    found: list[tuple[int, list[int]]] = []
    for parts in (4 * threads, 2 * threads, *range(threads, 1, -1)):
        if rows < parts * _FEWEST_ROWS:
            continue
        before = {cut: largest.rows_between(MIN_TIME, cut)[1]
                  for cut in sorted({_rounded(time, reach.time_grid) for time in largest.cuts(parts)})}
        cuts = [cut for cut, row in before.items() if 0 < row < rows]
        spans = (largest.rows_between(cut - reach.back, cut + reach.forward) for cut in cuts)
        if cuts and sum(stop - first for first, stop in spans) <= _HALO_SHARE * rows * len(cuts) / parts:
            found.append((_longest([0, *map(before.__getitem__, cuts), rows], threads), cuts))
    minimum = min((longest for longest, _ in found), default=0)
    return next((cuts for longest, cuts in found if longest <= (1 + _SLACK) * minimum), [])


def _longest(rows: Sequence[int], threads: int) -> int:
    """Rows of the thread that has most to do, if each takes the next range when it is done with one."""
    busy = [0] * threads
    for first, stop in pairwise(rows):
        busy[busy.index(min(busy))] += stop - first + _BEGIN_ROWS
    return max(busy)


def _rounded(time: int, grid: TimeGrid | None) -> int:
    """The nearest time at which a range may end."""
    return time if grid is None else time + grid.hop // 2 - (time + grid.hop // 2 - grid.offset) % grid.hop


def _excerpt(source: Source, reach: Reach, start: int, end: int) -> SourceSlice:
    first = 0 if start == MIN_TIME else source.rows_between(start - reach.back, end)[0]
    rows = source.rows or 0
    stop = rows if end == INF else min(rows, source.rows_between(start, end + reach.forward)[1] + 1)
    return SourceSlice(source, first, stop)


def _instead(plan: Node, given: Mapping[Source, Source]) -> Node:
    return plan.rewrite(lambda node: Node(given[node.op]) if isinstance(node.op, Source) else node)
