"""Run a query up to a checkpoint, and resume from it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

import whimbrel as wb
from whimbrel.batch import Batch
from whimbrel.plan import Source

_IDLE_S = 0.001


class Halting(Source):
    """A source that has nothing to say after so many rows, and does not end."""

    live = True

    def __init__(self, source: Source, rows: int) -> None:
        self.source = source
        self.max_rows = rows
        self.name, self.schema, self.time, self.arrival = source.name, source.schema, source.time, source.arrival
        self.disorder, self.edges, self.longest = source.disorder, source.edges, source.longest
        self.sampling = source.sampling

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        left = self.max_rows - offset
        for batch in self.source.read(columns, offset):
            if batch is not None and left > 0:
                yield batch.slice(0, min(left, len(batch)))
                left -= len(batch)
        while True:
            time.sleep(_IDLE_S)
            yield None


def collect_settled(query: wb.Stream) -> pa.Table:
    """Settled rows when all rows have arrived and no source has ended."""
    run = _halting(query, _all(query)).start()
    settled = _settled(run, sum(_all(query).values()))
    run.stop()
    return settled


def collect_in_two(query: wb.Stream, rows: Mapping[str, int], *, ends: bool = True) -> pa.Table:
    """Settled rows before and after a checkpoint, which follows so many rows of each source."""
    with TemporaryDirectory() as folder:
        run = _halting(query, rows).start()
        before = _settled(run, sum(rows.values()))
        run.checkpoint(Path(folder) / "run")
        run.stop()
        later = wb.restore(Path(folder) / "run", query if ends else _halting(query, _all(query)))
        if not ends:
            after = _settled(later, sum(_all(query).values()))
            later.stop()
            return pa.concat_tables([before, after])
        later.wait()
        if later.error is not None:
            raise later.error
        return pa.concat_tables([before, later.snapshot().table])


def _halting(query: wb.Stream, rows: Mapping[str, int]) -> wb.Stream:
    return query.on({source.name: Halting(source, rows[source.name]) for source in query.sources})


def _all(query: wb.Stream) -> dict[str, int]:
    return {source.name: source.rows or 0 for source in query.sources}


def _settled(run: wb.Run, rows: int) -> pa.Table:
    """What is settled when a run has read so many rows."""
    while (found := run.snapshot()).metrics.rows < rows and run.error is None:
        time.sleep(_IDLE_S)
    if run.error is not None:
        raise run.error
    return found.table.slice(0, found.settled)
