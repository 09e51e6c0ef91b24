"""Resume a query from a checkpoint."""

from __future__ import annotations

import os
from typing import overload

from whimbrel import run as running
from whimbrel.run import Run
from whimbrel.stream.start import check
from whimbrel.stream.stream import Stream


@overload
def restore(path: str | os.PathLike[str], query: Stream, /, *, keep_rows: int = ...) -> Run: ...


@overload
def restore(path: str | os.PathLike[str], query: Stream, second: Stream, /, *more: Stream,
            keep_rows: int = ...) -> tuple[Run, ...]: ...


def restore(path: str | os.PathLike[str], /, *queries: Stream, keep_rows: int = 1_000_000) -> Run | tuple[Run, ...]:
    """Resume a query from a checkpoint.

    The result rows of the run come after those that were settled in the checkpoint.

    Queries that were started together are restored together, all of them and in their order; one that was stopped
    before the checkpoint is given, too, and stays stopped.

    Sources are read on from the row they had come to, so they must hold the same rows in the same order; new rows
    may have been added after them.

    Parameters
    ----------
    path : str or path
        What :meth:`whimbrel.Run.checkpoint` wrote.
    *queries : Stream
        The same query, or queries, over sources with the same columns.
    keep_rows : int
        As in :meth:`whimbrel.Stream.start`.

    Returns
    -------
    Run or tuple of Run
        One for each query.

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
    check(queries, f"restore({str(path)!r}, ...)")
    runs = running.start(*(query.node for query in queries), keep_rows=keep_rows, restore=path)
    return runs if len(runs) > 1 else runs[0]
