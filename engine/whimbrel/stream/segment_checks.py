"""Checks of functions of segments, before any row is read."""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.batch import Schema, SegmentType
from whimbrel.errors import ExpressionError
from whimbrel.expr import Call, Expr, check_level, children, type_of
from whimbrel.operators import Select, Where
from whimbrel.plan import Node, Operator


def check_levels(node: Node, op: Operator) -> None:
    """Refuse a level of a wavelet that the windows of a stream are too short for.

    Raises
    ------
    ExpressionError
    """
    match op:
        case Select(columns=columns):
            exprs = [expr for _, expr in columns]
        case Where(condition=condition):
            exprs = [condition]
        case _:
            return
    most = node.properties.window_samples
    if most is None:
        return
    for expr in exprs:
        for call, type_ in _wavelets(expr, node.schema):
            wavelet, level, _ = call.options
            check_level(wavelet, level, -(-most // type_.decimation), call.show(), ExpressionError)


def _wavelets(expr: Expr, schema: Schema) -> Iterator[tuple[Call, SegmentType]]:
    """Calls of wavelets, and the segments that they transform."""
    for child in children(expr):
        yield from _wavelets(child, schema)
    if isinstance(expr, Call) and expr.function == "seg.wavelet":
        of = type_of(expr.args[0], schema)
        if isinstance(of, SegmentType):
            yield expr, of
