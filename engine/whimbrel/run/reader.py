"""Reading sources in turn, in pieces small enough to stay responsive."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from collections.abc import Set as AbstractSet

from whimbrel.batch import Batch
from whimbrel.clock import INF
from whimbrel.plan import Promising, Pruned, Source, Unsorted
from whimbrel.run.pipeline import Pipeline

_SLICE_S = 0.02
_FEWEST_ROWS, _MOST_ROWS = 256, 65_536


class Reader:
    """Drives a pipeline from its sources, one small step at a time.

    The source that is furthest behind in time is read next, so that a join buffers as little as possible. Steps grow
    until one takes about 20 ms: an interpreted first batch and a compiled later one both leave room for other work.

    Parameters
    ----------
    pipeline : Pipeline
    hurry : bool
        Take the largest steps from the start, when nobody looks before the end.
    """

    def __init__(self, pipeline: Pipeline, *, hurry: bool = False) -> None:
        self.pipeline = pipeline
        self._step_rows = _MOST_ROWS if hurry else _FEWEST_ROWS
        self._hurry = hurry
        self._rest: dict[int, Batch] = {}
        self.resume()

    def resume(self) -> None:
        """Begin each source behind the rows that its pipeline has seen."""
        self.rows = sum(ingress.rows for ingress in self.pipeline.ingresses)
        self._streams = {number: source.read(source.schema.names, ingress.rows)
                         for number, (source, ingress) in enumerate(zip(self.pipeline.sources, self.pipeline.ingresses,
                                                                        strict=True)) if ingress.frontier != INF}

    @property
    def finished(self) -> bool:
        return not self._streams

    @property
    def open(self) -> AbstractSet[int]:
        """The numbers of the sources that have not ended."""
        return self._streams.keys()

    def keep(self, sources: AbstractSet[int]) -> None:
        """Read these only from now on."""
        for number in self.open - sources:
            _close(self._streams.pop(number))
            self._rest.pop(number, None)

    @property
    def read(self) -> dict[Source, tuple[Source, int]]:
        """For each source as it was written in a plan: as it is read, and how many rows of it were."""
        found: dict[Source, tuple[Source, int]] = {}
        for source, ingress in zip(self.pipeline.sources, self.pipeline.ingresses, strict=True):
            log = source
            while isinstance(log, Pruned | Promising | Unsorted):
                log = log.source
            written: Source | None = log
            while written is not None:
                found[written] = (log, ingress.rows)
                written = getattr(written, "source", None)
        return found

    @property
    def total_rows(self) -> int | None:
        """Rows of all sources together, or None if one of them does not know."""
        counts = [source.rows for source in self.pipeline.sources]
        return None if None in counts else sum(count for count in counts if count is not None)

    def step(self) -> list[list[Batch]] | None:
        """Read and process a little; each plan's settled result rows, or None when no source had anything."""
        for number in sorted(self._streams, key=lambda source: self.pipeline.ingresses[source].newest):
            if number not in self._rest:
                try:
                    batch = next(self._streams[number])
                except StopIteration:
                    del self._streams[number]
                    return self.pipeline.finish(number)
                if batch is None:
                    continue
                self._rest[number] = batch
            return self._process(number)
        return None

    def _process(self, number: int) -> list[list[Batch]]:
        batch = self._rest.pop(number)
        if len(batch) > self._step_rows:
            self._rest[number] = batch.slice(self._step_rows, len(batch))
            batch = batch.slice(0, self._step_rows)
        began = time.perf_counter()
        out = self.pipeline.push(number, batch)
        self.rows += len(batch)
        if not self._hurry:
            self._adapt(time.perf_counter() - began)
        return out

    def _adapt(self, took_s: float) -> None:
        if took_s < _SLICE_S:
            self._step_rows = min(2 * self._step_rows, _MOST_ROWS)
        elif took_s > 2 * _SLICE_S:
            self._step_rows = max(self._step_rows // 2, _FEWEST_ROWS)

    def close(self) -> None:
        """Let go of the sources."""
        for stream in self._streams.values():
            _close(stream)


def _close(stream: Iterator[Batch | None]) -> None:
    if isinstance(stream, Generator):
        stream.close()
