"""Reject operators that would use a value before its time is reached."""

from __future__ import annotations

from whimbrel.errors import PlanError
from whimbrel.plan.graph import Node
from whimbrel.plan.lookahead import early_input
from whimbrel.plan.source import Source

LOOKAHEAD_HINT = 'Use label="end" for the windows, or allow_lookahead=True.'


def check_lookahead(node: Node) -> None:
    """Refuse an operator that lets a stream see a value before its time.

    A stream labelled at the start of its windows tells at T what is known only at the next point of its grid. It may
    meet streams that change on points of that grid only: nothing of theirs lies between T and the time at which the
    value is known. Every other stream is *finer*, also a source, whose events may come at any time.

    Raises
    ------
    PlanError
        If one input has lookahead and another has a finer grid. It names the first.
    """
    if isinstance(node.op, Source) or not node.op.relates_inputs:
        return
    early = early_input([below.properties for below in node.inputs])
    if early is not None:
        raise PlanError(f"{node.op.show()} would use results of {_name(node.inputs[early])} before their window has "
                        "closed.", where=node.op.show(), hint=LOOKAHEAD_HINT)


def _name(node: Node) -> str:
    return node.op.name if isinstance(node.op, Source) else node.op.show()
