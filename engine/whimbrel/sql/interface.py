"""Public functions of SQL.

sqlglot is imported when the first text is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from whimbrel.errors import MissingExtraError, SqlError
from whimbrel.sql.deep_stack import on_deep_stack
from whimbrel.stream import Stream
from whimbrel.stream.query_texts import READERS, WRITERS

Functions = Mapping[str, Callable[..., Any]]


class SqlInterface:
    """Make streams from texts of SQL, as the public name ``wb.sql``.

    The text calls methods of streams, so SQL and Python print the same plan. It never runs code and never opens a file
    or a socket: it reads the streams and tables that it is given.

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": [1, 4, 61], "x": [10, 20, 30]}, time="at", name="log")
    >>> minutes = wb.sql("SELECT tb, sum(x) AS total FROM log GROUP BY at/60 AS tb", log=log)
    >>> minutes.collect().to_pylist()
    [{'start': 0, 'end': 60, 'tb': 0, 'total': 30}, {'start': 60, 'end': 120, 'tb': 1, 'total': 30}]
    """

    def __call__(self, text: str, /, *, parameters: Mapping[str, Any] | None = None,
                 functions: Functions | None = None, **streams: Any) -> Stream:
        """Make a stream from one query.

        Parameters
        ----------
        text : str
            One query. Views may be created before it, each statement with a semicolon at its end.
        parameters : mapping of str to value, optional
            Values of ``$name`` in the text.
        functions : mapping of str to callable, optional
            Python functions that make one expression of others, functions of :func:`whimbrel.function`, and aggregates
            of :func:`whimbrel.aggregate`; by their names in the text.
        **streams : Stream or table
            What the text can read, by name. A table of Arrow, pandas or Polars has no time: its rows hold at all
            times.

        Raises
        ------
        SqlError
            With the line, a caret and a hint.
        MissingExtraError
            Without the extra ``whimbrel[sql]``.
        """
        _check_installed()
        from whimbrel.sql.statements import run_query

        return on_deep_stack(lambda: run_query(text, streams, parameters or {}, functions or {}))

    def script(self, text: str, /, *, parameters: Mapping[str, Any] | None = None,
               functions: Functions | None = None, **streams: Any) -> dict[str, Any]:
        """Make all streams of a script, by the names of its views.

        The last query has the name ``result``. Results of EXPLAIN are texts. Parameters as for ``wb.sql``.

        Examples
        --------
        >>> import whimbrel as wb
        >>> log = wb.from_arrow({"at": [1, 4], "x": [10, 20]}, time="at", name="log")
        >>> made = wb.sql.script("CREATE VIEW large AS SELECT x FROM log WHERE x > 10; SELECT x FROM large", log=log)
        >>> sorted(made), made["result"].collect()["x"].to_pylist()
        (['large', 'result'], [20])
        """
        _check_installed()
        from whimbrel.sql.statements import run_script

        return on_deep_stack(lambda: run_script(text, streams, parameters or {}, functions or {}))


sql = SqlInterface()
"""The public name ``wb.sql``."""


def _sql_text(stream: Stream, latencies: Sequence[str]) -> str:
    _check_installed()
    from whimbrel.sql.printed_query import sql_text

    return on_deep_stack(lambda: sql_text(stream, latencies))


def _query_of_desk(text: str, streams: Mapping[str, Any], parameters: Mapping[str, Any],
                   functions: Functions) -> Any:
    """A query for a desk, whose results are in the order of time."""
    _check_installed()
    from whimbrel.sql.order_by import SortedStream
    from whimbrel.sql.statements import run_query

    made = on_deep_stack(lambda: run_query(text, streams, parameters, functions))
    if isinstance(made, SortedStream):
        raise SqlError("Results of a desk are in the order of time.", where="desk.add(...)",
                       hint="Leave ORDER BY and LIMIT out, and sort the table of the result.")
    return made


WRITERS["sql"] = _sql_text
READERS["sql"] = _query_of_desk


def _check_installed() -> None:
    if find_spec("sqlglot") is None:
        raise MissingExtraError("sqlglot", "sql", "wb.sql")
