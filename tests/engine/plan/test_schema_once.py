"""How often what is slow to make is made, by counts and not by times."""

from __future__ import annotations

from typing import Any

import pytest

import whimbrel as wb
from whimbrel.operators import Select
from whimbrel.plan import Aggregate


def _counted(patch: pytest.MonkeyPatch, of: type, method: str) -> list[Any]:
    """What a method is called on, from now on."""
    calls: list[Any] = []
    own = getattr(of, method)

    def counting(self: Any, *args: Any) -> Any:
        calls.append(self)
        return own(self, *args)

    patch.setattr(of, method, counting)
    return calls


def test_a_plan_asks_each_select_for_its_schema_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, shown = _counted(monkeypatch, Select, "schema"), _counted(monkeypatch, Select, "show")
    stream = wb.from_arrow({"at": [0, 1]}, time="at")
    for number in range(10):
        stream = stream.with_columns(**{f"c{number}": wb.col.at + number})
    assert stream.collect()["c9"].to_pylist() == [9, 10]
    assert len(asked) == 10
    assert not shown


def test_texts_of_aggregates_grow_with_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = _counted(monkeypatch, Aggregate, "show")

    def texts(columns: int) -> int:
        shown.clear()
        sums: dict[str, Any] = {f"c{number}": wb.sum(wb.col.at + number) for number in range(columns)}
        wb.from_arrow({"at": [0, 1]}, time="at").tumbling_window(5).aggregate(**sums)
        return len(shown)

    assert 0 < texts(40) < 3 * texts(20)
