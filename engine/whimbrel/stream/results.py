"""Results as frames, their first rows, and statistics of their columns."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel import run as running
from whimbrel.aggregates.approximate import quantile_sorted
from whimbrel.batch import table_from_batches
from whimbrel.errors import PlanError
from whimbrel.plan import Node

P = ParamSpec("P")
R = TypeVar("R")

_FRACTIONS = {"min": Fraction(0), "25%": Fraction(1, 4), "50%": Fraction(1, 2), "75%": Fraction(3, 4),
              "max": Fraction(1)}


class ResultMethods:
    """Show the first rows of a query, describe its columns, convert its result, or pass it to a function."""

    node: Node
    collect: Callable[..., Any]

    def head(self, n: int = 10) -> pa.Table:
        """Return the first settled rows, and stop reading.

        Columns as in :meth:`collect`. Rows are in the order in which they settle. A query on a feed waits until `n`
        rows are settled, or the feed ends. With 0 rows, no source is opened.

        Parameters
        ----------
        n : int
            The largest number of rows. With 0, the table has the columns only.

        Examples
        --------
        >>> import whimbrel as wb
        >>> log = wb.from_arrow({"at": [1, 4, 12], "x": [10, 20, 30]}, time="at")
        >>> log.select("x").head(2).to_pylist()
        [{'start': 1, 'end': 2, 'x': 10}, {'start': 4, 'end': 5, 'x': 20}]
        """
        check_head(n)
        found: list[pa.RecordBatch] = []
        missing = n
        if not n:  # without opening a source
            return table_from_batches(self.node.schema, [])
        with closing(running.batches(self.node)) as batches:
            for batch in batches:
                found.append(batch.slice(0, missing))
                missing -= found[-1].num_rows
                if not missing:
                    break
        return pa.Table.from_batches(found) if found else table_from_batches(self.node.schema, [])

    def to_pandas(self) -> Any:
        """Return the result as a data frame of pandas.

        The same as ``collect(as_="pandas")``.

        Raises
        ------
        MissingExtraError
            Without pandas.
        """
        return self.collect(as_="pandas")

    def to_polars(self) -> Any:
        """Return the result as a data frame of Polars.

        The same as ``collect(as_="polars")``.

        Raises
        ------
        MissingExtraError
            Without Polars.
        """
        return self.collect(as_="polars")

    def describe(self) -> pa.Table:
        """Run the query to its end, and return statistics of each column.

        The rows are count, null_count, mean, std, min, 25%, 50%, 75% and max. The column `statistic` has their names.
        Columns of numbers have floats, which round integers above 2^53. Other columns have texts, and null for mean,
        std and quantiles. Quantiles are linear. The standard deviation is that of a sample. As in
        aggregates, NaN is a value and the largest one.

        Raises
        ------
        PlanError
            For a stream of a feed, which has no end.

        Examples
        --------
        >>> import whimbrel as wb
        >>> log = wb.from_arrow({"at": [1, 4, 12], "x": [10, 20, 30], "k": ["a", "b", None]}, time="at")
        >>> found = log.select("x", "k").describe().to_pylist()
        >>> [(row["statistic"], row["x"], row["k"]) for row in found[:4]]
        [('count', 3.0, '2'), ('null_count', 0.0, '1'), ('mean', 20.0, None), ('std', 10.0, None)]
        """
        live = next((source.name for source in self.node.sources() if source.live), None)
        if live is not None:
            raise PlanError(f"describe() needs a stream that ends, and {live!r} is live.", where="describe()",
                            hint="Use head(10), or aggregates of windows.")
        table = self.collect()
        statistics = {name: _statistics(table[name]) for name in table.schema.names[2:]}
        names = pa.array(["count", "null_count", "mean", "std", *_FRACTIONS])
        return pa.table([names, *statistics.values()], names=["statistic", *statistics])

    def pipe(self, function: Callable[Concatenate[Self, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Pass the stream to a function, and return the function's result.

        Parameters
        ----------
        function : callable
            Its first argument is the stream.
        *args, **kwargs
            Further arguments of the function.

        Examples
        --------
        >>> import whimbrel as wb
        >>> above = lambda log, limit: log.where(wb.col.x > limit)
        >>> wb.from_arrow({"at": [1, 4], "x": [10, 20]}, time="at").pipe(above, 15).collect()["x"].to_pylist()
        [20]
        """
        return function(self, *args, **kwargs)


def check_head(n: object) -> None:
    """Refuse a number of rows that is not an integer from 0."""
    if not isinstance(n, int) or isinstance(n, bool) or n < 0:
        raise PlanError(f"n must be an integer of at least 0, got {n!r}.", where=f"head({n!r})", hint="Use head(10).")


def _statistics(values: pa.ChunkedArray) -> pa.Array:
    count, nulls = len(values) - values.null_count, values.null_count
    if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        numbers = pc.cast(values, pa.float64(), safe=False)
        std = pc.stddev(numbers, ddof=1).as_py()
        ordered = np.sort(numbers.drop_null().to_numpy())  # NaN comes last
        begin, end = np.array([0]), np.array([count])
        quantiles = [quantile_sorted(fraction, ordered, begin, end)[0] if count else None
                     for fraction in _FRACTIONS.values()]
        return pa.array([count, nulls, pc.mean(numbers).as_py(), std, *quantiles], pa.float64(), from_pandas=False)
    ordered_as = pa.int64() if pa.types.is_duration(values.type) else values.type  # Arrow orders no durations
    try:
        bounds = pc.min_max(values.cast(ordered_as)).values()
        least, greatest = (_text(value.cast(values.type)) for value in bounds)
    except pa.ArrowNotImplementedError:  # lists, structs and dictionaries have no order in Arrow
        least = greatest = None
    return pa.array([str(count), str(nulls), None, None, least, None, None, None, greatest], pa.string())


def _text(value: pa.Scalar) -> str | None:
    try:
        return str(value) if value.is_valid else None
    except (OverflowError, ValueError):  # Python has no such time
        return str(value.value)
