"""By what operators group."""

from __future__ import annotations

from typing import Any

from whimbrel.expr import Keys
from whimbrel.operators.aggregation.aggregate import GroupAggregate
from whimbrel.operators.aggregation.top_k import TopK
from whimbrel.operators.patterns.detect import Detect
from whimbrel.operators.windows.session_window import SessionWindow


def keys_of(op: Any) -> Keys:
    """Names and expressions of the keys by which an operator groups; none where it does not.

    Others have names of columns there, or how many.
    """
    return op.keys if isinstance(op, Detect | GroupAggregate | SessionWindow | TopK) else ()
