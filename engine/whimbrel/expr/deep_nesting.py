"""An error in words for expressions that are nested too deeply."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from whimbrel.errors import ExpressionError


@contextmanager
def refusing_deep_nesting(where: str) -> Iterator[None]:
    """Turn Python's error about recursion into one about the expression of a call."""
    try:
        yield
    except RecursionError:
        raise ExpressionError("An expression is nested too deeply: more than about 300 levels.", where=f"{where}(...)",
                              hint="Compute its parts first, such as with_columns(part=...).") from None
