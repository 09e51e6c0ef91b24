"""The operators of a query, from its result back to its source."""

from __future__ import annotations

from whimbrel.operators import AsofJoin, Join, SemiJoin
from whimbrel.plan import Node

_MAX_LOOKED_UP = 1 << 20
"""The largest number of rows of a lookup table, which is read in addition to the log, and kept."""


def chain_of(plan: Node) -> list[Node]:
    """The operators from the result to a source, or to an operator with several inputs.

    For a lookup in another stream, such as names of keys, the chain follows the first input.
    """
    chain = [plan]
    while chain[-1].inputs and (len(chain[-1].inputs) == 1 or _looks_up(chain[-1])):
        chain.append(chain[-1].inputs[0])
    return chain


def _looks_up(node: Node) -> bool:
    """Whether each row is a row of the first input, and the other inputs are bounded and small."""
    op = node.op
    return (isinstance(op, SemiJoin | AsofJoin) or (isinstance(op, Join) and op.how in ("inner", "left"))) and all(
        source.rows is not None and source.rows <= _MAX_LOOKED_UP and not source.live
        for below in node.inputs[1:] for source in below.sources())
