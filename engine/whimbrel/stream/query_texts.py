"""Methods of streams that print the query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from whimbrel.errors import PlanError
from whimbrel.expr import Keys
from whimbrel.plan import Node
from whimbrel.stream.python_text import python_text

WRITERS: dict[str, Callable[[Any, Sequence[str]], str]] = {}
"""Functions that print a stream and its latencies in the languages of packages above this one."""

READERS: dict[str, Callable[..., Any]] = {}
"""Functions that make a stream of a text in these languages."""


class Texts:
    """Print a query as Python or as SQL."""

    node: Node
    keys: Keys

    def python(self) -> str:
        """Print the query as Python that builds it again.

        The text is a function of the streams that the query reads, in the order of ``sources``. Functions that are no
        expressions, and other objects without a text, are further arguments.

        Examples
        --------
        >>> import whimbrel as wb
        >>> log = wb.from_arrow({"at": [1, 4, 61], "x": [10, 20, 30]}, time="at", name="log")
        >>> minutes = wb.sql("SELECT tb, sum(x) AS total FROM log WHERE x > 10 GROUP BY at/60 AS tb", log=log)
        >>> print(minutes.python())
        import whimbrel as wb
        from whimbrel import col
        <BLANKLINE>
        <BLANKLINE>
        def query(log):
            return (
                log
                .where(col.x > 10)
                .tumbling_window(60)
                .aggregate(
                    tb=wb.window_start() // 60,
                    total=wb.when(wb.count(col.x) > 0).then(wb.sum(col.x)).otherwise(None),
                )
            )
        """
        return python_text(self.node, self.keys).text

    def sql(self) -> str:
        """Print the query as SQL that builds it again.

        Streams that the query reads have the names of their sources. The text of one latency ends with EMIT AT, so
        ``wb.sql`` makes a sequence of one stream of it.

        Raises
        ------
        PlanError
            For a step that has no word in SQL. The error names it.

        Examples
        --------
        >>> import whimbrel as wb
        >>> from whimbrel import col
        >>> log = wb.from_arrow({"at": [1, 4, 61], "x": [10, 20, 30]}, time="at", name="log")
        >>> print(log.where(col.x > 10).select("x").sql())
        SELECT x FROM log WHERE x > 10
        """
        return WRITERS["sql"](self, ())


class TextsOfBands:
    """Print a query at several latencies as Python or as SQL."""

    latencies: tuple[str, ...]
    query: Any
    partial: Any
    merge: Any

    def python(self) -> str:
        """Print the query at all latencies as Python.

        The text builds it again. See :meth:`whimbrel.Stream.python`.

        Examples
        --------
        >>> import whimbrel as wb
        >>> log = wb.from_arrow({"at": [1, 4, 61]}, time="at", name="log")
        >>> print(log.tumbling_window(60).aggregate(n=wb.count()).at_latencies(0, 5).python())
        import whimbrel as wb
        <BLANKLINE>
        <BLANKLINE>
        def query(log):
            return log.tumbling_window(60).aggregate(n=wb.count()).at_latencies(0, 5)
        """
        split = {} if self.partial is None else {"partial": self.partial, "merge": self.merge}
        return python_text(self.query.node, self.query.keys, self._latencies(), split).text

    def sql(self) -> str:
        """Print the query at all latencies as SQL.

        The text builds it again. See :meth:`whimbrel.Stream.sql`.

        Examples
        --------
        >>> import whimbrel as wb
        >>> log = wb.from_arrow({"at": [1, 4, 61], "x": [10, 20, 30]}, time="at", name="log")
        >>> print(log.select("x").at_latencies(0, 5).sql())
        SELECT x FROM log EMIT AT 0, 5
        """
        if self.partial is not None:
            raise PlanError("SQL has no word for partial= and merge=.", where="sql()", hint="Use python().")
        return WRITERS["sql"](self.query, self._latencies())

    def _latencies(self) -> tuple[str, ...]:
        """The latencies as users write them."""
        return self.latencies if self.query.schema.unit is None else tuple(map(repr, self.latencies))
