"""Measure the lateness of the sources of a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from whimbrel.clock import duration_ticks, round_spans, show_ticks
from whimbrel.errors import WhimbrelError
from whimbrel.plan import Source
from whimbrel.run import Metrics
from whimbrel.stream import LatencyBands, Lateness, Stream
from whimbrel.stream.lateness import lateness_of
from whimbrel_workbench.frames.lateness import SourceLateness, late_rows

MAX_ASKED_AGAIN: Final = 2_000_000
"""Of a longer log only rows are counted: to ask the query at each latency would take long."""

_THOUSANDTH: Final = 0.001
_AROUND: Final = 24


class LatenessStudy:
    """What is known of the lateness of a query's sources.

    Parameters
    ----------
    query : Stream or LatencyBands
        As it was written.
    """

    def __init__(self, query: Stream | LatencyBands) -> None:
        self._query = query if isinstance(query, Stream) else query.query
        self._measured: dict[Source, Lateness] = {}
        self._late_by: dict[Source, dict[int, int]] = {}
        self._changed: dict[Source, dict[int, str]] = {}
        self.last_error = ""

    def measure(self) -> None:
        """Read the times of every log that can be read again. On the calling thread."""
        for source in self._query.sources:
            if source.again() is None or source.edges or source in self._measured:
                continue
            try:
                found = lateness_of(source)
            except WhimbrelError as error:
                self.last_error = error.what
                continue
            self._measured[source] = found
            spans = round_spans(source.schema.unit)
            places = np.minimum(np.searchsorted(spans, found.late_by), len(spans) - 1)
            counts = np.bincount(places, minlength=len(spans)).tolist()
            self._late_by[source] = {span: rows for span, rows in zip(spans, counts, strict=True) if rows}

    def compare(self, asked: Sequence[int]) -> None:
        """Ask the query at each latency that is shown, and count the results that are others. On the calling thread."""
        for source, found in self._measured.items():
            if found.rows > MAX_ASKED_AGAIN:
                continue
            shown = self._rows(source, self._late_by[source], "", asked)
            known = self._changed.setdefault(source, {})
            latencies = [step.ticks for step in shown.steps if step.ticks not in known and step.lost]
            known |= {step.ticks: "none" for step in shown.steps if not step.lost}
            if not latencies:
                continue
            try:
                rows = found.at(*latencies, query=self._query).to_pylist()
            except WhimbrelError as error:
                self.last_error = error.what
                return
            for latency, row in zip(latencies, rows, strict=True):
                known[latency] = changed_words(row["results_changed"], row["results"])

    def shown(self, metrics: Metrics | None, asked: Sequence[int]) -> tuple[SourceLateness, ...]:
        """What is known now, of logs and of what a run has counted."""
        parts = [self._rows(source, late_by, "the whole log", asked) for source, late_by in self._late_by.items()]
        counted = {} if metrics is None else metrics.late_by
        parts += [self._rows(source, counted[source.name], "so far", asked)
                  for source in self._query.sources if source not in self._late_by and counted.get(source.name)]
        return tuple(parts)

    def _rows(self, source: Source, late_by: Mapping[int, int], of: str, asked: Sequence[int]) -> SourceLateness:
        return late_rows(source.name, of, late_by, source.schema.unit, asked, self._changed.get(source))


def latencies_of(query: Stream | LatencyBands) -> tuple[int, ...]:
    """The reorder latencies at which a query is asked, in ticks; none where rows are all waited for."""
    if isinstance(query, LatencyBands):
        unit = query[-1].schema.unit
        return tuple(duration_ticks(int(each) if unit is None else each, unit) for each in query.latencies)
    promised = {source.disorder.reorder_latency for source in query.sources}
    return tuple(sorted(each for each in promised if each is not None))[-1:]


def choices_near(query: Stream | LatencyBands) -> list[tuple[int, str]]:
    """Latencies about those at which a query is asked, and their words; none where nothing is promised."""
    asked, unit = latencies_of(query), (query if isinstance(query, Stream) else query[-1]).schema.unit
    if not asked:
        return []
    low, high = asked[0] // _AROUND, max(asked[-1], 1) * _AROUND
    near = [span for span in round_spans(unit) if low <= span <= high]
    return [(span, show_ticks(span, unit)) for span in sorted({0, *near, *asked})]


def changed_words(changed: int, results: int) -> str:
    """How many results are others, never rounded to none.

    >>> changed_words(3, 93), changed_words(0, 93), changed_words(1, 100_000)
    ('3 of 93 (3.2%)', 'none', '1 of 100,000 (under 0.1%)')
    """
    if not changed:
        return "none"
    share = changed / results if results else 1.0
    return f"{changed:,} of {results:,} ({'under 0.1%' if share < _THOUSANDTH else f'{share:.1%}'})"
