"""Compare ours with a peer, in one process and one run, interleaved; ratios, never bare times."""

from __future__ import annotations

import gc
import resource
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa

from bench.sides import Ours, Ran, differ, ready, recorded
from whimbrel.kernels import finish_compiling, wait_for_compiler
from whimbrel.run import pipeline

REPEATS = 5
_TRIES = 3


@dataclass(frozen=True)
class Row:
    """One figure. A ratio above 1 means ours is better.

    `ours` and `peer_value` are medians in `metric`; `ratio` is the median of the ratios of neighbouring repeats, with
    the smallest and the largest in `spread`. `roof_fraction` is our share of the hand-written loop's rate.
    """

    workload: str
    case: str
    metric: str
    ours: float
    peer: str
    peer_value: float
    ratio: float
    ratio_min: float
    ratio_max: float
    roof_fraction: float | None
    rss_mb: float
    verified: bool

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        roof = "" if self.roof_fraction is None else f"   roof {self.roof_fraction:.2f}"
        ours = f"{self.workload}  {self.case:<26} {self.ours:9.1f} {self.metric}"
        ratio = f"ratio {self.ratio:5.2f} ({self.ratio_min:.2f} ... {self.ratio_max:.2f})"
        return f"{ours}   {self.peer:<17}{self.peer_value:9.1f}   {ratio}{roof}   {self.rss_mb:,.0f} MB"


Side = Callable[[], Any] | Ours[Any]


def compare(workload: str, case: str, rows: int, ours: Side, peers: Mapping[str, Side],
            same: Callable[[Any, Any], bool], *, roof: str | None = None,
            after: Callable[[], None] = lambda: None) -> Iterator[Row]:
    """Run ours and every peer in turn, several times, once their answers agree.

    Compiled code is ready before anything is timed. Where a function was compiled inside the times, they are taken
    again.

    Parameters
    ----------
    workload, case : str
    rows : int
        Input rows that one run counts.
    ours, peers : callable or Ours
        Each returns its answer. A peer that this engine runs is an :class:`Ours`, and then so is our side.
    same : callable
        Whether an answer equals ours.
    roof : str, optional
        The peer that is the hand-written loop.
    after : callable
        What is to be let go of after each, outside of its time.

    Raises
    ------
    AssertionError
        When an answer differs, when a peer runs the same plan as ours, or when functions are compiled inside the times
        again and again; then no time is printed.
    """
    sides = {name: ready(side) for name, side in {"ours": ours, **peers}.items()}
    answer = warm(*sides["ours"])
    after()
    for name in peers:
        assert same(answer, warm(*sides[name])), f"{workload} {case}: {name} gives another answer"
        after()
    del answer
    differ(f"{workload} {case}", sides["ours"][1], {name: sides[name][1] for name in peers})
    runs = {name: run for name, (run, _) in sides.items()}
    del sides
    for _ in range(_TRIES):
        compiled = finish_compiling()
        times = _in_turn(runs, after)
        if finish_compiling() == compiled:
            break
    else:
        raise AssertionError(f"{workload} {case}: functions were compiled inside the times, {_TRIES} times")

    def rate(name: str) -> float:
        return rows / statistics.median(times[name]) / 1e6

    for name in peers:
        ratios = [theirs / mine for mine, theirs in zip(times["ours"], times[name], strict=True)]
        yield Row(
            workload=workload, case=case, metric="M rows/s", ours=rate("ours"), peer=name, peer_value=rate(name),
            ratio=statistics.median(ratios), ratio_min=min(ratios), ratio_max=max(ratios),
            roof_fraction=None if roof is None else rate("ours") / rate(roof),
            rss_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, verified=True,
        )


def warm(run: Callable[[], Any], ran: Ran) -> Any:
    """Its answer, with every function compiled, pages touched, and its plans recorded.

    A run of few rows asks for nothing to be compiled, since it would be done sooner without. Here it asks for all.
    """
    with recorded(ran), wait_for_compiler(), mock.patch.object(pipeline, "_WORTH_COMPILING_ROWS", 0):
        return run()


def _in_turn(runs: Mapping[str, Callable[[], Any]], after: Callable[[], None]) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in runs}
    gc.collect()
    gc.freeze()  # libraries and data: to look through them before each run would take longer than most runs
    for _ in range(REPEATS):
        for name, run in runs.items():
            gc.collect()
            began = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - began)
            after()
    gc.unfreeze()
    return times


def taken(workload: str, case: str, ours: list[float], peer: str, theirs: list[float], *,
          ran: tuple[Ran, Ran]) -> Row:
    """A figure of seconds, measured in turn, whose answers were compared; `ran` is what both sides were seen to run.

    Raises
    ------
    AssertionError
        When the peer ran the same plan as ours.
    """
    differ(f"{workload} {case}", ran[0], {peer: ran[1]})
    ratios = [their / our for our, their in zip(ours, theirs, strict=True)]
    return Row(workload=workload, case=case, metric="ms", ours=statistics.median(ours) * 1e3, peer=peer,
               peer_value=statistics.median(theirs) * 1e3, ratio=statistics.median(ratios), ratio_min=min(ratios),
               ratio_max=max(ratios), roof_fraction=None,
               rss_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, verified=True)


def same_rows(*names: str) -> Callable[[pa.Table, pa.Table], bool]:
    """Whether two tables have the same rows in these columns, in whatever order; floats may differ by rounding."""
    def same(ours: pa.Table, theirs: pa.Table) -> bool:
        if ours.num_rows != theirs.num_rows:
            return False
        mine, other = (_sorted(table.select(names)) for table in (ours, theirs))
        return all(np.allclose(mine[name], other[name], rtol=1e-6, atol=1e-9, equal_nan=True)
                   if mine[name].dtype.kind == "f" or other[name].dtype.kind == "f"
                   else np.array_equal(mine[name], other[name]) for name in names)

    return same


def _sorted(table: pa.Table) -> dict[str, Any]:
    columns = {name: _values(table[name]) for name in table.column_names}
    exact = [values for values in columns.values() if values.dtype.kind != "f"] or list(columns.values())
    order = np.lexsort(exact[::-1])
    return {name: values[order] for name, values in columns.items()}


def _values(column: pa.ChunkedArray) -> Any:
    if pa.types.is_dictionary(column.type) or pa.types.is_string(column.type):
        return np.array(column.to_pylist())
    return column.to_numpy() if not column.null_count else column.cast(pa.float64()).to_numpy()
