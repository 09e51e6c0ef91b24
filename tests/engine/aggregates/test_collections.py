"""Aggregates that keep every value: quantiles, distinct counts, lists, ranks, and extremes of texts."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import random
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import ExpressionError
from whimbrel.kernels import Tier, tier
from whimbrel.operators.aggregation import multiset_values
from whimbrel.plan import Aggregate

NAN = math.nan


def of(values: list[Any], aggregate: Aggregate, type_: pa.DataType | None = None) -> Any:
    """The aggregate of `x` over these values, in one window and of all lifetimes at once."""
    rows = wb.from_arrow(pa.table({"at": [0] * len(values), "x": pa.array(values, type_)}), time="at")
    pane, snapshot = (query.aggregate(a=aggregate).collect()["a"].to_pylist()
                      for query in (rows.tumbling_window(1), rows.sliding_window(1)))
    assert repr(pane) == repr(snapshot)
    return pane[0]


def discrete(q: float, *, descending: bool = False) -> Aggregate:
    return wb.quantile(col.x, q, interpolation="discrete", descending=descending)


@pytest.mark.parametrize(("values", "aggregate", "expected"), (
    ([4, 1, 3], wb.median(col.x), 3.0),
    ([4, 1, 3, 2], wb.median(col.x), 2.5),
    ([4, None, 1], wb.median(col.x), 2.5),
    ([10, 20, 30, 40], wb.quantile(col.x, 0.4), 22.0),
    ([10, 20, 30, 40], wb.quantile(col.x, 0.4, descending=True), 28.0),
    ([1.0, math.inf], wb.quantile(col.x, 0), 1.0),
    ([math.inf, math.inf, 1.0], wb.quantile(col.x, 0.9), math.inf),
    ([1.0, NAN, 2.0], wb.quantile(col.x, 0.5), 2.0),
    ([10, 20, 30, 40, 50], discrete(0.4), 20),
    ([10, 20, 30, 40, 50], discrete(0.6), 30),
    ([10, 20, 30, 40, 50], discrete(0.4, descending=True), 40),
    ([10, 20, 30, 40, 50], discrete(0), 10),
    ([10, 20, 30, 40, 50], discrete(1), 50),
    (list(range(1, 31)), discrete(0.1), 3),  # 0.1 * 30 is above 3 for floats
    (list(range(1, 31)), discrete(1 - 0.9), 3),
    (["b", "ü", "a"], discrete(0.5), "b"),
    ([True, False, True], discrete(0.3), False),
    ([1.0, NAN, NAN, 0.0, -0.0], wb.count_distinct(col.x), 3),
    (["a", None, "a"], wb.count_distinct(col.x), 1),
    ([3, 1, None, 2], wb.collect(col.x), [1, 2, 3]),
    ([2, 9, 9, 4], wb.top_k(col.x, 3), [{"rank": 1, "value": 9}, {"rank": 1, "value": 9}, {"rank": 3, "value": 4}]),
    ([2, 9, 9, 2], wb.top_k(col.x, 3), [{"rank": 1, "value": 9}, {"rank": 1, "value": 9}, {"rank": 3, "value": 2},
                                        {"rank": 3, "value": 2}]),
    ([2, 9, 9, 2], wb.top_k(col.x, 3, ties=False), [{"rank": 1, "value": 9}, {"rank": 1, "value": 9},
                                                    {"rank": 3, "value": 2}]),
    ([2, None], wb.top_k(col.x, 5), [{"rank": 1, "value": 2}]),
    (["b", None, "ü", "Z"], wb.min(col.x), "Z"),
    (["b", None, "ü", "Z"], wb.max(col.x), "ü"),
    (["b", "a"], wb.first(col.x), "a"),
    (["b", "a"], wb.last(col.x), "b"),
    ([b"\xff", b"\x00"], wb.max(col.x), b"\xff"),
    ([decimal.Decimal("1.5"), decimal.Decimal("-2.5")], wb.min(col.x), decimal.Decimal("-2.5")),
    ([dt.date(2020, 1, 2), dt.date(2019, 1, 2)], wb.collect(col.x),
     [dt.date(2019, 1, 2), dt.date(2020, 1, 2)]),
), ids=str)
def test_of_values(values: list[Any], aggregate: Aggregate, expected: Any) -> None:
    assert repr(of(values, aggregate)) == repr(expected)


@pytest.mark.parametrize(("aggregate", "expected"), (
    (wb.median(col.x), None), (discrete(0.5), None), (wb.count_distinct(col.x), 0), (wb.collect(col.x), []),
    (wb.top_k(col.x, 2), []),
))
def test_of_nothing(aggregate: Aggregate, expected: Any) -> None:
    assert of([None], aggregate, pa.int64()) == expected


@pytest.mark.parametrize("aggregate", (wb.min(col.x), wb.max(col.x), wb.first(col.x), wb.last(col.x), discrete(0.5)))
@pytest.mark.parametrize("type_", (pa.string(), pa.large_string(), pa.binary(), pa.decimal128(5, 2)), ids=str)
def test_no_text_of_nothing(aggregate: Aggregate, type_: pa.DataType) -> None:
    assert of([None, None], aggregate, type_) is None


@pytest.mark.parametrize(("type_", "values"), (
    (pa.uint64(), [2**64 - 1, 0, 2**63]), (pa.int8(), [-128, 127, 0]), (pa.float32(), [0.5, -0.5, -math.inf]),
    (pa.timestamp("ms", "UTC"), [5, -5, 0]), (pa.duration("us"), [5, -5, 0]), (pa.time32("s"), [5, 0, 9]),
), ids=lambda each: str(each) if isinstance(each, pa.DataType) else "")
def test_types_stay_as_they_are(type_: pa.DataType, values: list[Any]) -> None:
    rows = wb.from_arrow(pa.table({"at": [0, 0, 0], "x": pa.array(values, type_)}), time="at")
    found = rows.aggregate(c=wb.collect(col.x), q=discrete(0.5), t=wb.top_k(col.x, 1)).collect()
    assert found["c"].type == pa.list_(type_)
    assert found["c"].to_pylist() == [pa.array(sorted(values), type_).to_pylist()]
    assert found["q"].to_pylist() == pa.array([sorted(values)[1]], type_).to_pylist()
    assert found["t"].to_pylist()[0][0]["value"] == pa.array([max(values)], type_)[0].as_py()


def test_lists_are_in_order_of_start_and_stay_so_when_rows_leave() -> None:
    rows = wb.from_arrow(pa.table({"at": [0, 1, 2, 2], "until": [9, 3, 9, 5], "x": ["d", "c", "b", "a"]}),
                         time="at", end="until")
    lists = rows.aggregate(x=wb.collect(col.x)).collect()["x"].to_pylist()
    assert lists == [["d"], ["d", "c"], ["d", "c", "a", "b"], ["d", "a", "b"], ["d", "b"]]


def test_a_rank_list_is_exploded_to_rows() -> None:
    rows = wb.from_arrow(pa.table({"at": [0, 0, 0], "x": [4, 9, 4]}), time="at")
    top = rows.aggregate(top=wb.top_k(col.x, 2)).explode("top")
    table = top.select(rank=col.top.field("rank"), x=col.top.field("value")).collect()
    assert table.select(["rank", "x"]).to_pylist() == [{"rank": 1, "x": 9}, {"rank": 2, "x": 4}, {"rank": 2, "x": 4}]


def log(rows: int, words: int, seed: int) -> pa.Table:
    chance = random.Random(seed)
    starts = sorted(chance.randrange(rows // 4) for _ in range(rows))
    return pa.table({
        "at": starts, "until": [start + chance.choice([1, 30, 200, 2000]) for start in starts],
        "g": [chance.randrange(3) for _ in starts], "x": [chance.choice([None, *range(50)]) for _ in starts],
        "w": [f"word {chance.randrange(words)}" for _ in starts],
    })


def reference(table: pa.Table) -> list[tuple[Any, ...]]:
    """(start, end, group, values in order, words in order of their starts) of every snapshot."""
    answer = []
    for group in range(3):
        rows = [row for row in table.to_pylist() if row["g"] == group]
        for start, end in pairwise(sorted({time for row in rows for time in (row["at"], row["until"])})):
            active = [row for row in rows if row["at"] <= start < row["until"]]
            if active:
                values = sorted(row["x"] for row in active if row["x"] is not None)
                answer.append((start, end, group, values,
                               [word for _, word in sorted((row["at"], row["w"]) for row in active)]))
    return sorted(answer, key=lambda row: (row[0], row[2]))


MANY = {"m": wb.median(col.x), "d": wb.count_distinct(col.w), "c": wb.collect(col.w), "lo": wb.min(col.w),
        "t": wb.top_k(col.x, 3), "f": wb.last(col.w)}


@pytest.mark.parametrize("batch", (7, 400))
@pytest.mark.parametrize("form", ["interpreted", pytest.param("primitives", marks=pytest.mark.long)])
def test_pools_grow_and_words_are_forgotten(form: Tier, batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    forgotten = []
    keep_only = multiset_values.WordValues.keep_only
    monkeypatch.setattr(multiset_values, "INITIAL_STRINGS", 64)
    monkeypatch.setattr(multiset_values.WordValues, "keep_only",
                        lambda self, live: forgotten.append(len(live)) or keep_only(self, live))
    table = log(1200, 700, seed=batch)
    chunks = pa.Table.from_batches(table.to_batches(max_chunksize=batch))
    with tier(form):
        rows = wb.from_arrow(chunks, time="at", end="until", reorder_latency=0)
        found = rows.group_by("g").aggregate(**MANY).collect().sort_by([("start", "ascending"), ("g", "ascending")])
    expected = reference(table)
    assert found.num_rows == len(expected)
    for row, (start, end, group, values, words) in zip(found.to_pylist(), expected, strict=True):
        assert (row["start"], row["end"], row["g"]) == (start, end, group)
        assert row["m"] == (None if not values else pytest.approx(float(np.median(values))))
        assert (row["d"], row["c"], row["lo"], row["f"]) == (len(set(words)), words, min(words), words[-1])
        ranks = [(1 + sum(other > value for other in values), value) for value in sorted(values, reverse=True)]
        assert [(pair["rank"], pair["value"]) for pair in row["t"]] == [pair for pair in ranks if pair[0] <= 3]
    assert forgotten


def test_many_groups_in_panes() -> None:
    groups = 1100
    table = pa.table({"at": np.repeat(np.arange(3), groups), "g": np.tile(np.arange(groups), 3),
                      "x": np.arange(3 * groups) % 7, "w": [f"w{number % 11}" for number in range(3 * groups)]})
    with tier("primitives"):
        rows = wb.from_arrow(table, time="at").group_by("g").tumbling_window(2)
        found = rows.aggregate(n=wb.count(), c=wb.collect(col.x), hi=wb.max(col.w)).collect()
    assert found.num_rows == 2 * groups
    for row in found.to_pylist()[:: 97]:
        mine = [row["g"], row["g"] + groups] if row["start"] == 0 else [row["g"] + 2 * groups]
        assert row["n"] == len(mine)
        assert row["c"] == [number % 7 for number in mine]
        assert row["hi"] == max(f"w{number % 11}" for number in mine)


def test_a_pane_sorts_once() -> None:
    rows = 200_000
    values = np.random.default_rng(5).permutation(rows)
    with tier("primitives"):
        log = wb.from_arrow(pa.table({"at": np.zeros(rows, np.int64), "x": values}), time="at")
        found = log.tumbling_window(1).aggregate(m=wb.median(col.x), d=wb.count_distinct(col.x)).collect()
    assert found.select(["m", "d"]).to_pylist() == [{"m": (rows - 1) / 2, "d": rows}]


def test_what_is_kept_is_said() -> None:
    rows = wb.from_arrow(pa.table({"at": [0], "x": [1], "s": ["a"]}), time="at")
    plan = rows.aggregate(m=wb.median(col.x), lo=wb.min(col.s), n=wb.count()).explain()
    assert "note: median(col.x) keeps the values of all active rows" in plan
    assert "note: min(col.s) keeps the values of all active rows where rows leave one by one" in plan
    assert "note: count" not in plan


@pytest.mark.parametrize("aggregate", (wb.median(col.x), wb.quantile(col.x, 0.9)))
@pytest.mark.parametrize("type_", (pa.string(), pa.bool_(), pa.date32()), ids=str)
def test_there_is_nothing_between_two_texts(aggregate: Aggregate, type_: pa.DataType) -> None:
    rows = wb.from_arrow(pa.table({"at": [0], "x": pa.array([None], type_)}), time="at")
    with pytest.raises(ExpressionError, match=r"(?s)Linear quantiles need numbers, got .*discrete"):
        rows.aggregate(m=aggregate)
