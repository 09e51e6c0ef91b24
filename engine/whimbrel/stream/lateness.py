"""Lateness of a log's rows, and the cost of each latency."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Real

import numpy as np
import pyarrow as pa

from whimbrel import run as running
from whimbrel.batch import Batch, elapsed
from whimbrel.clock import Duration, duration_ticks, grid_offset, show_ticks, tell_ticks
from whimbrel.disorder import Arrived, Disorderliness, measure_disorder, watermark_generator_of
from whimbrel.errors import PlanError
from whimbrel.kernels import wait_for_compiler
from whimbrel.operators import LatenessBand
from whimbrel.plan import Node, OrderingSpec, Source, WithOrdering
from whimbrel.progressive.validation import check_confidence
from whimbrel.stream.latency_bands import increasing_ticks
from whimbrel.stream.rebind import rebind
from whimbrel.stream.stream_protocol import StreamLike

_QUANTILES = (0.5, 0.9, 0.99, 0.999, 1.0)


@dataclass(frozen=True, eq=False)
class Lateness:
    """The lateness of each row of a log.

    Lateness is the newest event time so far minus the event time of the row.

    With partitions, the newest event time of its partition counts. Arrival times play no part, so a clock that is fast
    does not either.

    Parameters
    ----------
    source : Source
    batches : list of Batch
        Its rows in arrival order: their times, and the partition column.
    late_by : numpy.ndarray of int64
        Per row, in ticks.
    by : str, optional
        A column of the batches whose values have different lateness.

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": [1, 5, 3, 9, 2], "seen": [1, 5, 6, 9, 9]}, time="at", arrival="seen", name="log")
    >>> late = wb.lateness(log)
    >>> late
    log: 5 rows, 2 late (40%); lateness 50%: 0, 90%: 7, 99%: 7, 99.9%: 7, 100%: 7
    inversions=4, distance=3, runs=3, interleaved=3
    >>> totals = log.tumbling_window(4).aggregate(n=wb.count())
    >>> for row in late.at(0, 2, 7, query=totals).drop("results").to_pylist():
    ...     print(row)
    {'latency': '0', 'rows_lost': 2, 'fraction_lost': 0.4, 'results_changed': 1, 'fraction_changed': 0.33...}
    {'latency': '2', 'rows_lost': 1, 'fraction_lost': 0.2, 'results_changed': 1, 'fraction_changed': 0.33...}
    {'latency': '7', 'rows_lost': 0, 'fraction_lost': 0.0, 'results_changed': 0, 'fraction_changed': 0.0}
    """

    source: Source
    batches: list[Batch]
    late_by: np.ndarray[tuple[int], np.dtype[np.int64]]
    by: str | None = None

    @property
    def rows(self) -> int:
        """All rows of the log."""
        return len(self.late_by)

    @property
    def late_rows(self) -> int:
        """Rows that arrived after a row with a larger time."""
        return int(np.count_nonzero(self.late_by))

    @cached_property
    def arrived(self) -> Arrived:
        """Times and lateness of all rows, for the model of ``progressive(late=...)``.

        Raises
        ------
        PlanError
            When the source has partitions, which have watermarks of their own.
        """
        if self.source.disorder.partition is not None:
            raise PlanError(f"{self.source.name} has a watermark per partition.",
                            where=f"lateness({self.source.name})", hint="Read the log without partition=.")
        unit = self.source.schema.unit
        times = np.concatenate([batch.sync for batch in self.batches]) if self.batches else self.late_by
        if self.by is None or not self.batches:
            return Arrived(times, self.late_by, unit)
        column = pa.chunked_array([batch.column(self.by).to_arrow() for batch in self.batches]).combine_chunks()
        kinds = column.dictionary_encode(null_encoding="encode")
        numbers = {kind: number for number, kind in enumerate(kinds.dictionary.to_pylist())}
        return Arrived(times, self.late_by, unit, self.by, numbers, np.asarray(kinds.indices))

    def missing(self, window: Duration, *, after: Sequence[Duration], confidence: float = 0.95) -> pa.Table:
        """Measure the missing fraction of windows, some time after their end.

        Parameters
        ----------
        window : str, timedelta or int (ticks)
            Size of tumbling windows.
        after : sequence of str, timedelta or int (ticks)
            Durations after the end of a window.
        confidence : float
            Probability with which all upper bounds hold together.

        Returns
        -------
        pyarrow.Table
            after, expected and at_most: fractions of the rows. The bound at_most is for a window of median size, and
            null when the log has too few complete windows. With `by`, its value comes first.

        Examples
        --------
        >>> import whimbrel as wb
        >>> came = [at - 150 if at % 10 == 0 else at for at in range(30_000)]  # one in ten is 149 late
        >>> late = wb.lateness(wb.from_arrow({"at": came, "seen": range(30_000)}, time="at", arrival="seen"))
        >>> for row in late.missing(300, after=[0, 100, 200]).to_pylist():
        ...     print({name: value if name == "after" else round(value, 3) for name, value in row.items()})
        {'after': '0', 'expected': 0.047, 'at_most': 0.047}
        {'after': '100', 'expected': 0.013, 'at_most': 0.022}
        {'after': '200', 'expected': 0.0, 'at_most': 0.0}
        """
        unit, where = self.source.schema.unit, f"lateness({self.source.name}).missing(...)"
        if isinstance(after, str) or not isinstance(after, Iterable):
            raise PlanError(f"after must be a list of durations, got {after!r}.", where=where,
                            hint='Use missing("1m", after=["0s", "5s", "1m"]).')
        check_confidence(confidence, where=where)
        size, *ticks = (duration_ticks(span, unit, where=where) for span in (window, *after))
        if size <= 0 or not ticks or min(ticks) < 0:
            raise PlanError("missing() needs a positive window, and durations of at least 0.", where=where,
                            hint='Use missing("1m", after=["0s", "5s", "1m"]).')
        ages, found = np.array(ticks), []
        for kind, number in self.arrived.kinds.items():
            missing = self.arrived.missing(size, size, grid_offset(window, unit), kind=number)
            rows = np.full(len(ages), np.median(missing.rows) if missing.windows else 1.0)
            maximum = missing.maximum(ages, rows, 1 - confidence)
            columns = {"after": self._shown(ticks), "expected": missing.expected(ages),
                       "at_most": pa.array(maximum, mask=maximum >= 1)}
            found.append(pa.table(columns if self.by is None else {self.by: [kind] * len(ages), **columns}))
        return pa.concat_tables(found, promote_options="permissive")

    @cached_property
    def measures(self) -> Disorderliness:
        """Metrics of disorder: inversions, distance, runs and interleaved runs."""
        with wait_for_compiler():
            return measure_disorder(np.concatenate([batch.sync for batch in self.batches]) if self.batches
                                    else self.late_by)

    def quantiles(self, *fractions: float) -> pa.Table:
        """Compute quantiles of the lateness.

        Columns: fraction, late_by (ticks) and shown.

        Parameters
        ----------
        *fractions : float
            Between 0 and 1; default: 0.5, 0.9, 0.99, 0.999 and 1.
        """
        for fraction in fractions:
            if isinstance(fraction, bool) or not isinstance(fraction, Real) or not 0 <= fraction <= 1:
                raise PlanError(f"A quantile must be between 0 and 1, got {fraction!r}.",
                                where=f"quantiles({fraction!r})",
                                hint="Use a fraction, such as 0.99.")
        levels = fractions or _QUANTILES
        late_by = np.quantile(self.late_by, levels, method="inverted_cdf") if self.rows else np.zeros(len(levels))
        ticks = [int(value) for value in late_by]
        return pa.table({"fraction": list(levels), "late_by": pa.array(ticks, pa.int64()), "shown": self._shown(ticks)})

    def histogram(self, bins: int = 20) -> pa.Table:
        """Compute a histogram of the lateness, with geometric bins.

        Columns: above, up_to (ticks) and rows.

        The first bin, above -1 and up to 0, has the rows that were not late.
        """
        if isinstance(bins, bool) or not isinstance(bins, Integral) or bins < 1:
            raise PlanError(f"bins must be an integer of at least 1, got {bins!r}.", where=f"histogram({bins!r})",
                            hint="Use 20.")
        late = self.late_by[self.late_by > 0]
        edges = np.array([-1, 0])
        if len(late):
            steps = np.geomspace(late.min(), late.max(), bins + 1).round().astype(np.int64)
            edges = np.concatenate([edges, np.unique(steps)])
        counts, _ = np.histogram(self.late_by, edges + 1)
        return pa.table({"above": edges[:-1], "up_to": edges[1:], "rows": counts})

    def at(self, *latencies: Duration, query: StreamLike | None = None) -> pa.Table:
        """Count the rows that each reorder latency would drop.

        These are the rows that are lost with ``late="drop"``.

        Parameters
        ----------
        *latencies : str, timedelta or int (ticks)
            In increasing order.
        query : Stream, optional
            A query over the source. Its changed results are the larger of two counts: missing rows and extra rows.

        Returns
        -------
        pyarrow.Table
            latency, rows_lost, fraction_lost; with a query also results (with nothing lost), results_changed and
            fraction_changed.
        """
        ticks = increasing_ticks(latencies, self.source.schema.unit, "at", f"lateness({self.source.name}).")
        lost = [self._lost(latency) for latency in ticks]
        columns = {"latency": self._shown(ticks), "rows_lost": pa.array(lost, pa.int64()),
                   "fraction_lost": [rows / self.rows if self.rows else 0.0 for rows in lost]}
        if query is not None:
            self._check(query, f"lateness({self.source.name}).at(...)")
            columns |= self._effect(query.node, ticks)
        return pa.table(columns)

    def _check(self, query: object, where: str) -> None:
        node = getattr(query, "node", None)
        if not isinstance(node, Node):
            raise PlanError(f"query must be a stream, got {type(query).__name__}.", where=where,
                            hint="Use query=log.tumbling_window(...).aggregate(...).")
        if self.source not in node.sources():
            raise PlanError(f"The query does not read {self.source.name}.", where=where,
                            hint="Use a query over the measured source.")
        if any(isinstance(step.op, LatenessBand) for step in node.walk()):
            raise PlanError("The query has latency bands already.", where=where,
                            hint="Pass the query without at_latencies(...).")

    def _lost(self, latency: int) -> int:
        if self.source.disorder.partition is None:
            return int(np.count_nonzero(self.late_by > latency))
        generator = watermark_generator_of(self._losing(latency))
        return sum(int(np.count_nonzero(batch.sync < generator.follow(batch).current)) for batch in self.batches)

    def _effect(self, query: Node, latencies: Sequence[int]) -> dict[str, list[float]]:
        def answer(source: Source) -> pa.Table:
            return running.collect(rebind(query, {self.source: source}))

        whole = answer(WithOrdering(self._log, OrderingSpec(None)))
        changed = [_changed(whole, answer(self._losing(latency))) for latency in latencies]
        return {"results": [whole.num_rows] * len(changed), "results_changed": changed,
                "fraction_changed": [rows / whole.num_rows if whole.num_rows else 0.0 for rows in changed]}

    def _losing(self, latency: int) -> Source:
        return WithOrdering(self._log, replace(self.source.disorder, reorder_latency=latency, late="drop"))

    @property
    def _log(self) -> Source:
        """The log, which can be read again."""
        return self.source.again() or self.source

    def _shown(self, ticks: Sequence[int]) -> list[str]:
        return [show_ticks(value, self.source.schema.unit) for value in ticks]

    def __repr__(self) -> str:
        late_fraction = f" ({self.late_rows / self.rows:.0%})" if self.rows else ""
        known = self.quantiles()
        late = ", ".join(f"{100 * q:.4g}%: {tell_ticks(ticks, self.source.schema.unit)}" for q, ticks in
                         zip(_QUANTILES, known["late_by"].to_pylist(), strict=True))
        found = self.measures
        return (f"{self.source.name}: {self.rows:,} rows, {self.late_rows:,} late{late_fraction}; lateness {late}\n"
                f"inversions={found.inversions:,}, distance={found.distance:,}, runs={found.runs:,}, "
                f"interleaved={found.interleaved:,}")


def lateness_of(source: Source, by: str | None = None) -> Lateness:
    """Measure how late the rows of a log came. See :func:`whimbrel.lateness`."""
    log = source.again()
    if log is None:
        raise PlanError(f"{source.name} is a feed, which is unbounded.", where=f"lateness({source.name})",
                        hint="Use a log that was recorded from the feed.")
    if log.edges:
        raise PlanError(f"{log.name} has start and end edges: two rows per event.", where=f"lateness({log.name})",
                        hint="Use a log of point events or intervals.")
    columns = list(dict.fromkeys(name for name in (log.disorder.partition, by) if name is not None))
    generator = watermark_generator_of(WithOrdering(log, replace(log.disorder, reorder_latency=None)))
    batches, late_by = [], [np.empty(0, np.int64)]
    with closing(log.read(columns)) as parts:  # type: ignore[type-var]
        for batch in parts:
            if batch is not None and len(batch):
                batches.append(batch)
                late_by.append(elapsed(generator.follow(batch).newest, batch.sync))
    return Lateness(source, batches, np.concatenate(late_by), by)


def _changed(whole: pa.Table, part: pa.Table) -> int:
    """How many rows only one of two tables has, each counted as often as it occurs; one in place of one counts once."""
    mine, theirs = _counted(whole), _counted(part)
    return max((mine - theirs).total(), (theirs - mine).total())


def _counted(table: pa.Table) -> Counter[str]:
    return Counter(map(repr, zip(*(column.to_pylist() for column in table.columns), strict=True)))
