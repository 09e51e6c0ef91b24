"""States of any Python value as text, and the same state again."""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime, time
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.aggregates.user_defined.state_serialization import Unwritable, from_text, to_text


@pytest.mark.parametrize("value", [
    [], {}, set(), [[1], (2, [3])], {"a": {1: [2]}, (1, 2): {3}}, deque([1, [2]], maxlen=3), frozenset({(1, 2)}),
    datetime(2024, 11, 3, 1, 30, fold=1), time(1, 30, fold=1), datetime(2024, 1, 1, tzinfo=UTC),
    datetime(2024, 11, 3, 1, 30, tzinfo=ZoneInfo("America/New_York"), fold=1),
], ids=repr)
def test_a_value_is_read_as_it_was(value: Any) -> None:
    found = from_text(to_text(value))
    assert (type(found), found, repr(found)) == (type(value), value, repr(value))


@pytest.mark.parametrize("shared", [[1], {"a": 1}, {1}, deque([1]), np.array([1])], ids=repr)
def test_what_stands_in_two_places_is_one_object(shared: Any) -> None:
    """A list in two places became two, of which a later row changed one."""
    first, (second, other) = from_text(to_text([shared, (shared, [1])]))
    assert first is second
    assert other == [1]
    assert other is not first


def test_a_value_that_contains_itself_is_read_so() -> None:
    value: list[Any] = [1]
    value.append({"whole": value})
    found = from_text(to_text(value))
    assert found[1]["whole"] is found


def test_a_value_that_is_nested_too_deeply_is_refused() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(Unwritable, match="a list that is nested too deeply"):
        to_text(value)


def test_a_state_that_shares_a_list_goes_on_sharing_it() -> None:
    def twice(state: list[list[int]], x: int) -> list[list[int]]:
        if not state:
            shared: list[int] = []
            state = [shared, shared]
        state[0].append(x)
        return from_text(to_text(state))  # as a restart between two rows

    mine = wb.aggregate(init=list, accumulate=twice, result=lambda state: sum(map(sum, state)), returns=pa.int64())
    stream = wb.from_arrow({"at": [1, 2, 3], "x": [1, 2, 5]}, time="at")
    assert stream.tumbling_window(10).aggregate(v=mine(col.x)).collect()["v"].to_pylist() == [16]
