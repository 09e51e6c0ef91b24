"""Rewind points: saved states of a replay at bounded cost."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column
from whimbrel.kernels import ObjectState, state_of
from whimbrel.run.pipeline import Pipeline

_MAX_BYTES = 256 << 20
_APART_ROWS = 4_096
_APART_S = 0.1
_WORTH = 20


@dataclass(frozen=True)
class RewindPoint:
    """A run at one moment.

    Parameters
    ----------
    arrival_ns : int
        The nanosecond of the last arrival that was read.
    rows : int
        How many rows were read.
    pipeline : Pipeline
        A fork, at rest.
    settled : tuple of int
        How many rows of each query were settled.
    """

    arrival_ns: int
    rows: int
    pipeline: Pipeline
    settled: tuple[int, ...]


class Marks:
    """The marks of a run, each some work further than the one before.

    To go back to any instant is to take the mark before it and to read on from there, so marks lie no more than about
    0.1 s of work apart. They cost at most a twentieth of the run's time, and no more than so much memory: when they
    need more, every other one is forgotten, and those that follow lie twice as far apart.

    Parameters
    ----------
    first : Mark
        Before any row; it is never forgotten.
    max_bytes : int
        What all others may hold together.
    """

    def __init__(self, first: RewindPoint, max_bytes: int = _MAX_BYTES) -> None:
        self._marks = [first]
        self._bytes = [0]
        self._max_bytes = max_bytes
        self._apart_s, self._cost_s = _APART_S, 0.0
        self._worked_s = 0.0

    def __len__(self) -> int:
        return len(self._marks)

    @property
    def nbytes(self) -> int:
        """What they hold, where nothing is shared."""
        return sum(self._bytes)

    def back_to(self, instant: int) -> RewindPoint:
        """The last rewind point before rows that arrived after an instant (nanoseconds); drops later ones."""
        kept = bisect_right(self._marks, instant, key=lambda mark: mark.arrival_ns)
        del self._marks[kept:], self._bytes[kept:]
        self._worked_s = 0.0
        return self._marks[-1]

    def worked(self, seconds: float, rows: int, mark: Callable[[], RewindPoint]) -> None:
        """Account for work and rows, and add a rewind point when one is due."""
        self._worked_s += seconds
        if rows >= self._marks[-1].rows + _APART_ROWS and self._worked_s >= max(self._apart_s, _WORTH * self._cost_s):
            began = time.perf_counter()
            self._add(mark())
            self._cost_s, self._worked_s = time.perf_counter() - began, 0.0

    def _add(self, mark: RewindPoint) -> None:
        self._marks.append(mark)
        self._bytes.append(sum(_nbytes(state_of(kernel)) for kernel in mark.pipeline.kernels))
        while self.nbytes > self._max_bytes and len(self) > 1:
            del self._marks[1::2], self._bytes[1::2]
            self._apart_s *= 2


def _nbytes(state: Any) -> int:
    match state:
        case np.ndarray() | pa.Array() | Batch():
            return int(state.nbytes)
        case Column():
            return int(state.values.nbytes)
        case ObjectState(parts):
            return _nbytes(parts)
        case dict():
            return sum(map(_nbytes, state.values()))
        case list() | tuple():
            return sum(map(_nbytes, state))
    return 0
