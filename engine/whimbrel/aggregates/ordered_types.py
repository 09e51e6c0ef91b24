"""Types with an order, and the cost of keeping their values."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from whimbrel.batch import numpy_type
from whimbrel.errors import ExpressionError
from whimbrel.plan import Aggregate, is_ordered


def check_ordered(aggregate: Aggregate, input_type: pa.DataType | None) -> pa.DataType:
    """The type, if its values have an order."""
    assert input_type is not None
    if not is_ordered(input_type):
        raise ExpressionError(f"{aggregate.name} needs values with an order, got {input_type}.", where=aggregate.show(),
                              hint="Cast the column of nulls with .cast('int64')." if pa.types.is_null(input_type)
                              else "Use numbers, bools, times, strings or bytes.")
    return input_type


def keeps_words(input_type: pa.DataType | None) -> bool:
    """Whether values are of no fixed width, so that no state of numbers can hold one."""
    return input_type is not None and numpy_type(input_type) is None


def note_of_words(aggregate: Aggregate, input_type: pa.DataType | None) -> Sequence[str]:
    """What min, max, first and last say of texts."""
    if not keeps_words(input_type):
        return ()
    return (f"{aggregate.show()} keeps the values of all active rows where rows leave one by one",)


def note_of_values(aggregate: Aggregate) -> Sequence[str]:
    """What an aggregate says whose state is every value."""
    return (f"{aggregate.show()} keeps the values of all active rows",)
