"""Going on with a query where an earlier run of it was written down."""

from __future__ import annotations

import os

from whimbrel.run import Run
from whimbrel.stream.stream import Stream


def restore(path: str | os.PathLike[str], query: Stream, *, keep_rows: int = 1_000_000) -> Run:
    """Start a query where a checkpoint of it ends; its result rows come after those that were settled then.

    Sources are read on from the row they had come to, so they must hold the same rows in the same order; new rows
    may have been added behind them.

    Parameters
    ----------
    path : str or path
        What :meth:`whimbrel.Run.checkpoint` wrote.
    query : Stream
        The same query, over sources with the same columns.
    keep_rows : int
        As in :meth:`whimbrel.Stream.start`.

    Raises
    ------
    CheckpointError
        When there is no checkpoint, or one of another query, schema or version.

    Examples
    --------
    >>> import tempfile
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [1, 4, 12], "x": [1, 2, 3]}, time="at")
    >>> query = events.tumbling_window(10).aggregate(total=wb.sum(wb.col.x))
    >>> run = query.start()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run.checkpoint(folder + "/halfway")
    ...     later = wb.restore(folder + "/halfway", query)
    >>> later.wait()
    True
    """
    return Run(query.node, keep_rows=keep_rows, restore=path)
