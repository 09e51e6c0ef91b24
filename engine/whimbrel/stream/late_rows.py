"""Measure the lateness of a log, and select late rows."""

from __future__ import annotations

from whimbrel.errors import PlanError
from whimbrel.operators import LateRows
from whimbrel.plan import Node, Source
from whimbrel.stream.lateness import Lateness, lateness_of
from whimbrel.stream.stream import Stream


def lateness(source: Stream, *, by: str | None = None) -> Lateness:
    """Measure the lateness of the rows of a log.

    See :class:`whimbrel.stream.Lateness`.

    It reads the times of the whole source once.

    Parameters
    ----------
    source : Stream
        A log without further steps, or a replay of one.
    by : str, optional
        A column whose values have different lateness, such as devices that send in batches. Then ``missing()`` and
        ``progressive(late=...)`` measure each value.

    Raises
    ------
    PlanError
        For a feed, which is unbounded, and for a stream with further steps.
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
    """Select the late rows of a source (side output).

    See :class:`whimbrel.operators.LateRows`.

    Each is an event at the time when it arrived. Start it together with queries on the source
    (:func:`whimbrel.start`), and the source is read once.

    Parameters
    ----------
    source : Stream
        The source itself, with a reorder latency and ``late="side_output"``, ``"drop"`` or ``"adjust"``.
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
