"""Small inputs to make mistakes with."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa

import whimbrel as wb
from whimbrel import col

INTEGERS = pa.int64()
LOG = pa.table({"at": [1, 2], "price": [1.5, 2.5], "name": ["a", "b"], "n": [3, 4], "list": [[1], [2]]})
OTHER = pa.table({"at": [1, 2], "price": ["x", "y"], "name": ["a", "b"]})


def log(**options: Any) -> wb.Stream:
    return wb.from_arrow(LOG, time="at", name="log", **options)


def other() -> wb.Stream:
    return wb.from_arrow(OTHER, time="at", name="other")


def at(times: list[int | None], ends: list[int | None] | None = None, **options: Any) -> wb.Stream:
    columns = {"at": pa.array(times, INTEGERS)} | ({} if ends is None else {"until": pa.array(ends, INTEGERS)})
    return wb.from_arrow(pa.table(columns), time="at", end=None if ends is None else "until", name="log", **options)


def edges(sync: list[int | None], of: list[int | None], mask: list[bool] | None = None, **options: Any) -> wb.Stream:
    columns = {"at": pa.array(sync, INTEGERS), "of": pa.array(of, INTEGERS), "x": pa.array(["a"] * len(sync))}
    punctuation = {} if mask is None else {"punctuation": pa.array(mask)}
    return wb.from_edges(pa.table(columns | punctuation), sync="at", other="of",
                         punctuation=None if mask is None else "punctuation", name="log", **options)


def by_device() -> wb.Stream:
    return wb.from_arrow({"at": [5, 1, 3], "device": ["a", "b", "a"]}, time="at", partition="device", name="log")


def event() -> Any:
    return wb.event(col.price > 1)


def restored(first: wb.Stream | None, second: wb.Stream) -> None:
    with tempfile.TemporaryDirectory() as folder:
        if first is not None:
            run = first.start()
            run.wait(30)
            run.checkpoint(Path(folder) / "run")
        wb.restore(Path(folder) / "run", second)


def always(init: Any, state: Any, result: Any) -> Any:
    """A user's aggregate that has this state after a row, and this result."""
    return wb.aggregate(init=init, accumulate=lambda _, __: state, result=lambda _: result, name="mine")


def times_in_seconds() -> wb.Stream:
    return wb.from_arrow({"at": pa.array([1], pa.timestamp("s")), "name": ["a"]}, time="at")


def twice() -> wb.Stream:
    return wb.from_arrow({"at": [1, 1], "k": ["a", "a"], "v": [1, 2]}, time="at")
