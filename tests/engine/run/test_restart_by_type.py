"""A run that is restored anywhere resumes as if nothing had been, whatever the type of its key and its values."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.run.checkpoint import load, save
from whimbrel.run.execution import Execution

ROWS = 6
A, B = 0, 1
ORDER = [A, None, A, B, None, A]


def of(type_: pa.DataType, a: Any, b: Any) -> pa.Array:
    return pa.array([{A: a, B: b, None: None}[which] for which in ORDER], type_)


def coded(words: list[str | None]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 2, None, 0], pa.int8()), pa.array(words, pa.string()))


KEYS: dict[str, Callable[[], pa.Array]] = {
    "null": lambda: pa.nulls(ROWS),
    "no int64": lambda: pa.nulls(ROWS, pa.int64()),
    "no float64": lambda: pa.nulls(ROWS, pa.float64()),
    "no bool": lambda: pa.nulls(ROWS, pa.bool_()),
    "no string": lambda: pa.nulls(ROWS, pa.string()),
    "no binary": lambda: pa.nulls(ROWS, pa.binary()),
    "no decimal": lambda: pa.nulls(ROWS, pa.decimal128(10, 2)),
    "no timestamp": lambda: pa.nulls(ROWS, pa.timestamp("us", "UTC")),
    "no dictionary": lambda: pa.nulls(ROWS, pa.dictionary(pa.int8(), pa.string())),
    "no dictionary of numbers": lambda: pa.nulls(ROWS, pa.dictionary(pa.int8(), pa.int64())),
    "dictionary of nulls": lambda: pa.nulls(ROWS).dictionary_encode(),
    "int8": lambda: of(pa.int8(), -128, 127),
    "int64": lambda: of(pa.int64(), -(2**63), 2**63 - 1),
    "uint64": lambda: of(pa.uint64(), 0, 2**64 - 1),
    "float32": lambda: of(pa.float32(), float("nan"), -0.0),
    "float64": lambda: of(pa.float64(), float("inf"), 0.5),
    "bool": lambda: of(pa.bool_(), False, True),
    "string": lambda: of(pa.string(), "", "ü"),
    "large_string": lambda: of(pa.large_string(), "a", "b"),
    "string_view": lambda: of(pa.string_view(), "a", "b"),
    "binary": lambda: of(pa.binary(), b"", b"\0"),
    "fixed binary": lambda: of(pa.binary(2), b"ab", b"cd"),
    "decimal": lambda: of(pa.decimal128(10, 2), Decimal("1.50"), Decimal("-2.25")),
    "decimal256": lambda: of(pa.decimal256(50, 2), Decimal("1.50"), Decimal("-2.25")),
    "date32": lambda: of(pa.date32(), 0, 19_000),
    "time64": lambda: of(pa.time64("us"), 0, 1),
    "timestamp": lambda: of(pa.timestamp("ns", "Europe/Berlin"), 0, 1),
    "duration": lambda: of(pa.duration("ms"), 0, -5),
    "dictionary": lambda: coded(["a", "b", "c"]),
    "dictionary with a null": lambda: coded(["a", None, "c"]),
    "dictionary with a word twice": lambda: coded(["a", "a", "c"]),
    "dictionary of numbers": lambda: of(pa.int64(), 5, 6).dictionary_encode(),
    "runs": lambda: pa.RunEndEncodedArray.from_arrays([2, 5, 6], pa.array(["a", None, "b"])),
}

OPERATORS: dict[str, Callable[[wb.Stream, wb.Stream], wb.Stream]] = {
    "session": lambda s, _: s.group_by("k").session_window(3, emit="close").aggregate(n=wb.count(), s=wb.sum(col.x)),
    "tumbling": lambda s, _: s.group_by("k").tumbling_window(4).aggregate(n=wb.count(), s=wb.sum(col.x)),
    "hopping": lambda s, _: s.group_by("k").hopping_window(4, 2).aggregate(n=wb.count(), s=wb.sum(col.x)),
    "sliding": lambda s, _: s.group_by("k").sliding_window(3).aggregate(n=wb.count(), s=wb.sum(col.x)),
    "two keys": lambda s, _: s.group_by("k", "x").sliding_window(3).aggregate(n=wb.count()),
    "null key too": lambda s, _: s.with_columns(z=None).group_by("z", "k").sliding_window(3).aggregate(n=wb.count()),
    "values": lambda s, _: s.sliding_window(3).aggregate(a=wb.first(col.k), z=wb.last(col.k), n=wb.count(col.k)),
    "collected": lambda s, _: s.tumbling_window(4).aggregate(all=wb.collect(col.k)),
    "distinct values": lambda s, _: s.sliding_window(3).aggregate(n=wb.count_distinct(col.k)),
    "stitch": lambda s, _: s.select("k").stitch(),
    "distinct": lambda s, _: s.select("k").sliding_window(3).distinct(),
    "join": lambda s, t: s.sliding_window(3).join(t.sliding_window(2), on="k"),
    "outer join": lambda s, t: s.sliding_window(3).join(t.where(col.x > 3).sliding_window(2), on="k", how="full"),
    "values in a join": lambda s, t: s.sliding_window(3).cross_join(t.sliding_window(2)),
    "as-of join": lambda s, t: s.asof_join(t.where(col.x % 2 == 0), on="k", direction="backward"),
    "nearest": lambda s, t: s.asof_join(t.where(col.x % 2 == 0), on="k", direction="nearest", tolerance=2),
    "semi-join": lambda s, t: s.sliding_window(3).semi_join(t.where(col.x > 3).sliding_window(2), on="k"),
    "anti-join": lambda s, t: s.sliding_window(3).anti_join(t.where(col.x > 3).sliding_window(2), on="k"),
    "clip": lambda s, t: s.set_duration(5).clip_at(t, on="k"),
    "clip duration": lambda s, _: s.group_by("k").sliding_window(4).aggregate(n=wb.count()).clip_duration(2),
    "union": lambda s, t: s.union(t.shift(1)).group_by("k").sliding_window(2).aggregate(n=wb.count()),
    "top_k": lambda s, _: s.tumbling_window(4).top_k(2, by="x"),
    "detect": lambda s, _: s.group_by("k").detect(wb.sequence(a=col.x > 0, b=col.x > 1), within=5),
    "close edges": lambda s, _: s.sliding_window(3).edges(),
    "chop": lambda s, _: s.set_duration(5).chop(2),
    "pivot": lambda s, _: s.with_columns(n="a").pivot("k", attribute="n", value="x", values=["a"]),
}


def log(key: pa.Array, name: str) -> wb.Stream:
    whole = pa.table({"t": list(range(ROWS)), "k": key, "x": [1, 2, 3, 4, 5, 6]})
    row_by_row = pa.concat_tables([whole.slice(row, 1) for row in range(ROWS)])
    return wb.from_arrow(row_by_row, time="t", name=name, reorder_latency=1)


def query(operator: str, key: str) -> wb.Stream:
    return OPERATORS[operator](log(KEYS[key](), "s"), log(KEYS[key](), "t"))


NO_AGGREGATE_OF = {"null", "dictionary of nulls"}
OF_VALUES = {"values", "collected", "distinct values"}


@pytest.mark.share(20)
@pytest.mark.parametrize(("operator", "key"), [(operator, key) for operator in OPERATORS for key in KEYS
                                               if operator not in OF_VALUES or key not in NO_AGGREGATE_OF])
def test_a_restart_changes_nothing(operator: str, key: str, tmp_path: Path) -> None:
    asked = query(operator, key)
    whole = rows(asked.collect())
    plan = asked.node
    steps = 0
    with closing(Execution(plan)) as session:
        while not session.finished:
            save(session, tmp_path / str(steps))
            before = session.answers[0].settled()
            with closing(Execution(query(operator, key).node)) as later:
                load(later, tmp_path / str(steps))
                while not later.finished:
                    later.step()
                assert rows(pa.concat_tables([before, later.answers[0].settled()])) == whole, f"after {steps} steps"
            session.step()
            steps += 1
    assert steps > ROWS


def rows(table: pa.Table) -> list[str]:
    return sorted(str(row) for row in table.to_pylist())
