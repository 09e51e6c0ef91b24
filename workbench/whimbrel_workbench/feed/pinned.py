"""A partial answer that a reader pinned, and how it stands to a later one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from whimbrel.progress import Estimate
from whimbrel_workbench.frames.labels import labels
from whimbrel_workbench.frames.numbers import share_words
from whimbrel_workbench.frames.quality import Remembered
from whimbrel_workbench.frames.values import floats

_ROW = "row "
"""No column of a query has a space in its name."""

_MOST_NAMED = 5
_CLOSE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """What was pinned, row by row of a later answer; NaN and null where there was no such row or value.

    Parameters
    ----------
    then : pyarrow.Table
        The pinned values of every number, by their names.
    outside : frozenset of int
        Exact rows that lie outside the interval that was pinned.
    remembered : Remembered
    """

    then: pa.Table
    outside: frozenset[int]
    remembered: Remembered


class Pinned:
    """A picture, held to what comes of it.

    Parameters
    ----------
    answer : Estimate
    keys : sequence of str
        Columns that say, beside the start, what a row speaks of.
    """

    def __init__(self, answer: Estimate, keys: Sequence[str]) -> None:
        self._keys = list(keys)
        self._then = _plain(answer.table)
        self._words = f"the picture at {share_words(answer.share or 0.0)} of the rows"

    def beside(self, table: pa.Table, settled: int, value: str, *, final: bool) -> Compared:
        """Compare with a later answer, of which so many rows are exact."""
        subject = ["start", *self._keys]
        told = [name for name in self._then.column_names if name not in (*subject, "end")]
        rows = _plain(table.select(subject)).append_column(_ROW, pa.array(np.arange(len(table))))
        joined = rows.join(self._then.select([*subject, *told]), keys=subject).sort_by(_ROW)
        open_ = pa.array(np.arange(len(table)) >= settled)
        names = [name for name in told if name in table.column_names and _is_number(table.schema.field(name).type)]
        then = pa.table({name: pc.if_else(open_, None, joined.column(name)) for name in names})
        outside, judged = self._judged(table, joined, settled, value)
        verdict = self._without_intervals(table, then, value) if final and not judged else (
            self._verdict(table, settled, outside, judged, final=final))
        return Compared(then, frozenset(outside.tolist()), verdict)

    def _judged(self, table: pa.Table, joined: pa.Table, settled: int, value: str) -> tuple[NDArray[np.intp], int]:
        """Exact rows outside their interval, and how many had one."""
        if f"{value}_low" not in joined.column_names:
            return np.empty(0, np.intp), 0
        now = floats(table.column(value))
        low, high = (floats(joined.column(f"{value}_{end}")) for end in ("low", "high"))
        slack = _CLOSE * np.abs(now)
        judged = (np.isfinite(low) | np.isfinite(high)) & (np.arange(len(table)) < settled)
        with np.errstate(invalid="ignore"):
            outside = judged & ((now < low - slack) | (now > high + slack))
        return np.flatnonzero(outside), int(judged.sum())

    def _verdict(self, table: pa.Table, settled: int, outside: NDArray[np.intp], judged: int, *,
                 final: bool) -> Remembered:
        if not judged:
            return Remembered(self._words, "open", "no value with an interval is exact yet")
        said = f"{judged - len(outside):,} of {judged:,} exact values lie within their intervals"
        if len(outside):
            named = labels(table, self._keys)
            names = list(dict.fromkeys(named.names[code] for code in named.codes[outside[:_MOST_NAMED]]))
            said += f", not {', '.join(filter(None, names)) or 'the others'}"
        return Remembered(self._words, "overturned" if len(outside) else "holds" if final else "open",
                          said + (self._new(table) if final else ""))

    def _without_intervals(self, table: pa.Table, then: pa.Table, value: str) -> Remembered:
        """At the end there is nothing to hold values to, but how far off they were is known."""
        said = f"it had no interval of {value}"
        if value in then.column_names:
            was, now = floats(then.column(value)), floats(table.column(value))
            there = np.isfinite(was) & np.isfinite(now)
            if there.any():
                was, now = was[there], now[there]
                size = np.abs(np.where(now == 0, was, now))
                worst = float((np.abs(now - was) / np.where(size == 0, 1.0, size)).max())
                said += f"; {len(now):,} of its values were off by up to {share_words(worst)}"
        return Remembered(self._words, "exact", said + self._new(table))

    def _new(self, table: pa.Table) -> str:
        new = len(table) - len(self._then)
        return f"; {new:,} rows were not seen yet" if new > 0 else ""


def _plain(table: pa.Table) -> pa.Table:
    """Texts as texts: rows are not joined by codes of different dictionaries."""
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(place, field.name, table.column(place).cast(field.type.value_type))
    return table


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))
