"""Compare a backtest with a live run, and explain the differences."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from whimbrel import run as running
from whimbrel.batch import Batch
from whimbrel.connect import Replay
from whimbrel.disorder import watermark_generator_of
from whimbrel.errors import PlanError, SchemaError
from whimbrel.migration_hints import CERTIFICATE, absent
from whimbrel.operators import BlockSamples
from whimbrel.plan import Node, OrderingSpec, Source, WithOrdering
from whimbrel.stream.rebind import rebind
from whimbrel.stream.stream_protocol import StreamLike

_RELATIVE = 1e-9
_SHOWN = 5

Exact = tuple[Any, ...]
Floats = tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Certificate:
    """The differences between several executions of one query.

    Attributes
    ----------
    rows : int
        Result rows, from history.
    late_rows : int
        Rows of the live log that were dropped or adjusted.
    routes : tuple of str
        Where the query ran, in addition to one thread here.
    differences : pyarrow.Table
        Rows that only another route has (``extra``), or only history (``missing``), each with the route and the reason:
        ``late rows`` or ``unexplained``.
    """

    rows: int
    late_rows: int
    routes: tuple[str, ...]
    differences: pa.Table

    if not TYPE_CHECKING:  # type checkers know the attributes
        __getattr__ = absent("A certificate", CERTIFICATE)

    @property
    def ok(self) -> bool:
        """True if every difference is explained."""
        return "unexplained" not in self.differences["reason"].to_pylist()

    def __repr__(self) -> str:
        reasons = self.differences["reason"].to_pylist()
        verdict, verb = ("certified", "the same") if self.ok else ("NOT certified", "asked")
        lines = [f"{verdict}: {self.rows:,} rows, {verb} on {', '.join(self.routes)}"]
        if late := reasons.count("late rows"):
            lines.append(f"{late:,} rows differ live; rows that were late: {self.late_rows:,}")
        if unexplained := reasons.count("unexplained"):
            lines.append(f"{unexplained:,} rows differ for an unknown reason:")
            shown = [row for row in self.differences.to_pylist() if row["reason"] == "unexplained"][:_SHOWN]
            lines += [f"  {row['route']}: {row['found']} {row['row']}" for row in shown]
        return "\n".join(lines)


def certify(query: Node, history: StreamLike, live_log: StreamLike, spark: Any, threads: int) -> Certificate:
    """Compare a backtest with a live run, row by row.

    The query runs on the history by every route, and on the log in arrival order. See :meth:`whimbrel.Stream.certify`.
    """
    log, blocks = _log(live_log)
    on_history = rebind(query, history if spark is not None else _with_all_rows(history))
    whole = running.collect(on_history)
    answers = {f"{threads} threads": running.collect(on_history, threads)}
    if spark is not None:
        from whimbrel.spark import collect_on_spark  # when it is asked for

        answers["Spark"] = collect_on_spark(on_history, spark)
    judged = Judged(log)

    def answer(source: Source) -> pa.Table:
        return running.collect(rebind(query, Node(source) if blocks is None else Node(blocks, (Node(source),))))

    logged = answer(WithOrdering(log, OrderingSpec(None)))
    _check_columns(whole, logged)
    on_time, live = answer(judged), answer(Replay(log, math.inf))
    found = [(route, *each, "unexplained") for route, other in answers.items() for each in _unlike(whole, other)]
    # From history to the same log read whole, to its rows that were on time, to these as they came: only the second
    # step leaves rows out because they were late, so whatever differs there differs because of them.
    steps = ((whole, logged, "unexplained"), (logged, on_time, "late rows"), (on_time, live, "unexplained"))
    found += [("live", *each, reason) for left, right, reason in steps for each in _unlike(left, right)]
    columns = list(zip(*found, strict=True)) or [()] * 4
    names = ["route", "found", "row", "reason"]
    differences = pa.table([pa.array(column, pa.string()) for column in columns], names=names)
    return Certificate(whole.num_rows, judged.late_rows, (*answers, "the log in arrival order"), differences)


class Judged(Source):
    """The on-time and adjusted rows of a log: history without the late rows that were dropped.

    Parameters
    ----------
    log : Source
        With a reorder latency and a late policy.

    Attributes
    ----------
    late_rows : int
        Of the last reading.
    """

    def __init__(self, log: Source) -> None:
        self.source = log
        self.name, self.time, self.schema, self.longest = log.name, log.time, log.schema, log.longest
        self.sampling = log.sampling
        self.disorder = OrderingSpec(None)
        self.late_rows = 0

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        if offset:
            raise PlanError("Late rows can be found only from the first row.", where="certify(...)",
                            hint="Read the log from the start.")
        return self._read(columns)

    def _read(self, columns: Sequence[str]) -> Iterator[Batch | None]:
        generator, by = watermark_generator_of(self.source), self.source.disorder.partition
        self.late_rows = 0
        for batch in self.source.read([*columns, *([by] if by is not None and by not in columns else [])]):
            if batch is None or not len(batch):
                continue
            current = generator.follow(batch).current
            late = batch.sync < current
            self.late_rows += int(np.count_nonzero(late))
            moved = np.where(late, current, batch.sync)
            gone = late if self.source.disorder.drops else late & (moved >= batch.other)
            kept = batch.having(sync=moved, ends=batch.other) if late.any() else batch
            yield kept.take(np.flatnonzero(~gone)).select(columns)


def _log(live_log: StreamLike) -> tuple[Source, BlockSamples | None]:
    """A log, and the step that makes samples of its blocks, if there is one."""
    node = getattr(live_log, "node", None)
    blocks = node.op if isinstance(node, Node) and isinstance(node.op, BlockSamples) else None
    node = node.inputs[0] if isinstance(node, Node) and blocks is not None else node
    if not isinstance(node, Node) or not isinstance(node.op, Source):
        raise PlanError("live_log must be a source without further steps.",
                        where="certify(...)", hint="Pass the log as it was read.")
    log = node.op
    if log.live or log.edges:
        raise PlanError(f"live_log must hold point events or intervals in arrival order; {log.name} does not.",
                        where="certify(...)",
                        hint="Pass the recorded feed, read with arrival=.")
    if log.disorder.reorder_latency is None:
        raise PlanError(f"{log.name} has no reorder latency, so a live run would never settle.",
                        where="certify(...)", hint='Add reorder_latency="..." and late="drop" where it is read.')
    return log, blocks


def _with_all_rows(history: StreamLike) -> StreamLike | Node:
    """The history; all of its rows if it is a log that would leave out late ones."""
    node = getattr(history, "node", None)
    inside = node.inputs[0] if isinstance(node, Node) and isinstance(node.op, BlockSamples) else node
    if not isinstance(node, Node) or not isinstance(inside, Node) or not isinstance(inside.op, Source):
        return history
    source = inside.op
    if source.disorder.reorder_latency is None or source.live or source.edges:
        return history
    whole = Node(WithOrdering(source, OrderingSpec(None)))
    return whole if inside is node else Node(node.op, (whole,))


def _check_columns(whole: pa.Table, logged: pa.Table) -> None:
    """Check that results have the same columns, whatever columns the sources have."""
    only = [(owner, [name for name in mine.column_names if name not in other.column_names])
            for owner, mine, other in (("history", whole, logged), ("the live log", logged, whole))]
    found = [f"only {owner} has {', '.join(map(repr, names))}" for owner, names in only if names]
    if found:
        raise SchemaError(f"The results have different columns: {'; '.join(found)}.", where="certify(...)",
                          hint="Add a select(...) to the query, with the columns to compare.")


def _unlike(whole: pa.Table, other: pa.Table) -> Iterator[tuple[str, str]]:
    """Rows that only one of two results has; floats may differ in their last digits."""
    mine, theirs = _by_exact(whole), _by_exact(other)
    for exact in dict.fromkeys([*mine, *theirs]):
        missing, extra = _unmatched(mine.get(exact, []), theirs.get(exact, []))
        yield from (("missing", _show_row(whole, exact, floats)) for floats in missing)
        yield from (("extra", _show_row(whole, exact, floats)) for floats in extra)


def _by_exact(answer: pa.Table) -> Mapping[Exact, list[Floats]]:
    """The floats of each row, by everything else in it."""
    exact = [answer[name].to_pylist() for name in _names(answer, floats=False)]
    floats = [answer[name].to_pylist() for name in _names(answer, floats=True)]
    rows: dict[Exact, list[Floats]] = defaultdict(list)
    for number in range(answer.num_rows):
        rows[tuple(repr(column[number]) for column in exact)].append(tuple(column[number] for column in floats))
    return rows


def _names(answer: pa.Table, *, floats: bool) -> list[str]:
    return [field.name for field in answer.schema if pa.types.is_floating(field.type) == floats]


def _unmatched(mine: list[Floats], theirs: list[Floats]) -> tuple[list[Floats], list[Floats]]:
    extra, missing = list(theirs), []
    for row in mine:
        match = next((index for index, other in enumerate(extra) if _alike(row, other)), None)
        if match is None:
            missing.append(row)
        else:
            del extra[match]
    return missing, extra


def _alike(left: Floats, right: Floats) -> bool:
    return all(one is other or (one is not None and other is not None and (
        math.isclose(one, other, rel_tol=_RELATIVE) or (math.isnan(one) and math.isnan(other))))
        for one, other in zip(left, right, strict=True))


def _show_row(answer: pa.Table, exact: Exact, floats: Floats) -> str:
    values = dict(zip(_names(answer, floats=False), exact, strict=True)) | dict(
        zip(_names(answer, floats=True), map(repr, floats), strict=True))
    return ", ".join(f"{name}={values[name]}" for name in answer.column_names)
