"""Compare a pinned estimate with a later one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from whimbrel.batch import Column
from whimbrel.kernels import KeyTable
from whimbrel.progressive import Estimate
from whimbrel_workbench.frames.arrow_values import floats
from whimbrel_workbench.frames.estimate_quality import PinnedClaim
from whimbrel_workbench.frames.format_numbers import format_fraction
from whimbrel_workbench.frames.labels import labels

Indices = NDArray[np.int64]

_MAX_NAMED = 5
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
    pinned : PinnedClaim
    """

    then: pa.Table
    outside: frozenset[int]
    pinned: PinnedClaim


class Pinned:
    """An estimate that is compared with later ones.

    Parameters
    ----------
    answer : Estimate
    keys : sequence of str
        Columns that, with the start, identify a row.
    names : sequence of str
        Columns of the answer; its others are ends of intervals, whatever those are called.
    """

    def __init__(self, answer: Estimate, keys: Sequence[str], names: Sequence[str]) -> None:
        self._keys, self._subject = list(keys), ["start", *keys]
        table = answer.table
        self._then = table.select(self._subject)
        # Only numbers are compared: what else there is, such as lists, need not be kept.
        numbers = [field.name for field in table.schema if _is_number(field.type)]
        self._values = table.select([name for name in numbers if name in names and name not in (*self._subject, "end")])
        self._ends = table.select([name for name in numbers if name not in names])
        self._summary = f"estimate at {format_fraction(answer.fraction_read or 0.0)} of the rows"

    def compare(self, table: pa.Table, settled: int, value: str, *, final: bool) -> Compared:
        """Compare with a later answer, of which so many rows are exact."""
        found = _places_among(self._then, table.select(self._subject))
        places = np.full(len(table), -1) if found is None else found
        exact = np.arange(len(table)) < settled
        then = pa.table({name: _taken(self._values.column(name), np.where(exact, places, -1))
                         for name in self._values.column_names})
        if found is None:
            said = f"cannot compare: several rows have the same {' and '.join(self._subject)}"
            return Compared(then, frozenset(), PinnedClaim(self._summary, "exact" if final else "open", said))
        new = int((places < 0).sum())
        outside, judged = self._judged(table, places, exact, value)
        verdict = self._without_intervals(table, then, value, new) if final and not judged else (
            self._verdict(table, outside, judged, new, final=final))
        return Compared(then, frozenset(outside.tolist()), verdict)

    def _judged(self, table: pa.Table, places: Indices, exact: NDArray[np.bool_],
                value: str) -> tuple[NDArray[np.intp], int]:
        """Exact rows outside their interval, and how many had one."""
        if not {f"{value}_low", f"{value}_high"} <= set(self._ends.column_names):
            return np.empty(0, np.intp), 0
        now = floats(table.column(value))
        low, high = (floats(_taken(self._ends.column(f"{value}_{end}"), places)) for end in ("low", "high"))
        slack = _CLOSE * np.abs(now)
        judged = (np.isfinite(low) | np.isfinite(high)) & exact
        with np.errstate(invalid="ignore"):
            outside = judged & ((now < low - slack) | (now > high + slack))
        return np.flatnonzero(outside), int(judged.sum())

    def _verdict(self, table: pa.Table, outside: NDArray[np.intp], judged: int, new: int, *,
                 final: bool) -> PinnedClaim:
        if not judged:
            return PinnedClaim(self._summary, "open", "no value with an interval is exact yet")
        said = f"{judged - len(outside):,} of {judged:,} exact values are within their intervals"
        if len(outside):
            named = labels(table, self._keys)
            names = list(dict.fromkeys(named.names[code] for code in named.codes[outside[:_MAX_NAMED]]))
            said += f", except {', '.join(filter(None, names)) or 'the others'}"
        return PinnedClaim(self._summary, "overturned" if len(outside) else "holds" if final else "open",
                          said + (_new_words(new) if final else ""))

    def _without_intervals(self, table: pa.Table, then: pa.Table, value: str, new: int) -> PinnedClaim:
        """Without intervals, only the final relative error of the values is known."""
        said = f"no intervals for {value}"
        if value in then.column_names:
            was, now = floats(then.column(value)), floats(table.column(value))
            there = np.isfinite(was) & np.isfinite(now)
            if there.any():
                was, now = was[there], now[there]
                size = np.abs(np.where(now == 0, was, now))
                worst = float((np.abs(now - was) / np.where(size == 0, 1.0, size)).max())
                said += f"; {len(now):,} values were wrong by up to {format_fraction(worst)}"
        return PinnedClaim(self._summary, "exact", said + _new_words(new))


def _places_among(then: pa.Table, now: pa.Table) -> Indices | None:
    """Of each row the number of its like among those that were; -1 of one that was not there, null is like null.

    None where several are alike, then or now.
    """
    known, asked = ([_whole(column) for column in rows.columns] for rows in (then, now))
    table = KeyTable([column.type for column in known])
    was, ids = table.ids(known, len(then)), table.ids(asked, len(now))
    if any(len(np.unique(each)) < len(each) for each in (was, ids)):
        return None
    places = np.full(len(table), -1)
    places[was] = np.arange(len(was))
    return places[ids]


def _taken(column: pa.ChunkedArray, places: Indices) -> pa.ChunkedArray:
    """The values of rows; null for those that were not there."""
    return column.take(pa.array(places, mask=places < 0))


def _new_words(new: int) -> str:
    return f"; {new:,} rows are new" if new else ""


def _whole(column: pa.ChunkedArray) -> Column:
    return Column.from_arrow(column.combine_chunks())


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
