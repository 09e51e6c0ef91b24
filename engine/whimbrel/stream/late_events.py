"""Measure the lateness of a log, and select late rows."""

from __future__ import annotations

from whimbrel.errors import PlanError
from whimbrel.operators import LateRows
from whimbrel.plan import Node, Source
from whimbrel.stream.lateness import Lateness, lateness_of
from whimbrel.stream.stream import Stream


def lateness(source: Stream, *, by: str | None = None) -> Lateness:
    """Measure how late the rows of a log came. See :class:`whimbrel.stream.Lateness`.

    Reads the whole source once: its times, and nothing else.

    Parameters
    ----------
    source : Stream
        A log as it was read, without further steps; or a replay of one.
    by : str, optional
        A column that tells kinds of rows apart, such as devices that send at once what they gathered: then
        ``missing()`` and ``progressive(late=...)`` know the lateness of each.

    Raises
    ------
    PlanError
        For a feed, which has no end, and for a stream that is more than a source.
    """
    if not isinstance(source, Stream) or not isinstance(source.node.op, Source):
        raise PlanError("lateness() needs a source without further steps.", where="lateness(...)",
                        hint="Pass the log as it was read; pass a query to at(..., query=...).")
    if by is not None:
        if not isinstance(by, str):
            raise PlanError(f"by must be a column name, got {by!r}.",
                            where=f"lateness({source.node.op.name}, by={by!r})",
                            hint=f"Use one of the columns: {', '.join(source.schema.names)}.")
        source.schema.type_of(by, where=f"lateness({source.node.op.name}, by={by!r})")
    return lateness_of(source.node.op, by)


def late_rows(source: Stream) -> Stream:
    """The rows of a source that came later than promised. See :class:`whimbrel.operators.LateRows`.

    Each is an event at the time when it came. Start it together with what is asked of the source
    (:func:`whimbrel.start`), and the source is read once.

    Parameters
    ----------
    source : Stream
        As it was read, with a reorder latency and ``late="side_output"``, ``"drop"`` or ``"adjust"``.
    """
    if not isinstance(source, Stream) or not isinstance(source.node.op, Source):
        raise PlanError("late_rows() needs a source without further steps.", where="late_rows(...)",
                        hint="Pass the log, feed or replay itself.")
    log, where = source.node.op, f"late_rows({source.node.op.name})"
    if log.edges:
        raise PlanError(f"{log.name} has start and end edges, of which only one may be late.", where=where,
                        hint="Use a source of point events or intervals.")
    if log.disorder.reorder_latency is None and log.disorder.lag is None:
        raise PlanError(f"{log.name} has no reorder latency, so no row is late.", where=where,
                        hint='Add reorder_latency="..." and late="side_output" where it is read.')
    if log.disorder.late == "raise":
        raise PlanError(f'{log.name} has late="raise": its first late row is an error.', where=where,
                        hint='Use late="side_output", "drop" or "adjust".')
    return Stream(Node(LateRows(source=log), (source.node,)))
