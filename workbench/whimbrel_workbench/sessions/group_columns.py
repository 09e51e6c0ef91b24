"""Find the columns by which a query groups."""

from __future__ import annotations

from whimbrel.plan import Node, Operator


def grouped_by(node: Node) -> tuple[str, ...]:
    """The names by which operators of a query group, in the order of the plan; also such as are no part of its answer.

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": [1, 4], "k": ["a", "b"]}, time="at")
    >>> grouped_by(log.group_by("k").tumbling_window(10).aggregate(fill=True, twice=wb.count() * 2).node)
    ('k',)
    """
    operators = [each.op for each in node.walk() if isinstance(each.op, Operator)]
    return tuple(dict.fromkeys(name for op in operators for name, _ in op.grouping_keys()))
