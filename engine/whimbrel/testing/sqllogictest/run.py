"""Run files of sqllogictest over time.

Each file is one run, and each check is a slice of a result at its time.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.errors import WhimbrelError
from whimbrel.sql import sql
from whimbrel.sql.order_by import SortedStream
from whimbrel.stream import Stream
from whimbrel.testing.sqllogictest.history import SqlHistory, TableHistory
from whimbrel.testing.sqllogictest.records import LogicRecord
from whimbrel.testing.sqllogictest.types_of_values import check_divisions
from whimbrel.testing.sqllogictest.values import agrees


@dataclass
class LogicReport:
    """What the checks of some files gave.

    Parameters
    ----------
    passed : int
    wrong : list of str
        File, line, query and rows of each answer that differs.
    refusals : Counter
        By the sentence of the error.
    examples : dict of str to str
        A query for each sentence.
    """

    passed: int = 0
    wrong: list[str] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    @property
    def checks(self) -> int:
        """All checks."""
        return self.passed + len(self.wrong) + sum(self.refusals.values())

    def add(self, other: LogicReport) -> None:
        """Add another report."""
        self.passed += other.passed
        self.wrong += other.wrong
        self.refusals += other.refusals
        self.examples = {**other.examples, **self.examples}

    def refuse(self, error: WhimbrelError, text: str) -> None:
        """Count a refusal by its sentence, with names and numbers left out."""
        words = re.sub(r"'[^']*'|\b\d+\b", "...", error.what)
        self.refusals[words] += 1
        self.examples.setdefault(words, " ".join(text.split()))


def run_records(records: Sequence[LogicRecord], name: str = "", *,
                chosen: Iterable[int] | None = None) -> LogicReport:
    """Run the records of a file.

    Every statement up to the last query takes part, so a query reads rows that are inserted and deleted before and
    after it. The time of a record is its number.

    Parameters
    ----------
    records : sequence of LogicRecord
        Of :func:`read_records`.
    name : str
        Shown with wrong answers.
    chosen : iterable of int, optional
        Numbers of the queries whose answers are checked; all by default.

    Examples
    --------
    >>> from whimbrel.testing.sqllogictest import read_records, run_records
    >>> report = run_records(read_records('''
    ... statement ok
    ... CREATE TABLE t(x INTEGER)
    ...
    ... statement ok
    ... INSERT INTO t VALUES (1), (2)
    ...
    ... query I rowsort
    ... SELECT x + 1 FROM t
    ... ----
    ... 2
    ... 3
    ... '''))
    >>> report.passed, report.wrong
    (1, [])
    """
    numbers = {number for number, record in enumerate(records) if record.kind == "query" and not record.fails}
    if chosen is not None:
        numbers &= set(chosen)
    report, history = LogicReport(), SqlHistory()
    checks: list[tuple[int, str, dict[str, TableHistory]]] = []
    last = max(numbers, default=-1)
    for number, record in enumerate(records[: last + 1]):
        if record.kind == "query":
            if number in numbers:
                checks.append((number, *history.query(record.text)))
        elif not record.fails:
            try:
                history.run(record.text, number)
            except WhimbrelError as error:
                report.refuse(error, record.text)
                history.forget(record.text)
    for number, query, tables in checks:
        record = records[number]
        try:
            streams: dict[str, Any] = {each: table.stream() for each, table in tables.items()}
            check_divisions(record.text)
            rows = rows_at(sql(query, **streams), number)
        except WhimbrelError as error:
            report.refuse(error, record.text)
            continue
        if agrees(record, rows):
            report.passed += 1
        else:
            report.wrong.append(f"{name}, line {record.line}: {record.text}\n  expected {list(record.expected)[:20]}\n"
                                f"  got {rows[:20]}")
    return report


def rows_at(stream: Stream, now: int) -> list[tuple[Any, ...]]:
    """The rows of an answer that hold at a time, in the order of the query if it has one."""
    rows = stream.rows if isinstance(stream, SortedStream) else stream
    found: pa.Table = rows.collect()
    kept = found.filter(pc.and_(pc.less_equal(found["start"], now),
                                pc.fill_null(pc.greater(found["end"], now), True)))
    if isinstance(stream, SortedStream):
        kept = stream.shown(kept)
    kept = kept.drop(["start", "end"])
    return list(zip(*(column.to_pylist() for column in kept.columns), strict=True))


def draw(records: Sequence[LogicRecord], seed: int, count: int) -> list[int]:
    """Numbers of some queries of a file."""
    queries = [number for number, record in enumerate(records) if record.kind == "query"]
    return sorted(random.Random(seed).sample(queries, min(count, len(queries))))  # noqa: S311 - no secret
