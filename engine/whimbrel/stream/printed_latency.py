"""Find the latency of one band, so that its text names it."""

from __future__ import annotations

from whimbrel.clock import quote_ticks
from whimbrel.errors import PlanError
from whimbrel.operators import Changelog, LatenessBand
from whimbrel.plan import Node, Source


def without_latency(node: Node, where: str) -> tuple[Node, str]:
    """The query before ``at_latencies``, and the latency as users write it; an empty text where it has none.

    Raises
    ------
    PlanError
        When its sources are read at different latencies, or one latency alone is not what it has.

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": [1, 5]}, time="at", name="log")
    >>> query, latency = without_latency(log.at_latencies(0, 10)[1].node, "python()")
    >>> query.op is log.node.op, latency
    (True, '10')
    """
    bands = [each.op for each in node.walk() if isinstance(each.op, LatenessBand)]
    if not bands:
        return node, ""
    is_changelog = any(isinstance(each.op, Changelog) for each in node.walk())
    if is_changelog or any(band.over >= 0 for band in bands):
        made = "changelog" if is_changelog else "split by partial= and merge="
        raise PlanError(f"The {made} of several latencies has no text of its own.", where=where,
                        hint="Print all latencies together: bands.python().")
    latencies = {quote_ticks(band.upto, band.unit) for band in bands}
    apart = [each for each in node.walk() if not isinstance(each.op, LatenessBand)
             and any(isinstance(below.op, Source) for below in each.inputs)]
    if len(latencies) > 1 or apart:
        raise PlanError("The query reads its sources at different latencies.", where=where,
                        hint="Print each of its parts before they are combined.")
    return node.rewrite(lambda each: each.inputs[0] if isinstance(each.op, LatenessBand) else each), latencies.pop()
