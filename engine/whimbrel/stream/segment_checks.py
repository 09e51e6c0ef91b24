"""Checks of functions of segments, before any row is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from whimbrel.errors import ExpressionError
from whimbrel.expr import Call, Expr, check_level, children, type_of
from whimbrel.plan import Node, Operator


def check_levels(node: Node, exprs: Iterable[Expr], op: Operator) -> None:
    """Refuse levels of wavelets that the windows of a stream are too short for.

    Raises
    ------
    ExpressionError
    """
    calls = [call for expr in exprs for call in _wavelets(expr)]
    most = node.properties.window_samples if calls else None
    if most is None:
        return
    for call in calls:
        type_of(call, node.schema, where=op.show())
        wavelet, level, _ = call.options
        samples = -(-most // type_of(call.args[0], node.schema).decimation)
        check_level(wavelet, level, samples, call.show(), ExpressionError)


def _wavelets(expr: Expr) -> Iterator[Call]:
    """Calls of wavelets, inner ones first."""
    for child in children(expr):
        yield from _wavelets(child)
    if isinstance(expr, Call) and expr.function == "seg.wavelet":
        yield expr
