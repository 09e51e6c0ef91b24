"""Compile every primitive once, so that no first query waits for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.expr import col
from whimbrel.kernels import tier
from whimbrel.operators import event
from whimbrel.stream.aggregates import collect, count, max, mean, median, min, sum
from whimbrel.stream.read import from_arrow
from whimbrel.stream.stream import Stream


def warm() -> Iterator[str]:
    """Run small queries that between them touch every primitive with every type; yields what was compiled."""
    for query in _queries():
        with tier("primitives"):
            query.collect()
        yield repr(query).splitlines()[0]


def _queries() -> list[Stream]:
    numbers = np.arange(64)
    names = (numbers % 3).astype(str)
    table = pa.table({"at": numbers, "k": numbers % 3, "name": names, "x": numbers, "y": numbers / 2})
    events = from_arrow(table, time="at")
    measures: dict[str, Any] = {
        "rows": count(), "some": count().where(col.x > 1), "values": count(col.y),
        **{f"{name}_{column}": aggregate(col(column)) for column in ("x", "y")
           for name, aggregate in (("sum", sum), ("mean", mean), ("min", min), ("max", max))},
        "middle": median(col.y),
    }
    pattern = event(col.x % 2 == 0).then(event(col.x % 2 == 1))
    filtered = events.where(col.x > 3)
    outlier = from_arrow({"at": [0, 1, 2], "y": [1e30, 1.0, 1.0]}, time="at")  # missed when it has left
    rows = np.arange(65_536)  # worth looking how they lie
    many = from_arrow({"at": rows, **{f"x{size}": (rows % 100).astype(f"i{size}") for size in (1, 2, 4, 8)}}, time="at")
    return [
        many.where(col.x8 == 0),
        many.where(col.x8 > 0),
        many.select("x8", "x1", "x2", "x4").join(many.select("x8"), on="x8"),
        events.group_by("k").tumbling_window(8).aggregate(**measures),
        filtered.group_by("name").tumbling_window(8).aggregate(**measures),
        events.group_by("k", "name").hopping_window(8, 4).aggregate(**measures),
        filtered.group_by("k").sliding_window(8).aggregate(**measures),
        outlier.sliding_window(2).aggregate(total=sum(col.y)),
        events.sliding_window(64).aggregate(minimum=min(col.name), names=collect(col.name)),
        events.select("k", "x").join(events.select("k", "y").sliding_window(4), on="k"),
        events.select("k", "x").join(events.select("k", "y").sliding_window(4), on="k", how="full"),
        events.clip_at(events, on="k"),
        events.select(place=col.name.str.index_of("1"), begins=col.name.str.starts_with("1")),
        events.asof_join(events.select("name", "y"), on="name"),
        events.group_by("k").detect(pattern, within=8),
        from_arrow(table, time="at", partition="k"),
    ]
