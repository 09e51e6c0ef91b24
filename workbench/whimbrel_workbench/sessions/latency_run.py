"""The runs of several latency bands as one run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.run import Snapshot
from whimbrel_workbench.frames import Result, Stages
from whimbrel_workbench.frames.format_numbers import value_words
from whimbrel_workbench.sessions.revisions import FIRST, first_answers

if TYPE_CHECKING:
    from whimbrel import ReplayClock
    from whimbrel.errors import WhimbrelError
    from whimbrel.run import Metrics, Run
    from whimbrel.stream import LatencyBands
    from whimbrel_workbench.frames.status import State

_STATES: tuple[State, ...] = ("failed", "running", "paused", "stopped", "finished")


class LatencyRun:
    """Every moment is shown by the latest band that has settled it; only what the last band has settled is final.

    Parameters
    ----------
    bands : LatencyBands
        The query and its latencies.
    runs : sequence of Run
        One for each latency, started together.
    """

    def __init__(self, bands: LatencyBands, runs: Sequence[Run]) -> None:
        self._names = bands[0].schema.names
        self._keys = [name for name in self._names if f"{name}_before" not in bands.revisions[-1].schema.names]
        self._latencies = bands.latencies
        self._runs = runs
        self._facts: tuple[tuple[str, str], ...] = ()

    @property
    def state(self) -> State:
        states = {run.state for run in self._runs}
        return next(state for state in _STATES if state in states)

    @property
    def error(self) -> WhimbrelError | None:
        return next((run.error for run in self._runs if run.error is not None), None)

    @property
    def clock(self) -> ReplayClock | None:
        """The clock of what is replayed, if anything is."""
        return self._runs[-1].clock

    @property
    def last(self) -> Run:
        """The run of the last band."""
        return self._runs[-1]

    @property
    def version(self) -> int:
        return sum(run.version for run in self._runs)

    @property
    def metrics(self) -> Metrics:
        """Those of the last band."""
        return self._runs[-1].metrics

    def kernels(self) -> dict[str, str]:
        """As those of :meth:`whimbrel.Run.kernels`, of the last band, which has those of all."""
        return self._runs[-1].kernels()

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """How far each band has settled, and the revisions of later bands, as of the last snapshot."""
        return self._facts

    def snapshot(self, timeout: float = 1.0, *, after: int | None = None) -> Snapshot:
        """The answer of all bands as one table. Parameters as of :meth:`whimbrel.Run.snapshot`."""
        return self.current_result(timeout, after=after)[0]

    def current_result(self, timeout: float = 1.0, *, after: int | None = None) -> tuple[Snapshot, Result]:
        """The answer of all bands: first what the last one has settled, then ever earlier answers for later moments."""
        if after is not None and self.version <= after:
            # What is new is new in the first band before it is in others.
            self._runs[0].snapshot(timeout, after=self._runs[0].version)
        # The last band is read first: then no earlier one seems older.
        snapshots = [run.snapshot(timeout) for run in reversed(self._runs)][::-1]
        self._facts = (("settled after", ", ".join(
            f"{latency}: {shot.settled:,} rows" for latency, shot in zip(self._latencies, snapshots, strict=True))),
            ("revised", _revised([shot.table for shot in snapshots[1:]], self._names)))
        tables = first_answers([shot.table for shot in snapshots], self._keys)
        parts: list[pa.Table] = []
        since = None
        for shot, table in zip(reversed(snapshots), reversed(tables), strict=True):
            settled = _later(table.slice(0, shot.settled), since)
            parts.append(_there(settled))
            since = pc.max(settled.column("start")) if len(settled) else since
        parts.append(_there(_later(tables[0].slice(snapshots[0].settled), since)))
        shown = pa.concat_tables(part.select(["start", "end", *self._names]) for part in parts)
        before = pa.concat_tables(part.select([FIRST + name for name in self._measures]) for part in parts)
        reached = tuple(np.cumsum([len(part) for part in parts[:-1]])[::-1].tolist())
        snapshot = replace(snapshots[-1], table=shown, settled=reached[-1], version=self.version)
        return snapshot, Result(shown, reached, Stages(self._latencies), before.rename_columns(self._measures))

    @property
    def _measures(self) -> list[str]:
        return [name for name in self._names if name not in self._keys]

    def pause(self) -> None:
        self._runs[-1].pause()

    def resume(self) -> None:
        self._runs[-1].resume()

    def stop(self, *, keep: bool = True) -> None:
        for run in self._runs:
            run.stop(keep=keep)

    def wait(self, timeout: float | None = None) -> bool:
        return all(run.wait(timeout) for run in self._runs)


def _there(part: pa.Table) -> pa.Table:
    """Rows that a later band has not are no part of its answer."""
    return part.filter(pc.not_equal(part.column("change"), "delete"))


def _later(table: pa.Table, since: pa.Scalar | None) -> pa.Table:
    return table if since is None else table.filter(pc.greater(table.column("start"), since))


def _revised(tables: Sequence[pa.Table], names: Sequence[str]) -> str:
    """How many values later bands changed, and the largest change of each number."""
    counts: Counter[str] = Counter()
    for table in tables:
        for found in pc.value_counts(table.column("change")).to_pylist():
            counts[found["values"]] += found["counts"]
    moves = [f"{name} by up to {value_words(maximum)}" for name in names
             if (maximum := max((_moved(table, name) for table in tables), default=0.0))]
    changed = f"{counts['update']:,} updated" + (f" ({', '.join(moves)})" if moves else "")
    return f"{changed}, {counts['insert']:,} inserted, {counts['delete']:,} deleted"


def _moved(table: pa.Table, name: str) -> float:
    """By how much a number changed at most."""
    before, type_ = f"{name}_before", table.schema.field(name).type
    if before not in table.schema.names or not (pa.types.is_floating(type_) or pa.types.is_integer(type_)):
        return 0.0
    now, then = (pc.cast(table.column(each), pa.float64(), safe=False) for each in (name, before))
    return float(pc.max(pc.abs(pc.subtract(now, then))).as_py() or 0.0)
