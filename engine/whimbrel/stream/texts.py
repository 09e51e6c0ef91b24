"""Methods of streams that print the query."""

from __future__ import annotations

from whimbrel.expr import Keys
from whimbrel.plan import Node
from whimbrel.stream.python_text import python_text


class Texts:
    """Print a query."""

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
