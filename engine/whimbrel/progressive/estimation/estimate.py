"""Estimates: values scaled to all rows, their intervals and a summary."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Column
from whimbrel.errors import PlanError, near_match
from whimbrel.migration_hints import ESTIMATE, absent
from whimbrel.plan import Node
from whimbrel.progressive.estimation.block_sample import BlockSample, PendingSample
from whimbrel.progressive.estimation.compare import Comparison, NoSuchRowError, SeveralRowsError, Verdict, compared
from whimbrel.progressive.intervals.sample_values import as_floats
from whimbrel.progressive.plan.query_split import ROW
from whimbrel.progressive.sampling.unseen_groups import unseen_fraction, unseen_rows
from whimbrel.progressive.validation import check_number
from whimbrel.run import Metrics

Array = np.ndarray[Any, Any]

_FLOAT = pa.float64()
_OF_DRAWN = "unread blocks are assumed to resemble the blocks read, which also decide what has an interval"
_OF_ALL = "a pilot sample of all blocks shows how much unread blocks may differ"
"""The assumption of approximate intervals."""
_MAX_EXACT_INTEGER = 2**53
"""Floats represent all integers up to this one."""


class Estimate:
    """The result of a sample, scaled to all rows.

    The result is exact when all rows were read.

    Parameters
    ----------
    metrics : Metrics
    version : int
    final : bool
    confidence : float
    fallback_reason : str
        Why there are no intervals; empty if there are.

    Attributes
    ----------
    table : pyarrow.Table
        start, end, keys; then each value, scaled to all rows, with its interval in ``<value>_low`` and ``<value>_high``
        (null: no bound). Exact rows come first, then the others, each by start.
    settled : int
        The number of exact rows in the table.
    fraction_read : float or None
        The fraction of the source's rows that was read.
    relative_error : float
        The largest distance of an end of an interval from its value, as a fraction of the value. Infinite if an
        interval is missing, 0 at the end.
    summary : str
        How much was read, the relative errors, and what the intervals rest on.
    all_read : bool
        Whether all rows were read.
    """

    if not TYPE_CHECKING:  # type checkers know the attributes
        __getattr__ = absent("An estimate", ESTIMATE)

    def __init__(self, metrics: Metrics, *, version: int, final: bool, confidence: float, fallback_reason: str = "",
                 pending: PendingSample | None = None, alpha: float = 0.05,
                 rows: Callable[[], pa.Table] | None = None, settled: int | None = None,
                 growing: Sequence[str] = ()) -> None:
        self.metrics, self.version, self.final = metrics, version, final
        self.confidence, self.fallback_reason = confidence, fallback_reason
        self._pending, self._alpha, self._rows, self._settled = pending, alpha, rows, settled
        self._growing = growing
        self.all_read = final
        self.overturned: tuple[Comparison, ...] = ()

    @property
    def sample(self) -> BlockSample | None:
        """The sample of the estimate; None if there are no intervals."""
        return None if self._pending is None else self._pending.sample

    @property
    def fraction_read(self) -> float | None:
        """The fraction of the source's rows that was read."""
        return self.metrics.fraction_read

    @cached_property
    def table(self) -> pa.Table:
        sample = self.sample
        if self._rows is not None:
            table = self._rows()
            return table if sample is None else self._with_intervals(table, sample)
        assert sample is not None
        order, keys = self._order, sample.columns
        found = keys | _with_ends(self._columns, *self.bounds) | keys  # keys win over values of their name
        table = pa.Table.from_arrays(list(found.values()), list(found))
        return table if order is None else table.take(Column(pa.int64(), order).to_arrow())

    @property
    def raw_table(self) -> pa.Table:
        """The result without allowance for late rows, at the end.

        It is the result of the rows that were read.
        """
        return self.table

    @property
    def _columns(self) -> dict[str, Column]:
        """Values by name, in the order in which groups were found."""
        assert self.sample is not None
        names = self.sample.values.names
        return dict(zip(names, self.sample.values.answer.columns[-len(names) :], strict=True))

    @property
    def settled(self) -> int:
        """The number of exact rows in the table."""
        if self.final:
            return int(self.table.num_rows)
        if self._settled is None and self._rows is not None:
            _ = self.table  # sets it: later operators may drop rows
        if self._settled is not None:
            return self._settled
        return int(self.exact.sum())

    @property
    def exact(self) -> Array:
        """Rows that are exact, in the order in which groups were found."""
        if self.final and self.sample is None:
            return np.ones(self.table.num_rows, np.bool_)
        return self._known_sample("exact").state.read.exact

    _complete = "exact"
    """What the summary calls exact rows."""

    @property
    def _estimated(self) -> Array:
        """Rows whose values are estimates."""
        return ~self.exact

    @property
    def numbers(self) -> Array:
        """Values as floats, by value and row; NaN for null.

        Rows are in the order in which groups were found.
        """
        return self._known_sample("numbers").values.numbers

    def _known_sample(self, asked: str) -> BlockSample:
        """The sample, for an attribute that needs intervals."""
        if self.sample is None:
            raise PlanError(f"This estimate has no intervals: {self.fallback_reason}.", where=asked,
                            hint="Use the first answer.settled rows of answer.table: they are exact.")
        return self.sample

    @property
    def _two_ended(self) -> Array:
        assert self.sample is not None
        return self.sample.two_ended

    @property
    def _judged(self) -> bool:
        """Whether values have error bounds."""
        return self.sample is not None

    @cached_property
    def _order(self) -> Array | None:
        """Exact rows first, then the others, each by start; None if they are in this order."""
        assert self.sample is not None
        sample, exact = self.sample, self.exact
        if sample.state.rows.in_order and bool((exact[1:] <= exact[:-1]).all()):
            return None
        return np.lexsort((sample.state.starts, ~exact))

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """Lower and upper ends of the intervals, by row and value.

        Rows are in the order in which groups were found.
        """
        return self._bounds_at(self._alpha)

    def _bounds_at(self, alpha: float) -> tuple[Array, Array]:
        return self._known_sample("bounds").bounds(alpha)

    def _ends_at(self, alpha: float) -> tuple[Array, Array]:
        """Ends of intervals for comparisons, by value and row."""
        assert self.sample is not None
        return self.sample.intervals.ends(alpha)

    @cached_property
    def errors(self) -> Array:
        """Relative error of each value, by row and value.

        It is NaN for values that cannot have an interval.
        """
        (low, high), numbers, two_ended = self.bounds, self.numbers, self._two_ended
        out = np.empty(low.shape)
        for value in range(low.shape[1]):
            with np.errstate(divide="ignore", invalid="ignore"):
                number = np.clip(numbers[value], low[:, value], high[:, value])
                away = np.maximum(high[:, value] - number, number - low[:, value])
                out[:, value] = np.where(away == 0, 0.0, away / np.abs(number)) if two_ended[value] else np.nan
        return out

    @property
    def relative_error(self) -> float:
        """The largest relative error of all values."""
        return 0.0 if self.final else self.error_of(None)

    def error_of(self, value: str | None) -> float:
        """The largest relative error of one value, or of all."""
        asked = [] if value is None or not self._judged else [self._value(value)]
        if self.final:
            return 0.0
        if not self._judged or not len(self.exact):
            return float("inf")
        errors = self.errors[:, asked or [self._value(name) for name in self._result_columns]]
        known = errors[:, ~np.isnan(errors).all(axis=0)]
        return float(np.where(np.isnan(known), np.inf, known).max()) if known.size else float("inf")

    def bounded(self, value: str) -> bool:
        """True if the intervals of a value have two ends eventually.

        They have them once enough was read.
        """
        return self._judged and value in self._result_columns and bool(self._two_ended[self._value(value)])

    def compare(self, left: Mapping[str, Any], right: Mapping[str, Any], value: str | None = None) -> Comparison:
        """Compare the values of two rows.

        The comparison says which is larger, and with what confidence.

        Parameters
        ----------
        left, right : mapping of str to value
            The row: its keys, and ``start`` if there are several windows.
        value : str, optional
            Default: the first value.
        """
        if self.sample is None:
            raise PlanError(f"This estimate has no intervals: {self.fallback_reason}.", where="compare(...)",
                            hint="Compare rows of the final table.")
        number = 0 if value is None else self._value(value)
        return compared(self.sample, self._value_names[number], number, left, right, numbers=self.numbers,
                        whole=self._integers(number), exact=self.exact | self.final, ends=self._ends_at)

    def verdict(self, claim: Comparison) -> Verdict:
        """Check a claim against this estimate.

        The claim is undecided while its rows were not read.
        """
        try:
            now = self.compare(claim.left, claim.right, claim.value)
        except (NoSuchRowError, SeveralRowsError) as error:
            now = claim.unknown(certain=self.final and isinstance(error, NoSuchRowError))
        return Verdict(claim, now)

    def ranking(self, k: int, value: str | None = None) -> tuple[bool, list[dict[str, Any]]]:
        """Rank the k largest values, with a check of their order.

        The result has the keys, and whether their order is certain: each interval is above the next.

        Unseen groups are bounded for counts only. For other values, the order is certain among the groups seen.
        """
        check_number(k, name="k", must="an integer of at least 1", whole=True, where=f"ranking({k!r})",
                     hint="Use ranking(3).")
        if self.sample is None:
            return self.final, []
        number = 0 if value is None else self._value(value)
        order = np.argsort(-np.nan_to_num(self.numbers[number], nan=-np.inf), kind="stable")
        if (whole := self._integers(number)) is not None:  # floats cannot distinguish large integers
            order = order[np.lexsort((-whole[order], -np.nan_to_num(self.numbers[number][order], nan=-np.inf)))]
        top, rest = order[:k], order[k:]
        low, high = (bound[:, number] for bound in self._bounds_at(self._alpha / max(k, 1)))
        unseen = unseen_rows(self.sample.state, self._alpha) if self.sample.split.values.counts[number] else -np.inf
        above = [*(low[top[:-1]] >= high[top[1:]]), *(low[top[-1:]] >= high[rest].max(initial=unseen))]
        names = [field.name for field in self.sample.split.key_fields]
        columns = [key.take(top).to_arrow().to_pylist() for key in self.sample.state.keys[1:]]
        certain = all(above) and (self.final or len(top) == k)  # unseen groups may be among them
        return certain, [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    @property
    def summary(self) -> str:
        """The fraction read, the relative errors, and the assumption of the intervals."""
        if self.final:
            return "final: all rows read"
        read = "" if self.fraction_read is None else f"{self.fraction_read:.1%} of the rows read; "
        if self.fallback_reason or not self._judged:
            minimum = f"; {', '.join(self._growing)} can only grow" if self._growing else ""
            exact = f"{self.settled:,} rows exact; " if self.settled else ""
            return f"{read}{exact}partial result, no error bound: {self.fallback_reason}{minimum}"
        asked = {self._value(name): name for name in self._result_columns}
        errors = self.errors[self._estimated][:, list(asked)]
        names = np.array(list(asked.values()), np.object_)
        known = errors[(errors > 0) & (errors < 1)]
        parts = [f"{read}{self.settled:,} of {len(self.exact):,} rows {self._complete}"]
        unknown, certain = np.isinf(errors), (errors == 0).all(axis=0)
        rows_unknown = unknown.any(axis=1)
        if rows_unknown.any():
            some = unknown.any(axis=0)
            of = "" if some.all() else f" of {', '.join(names[some])}"
            parts.append(f"{rows_unknown.sum():,} rows without an interval{of} yet")
        if len(errors) and certain.any():
            parts.append(f"{', '.join(names[certain])} exact in all rows")
        if known.size:
            parts.append(f"others within {np.median(known):.2%} (half of them), {known.max():.2%} (all with an "
                         f"interval), {self.confidence:.0%} confidence at every update")
        wide = ((errors >= 1) & np.isfinite(errors)).any(axis=1) & ~rows_unknown
        if wide.any():
            parts.append(f"{wide.sum():,} rows with a relative error above 100%")
        parts += self._kind(known.size > 0)
        if self.unseen:
            parts.append("groups may be missing" if self.unseen == 1 else
                         f"groups in fewer than {self.unseen:.1%} of the blocks may be missing")
        parts += [*self.late_summary, *(f"overturned: {claim.summary}" for claim in self.overturned)]
        return "; ".join(parts)

    def _kind(self, known: bool) -> list[str]:
        """The kind of the intervals, if there are any, and why others are missing."""
        sample = self.sample
        if sample is None:
            return []
        if sample.guaranteed is not None:
            return sample.guaranteed.notes
        rest = _OF_DRAWN if sample.state.statistics is None else _OF_ALL
        return [f"approximate intervals: {rest}"] if known else []

    @property
    def late_summary(self) -> list[str]:
        """The part of the summary about late rows, with ``late=``."""
        return []

    @cached_property
    def unseen(self) -> float:
        """Fraction of blocks that an unseen group may have.

        Groups in a larger fraction of the blocks were seen, with the confidence of the estimate.
        """
        return 0.0 if self.all_read or self.sample is None else unseen_fraction(self.sample.state, 1 - self.confidence)

    @property
    def _value_names(self) -> list[str]:
        assert self.sample is not None
        return list(self.sample.values.names)

    def _integers(self, value: int) -> Array | None:
        """The values themselves if they are integers, by row."""
        column = self._columns[self._value_names[value]]
        return np.asarray(column.values) if column.fixed and column.values.dtype.kind in "iu" else None

    def _value(self, name: str) -> int:
        """The number of a value, by the name that it has in the answer."""
        check_value(name, self._result_columns)
        return self._value_names.index(self._result_columns[name])

    @property
    def _result_columns(self) -> Mapping[str, str]:
        """By column of the answer that is an estimated value, the name of the value."""
        assert self.sample is not None
        return self.sample.split.result_columns

    def _with_intervals(self, table: pa.Table, sample: BlockSample) -> pa.Table:
        """The table of the operators after the aggregate, with intervals; exact rows first."""
        names = list(self._result_columns)
        if self.final and ROW not in table.column_names:  # finalized from states
            exact = np.array([as_floats(column_of(table, name)) for name in names]).reshape(len(names), -1).T
            return with_columns(table, names, exact, exact)
        rows, table = self._placed(table, sample)
        values = [self._value(name) for name in names]
        return with_columns(table, names, *(bound[rows][:, values] for bound in self.bounds))

    def _placed(self, table: pa.Table, sample: BlockSample) -> tuple[Array, pa.Table]:
        """The rows of the sample for the rows of a table, and the table; exact rows first."""
        if ROW in table.column_names:
            rows, table = np.asarray(column_of(table, ROW).values), table.drop_columns([ROW])
        else:
            keys = [column_of(table, field.name) for field in sample.split.key_fields]
            starts = Column(pa.int64(), np.asarray(column_of(table, "start").values))
            rows = np.asarray(sample.totals.keys.ids([starts, *keys], table.num_rows))
        exact = self.exact[rows]
        order, self._settled = np.argsort(~exact, kind="stable"), int(exact.sum())
        return rows[order], table.take(Column(pa.int64(), order).to_arrow())

    def __repr__(self) -> str:
        return f"Estimate: {self.summary}"


def with_ends(table: pa.Table, settled: int, grows: Mapping[str, bool]) -> pa.Table:
    """A partial result with one-ended intervals of values that can only grow or shrink; the first rows are exact."""
    names = [name for name in grows if name in table.column_names]
    if not names:
        return table
    values = np.array([as_floats(column_of(table, name)) for name in names]).reshape(len(names), -1).T
    exact = np.arange(len(values))[:, None] < settled
    up = np.array([grows[name] for name in names], np.bool_)
    return with_columns(table, names, np.where(exact | up, values, -np.inf), np.where(exact | ~up, values, np.inf))


def with_columns(table: pa.Table, names: list[str], low: Array, high: Array) -> pa.Table:
    """Each value, clipped to its interval, followed by its ends; values that are not numbers have none."""
    there = [number for number, name in enumerate(names) if name in table.column_names]
    columns = {names[number]: column_of(table, names[number]) for number in there}
    ends = _with_ends(columns, low[:, there], high[:, there])
    found: dict[str, Any] = {}
    for name, held in zip(table.column_names, table.columns, strict=True):
        found[name] = ends.get(name, held)
        found |= {end: ends[end] for end in end_names(name) if name in names and end in ends}
    return pa.Table.from_arrays(list(found.values()), list(found))


def _with_ends(columns: Mapping[str, Column], low: Array, high: Array) -> dict[str, pa.Array]:
    """Values, each clipped to its interval, and followed by its ends if it is a number."""
    found = {}
    known_low, known_high = np.isfinite(low.T), np.isfinite(high.T)
    for (name, column), bottom, top, *known in zip(columns.items(), low.T, high.T, known_low, known_high, strict=True):
        if column.fixed and column.values.dtype.kind in "iuf":
            found[name] = _inside(column, bottom, top).to_arrow()
            ends = _outward(column.values, bottom, top)
            for called, end, there in zip(end_names(name), ends, known, strict=True):
                found[called] = Column(_FLOAT, end, None if there.all() else there).to_arrow()
        else:
            found[name] = column.to_arrow()
    return found


def check_value(name: str, known: Collection[str]) -> None:
    """Check that a name is one of these values."""
    if name not in known:
        raise PlanError(f"There is no value {name!r} with an estimate.", where=f"value={name!r}",
                        hint=near_match(str(name), known, noun="value"))


def check_ends(plan: Node, values: Iterable[str]) -> None:
    """Check that no column has the name of an interval column of another value."""
    types = {field.name: field.type for field in plan.schema}
    for name in {*values} & {*types}:
        number = pa.types.is_primitive(types[name]) and not pa.types.is_boolean(types[name])
        if taken := {*end_names(name)} & {*types} if number else None:
            raise PlanError(f"The interval of {name} needs the columns {' and '.join(end_names(name))}, but the query "
                            f"has another column {min(taken)}.", where="progressive()", hint=f"Rename {min(taken)}.")


def end_names(name: str) -> tuple[str, str]:
    """The columns of a value's interval."""
    return f"{name}_low", f"{name}_high"


def _outward(values: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Ends that equal the value, rounded outward if no float equals it."""
    if values.dtype.kind == "f" or not (np.abs(values.astype(np.float64)) > _MAX_EXACT_INTEGER).any():
        return low, high
    rounded = values.astype(np.float64)
    off = [int(near) - value for near, value in zip(rounded.tolist(), values.tolist(), strict=True)]
    above, below = (np.array([side * each > 0 for each in off]) for side in (1, -1))
    return (np.where((low == rounded) & above, np.nextafter(low, -np.inf), low),
            np.where((high == rounded) & below, np.nextafter(high, np.inf), high))


def _inside(column: Column, low: Array, high: Array) -> Column:
    values = np.asarray(column.values)
    beyond = (values < low) | (values > high)
    if not beyond.any():
        return column
    values, outside = values.copy(), np.flatnonzero(beyond)
    moved = np.clip(values[outside], low[outside], high[outside])
    values[outside] = moved if values.dtype.kind == "f" else np.rint(moved)
    return Column(column.type, values, column.valid)


def column_of(table: pa.Table, name: str) -> Column:
    """A column of a table, in one piece."""
    column = table.column(name)
    return Column.from_arrow(column.chunk(0) if column.num_chunks == 1 else column.combine_chunks())
