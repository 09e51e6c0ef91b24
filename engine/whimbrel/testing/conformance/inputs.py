"""Inputs of a case as streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

import whimbrel as wb
from whimbrel.testing.conformance.case import Case
from whimbrel.testing.conformance.payload_shape import Tree, flatten, names, shape_of, spread
from whimbrel.testing.conformance.stream_columns import PARTITION, Flow

_LATE = {"throw": "raise", "drop": "drop", "adjust": "adjust"}
_MARKS = ("punct", "lwm")


def flow_of(name: str, given: Mapping[str, Any], case: Case, batch_rows: int | None) -> Flow:
    """An input of a case, in batches of so many rows; a partitioned one begins grouped by its partitions."""
    options = given.get("ingress", {})
    rows = [row for row in given["events"] if row[0] not in _MARKS or row[1] != "inf"]
    shape, table = _table(rows, case)
    table = _chunked(table, batch_rows)
    promised = {"reorder_latency": options.get("reorder_latency", 0), "late": _LATE[options.get("disorder", "throw")]}
    if partitioned(given):
        every = options.get("lwm_period")
        lag = None if every is None else options.get("lwm_lag", 0)
        promised["partition"] = wb.PartitionWatermarks(by=PARTITION, max_lag=lag, every=every)
    if any(row[0] in _MARKS or (row[1] != "inf" and row[1] < row[0]) for row in rows):
        stream = wb.from_edges(table, sync="vs", other="ve", punctuation="is_punctuation", name=name, **promised)
    else:
        stream = wb.from_arrow(table, time="vs", end="ve", name=name, **promised)
    flow = Flow(stream, names(shape, "x"), (PARTITION,) if partitioned(given) else ())
    return flow.select(flow.values())


def partitioned(given: Mapping[str, Any]) -> bool:
    """Whether an input has partitions; then each row names its partition after its payload."""
    return bool(given.get("ingress", {}).get("partitioned")) or any(
        row[0] == "lwm" or len(row) > 3 for row in given["events"])


def stays_open(given: Mapping[str, Any]) -> bool:
    """Whether an input becomes idle without an end.

    Where there are no partitions its rows have all left by then; where there are, some wait for the low watermark.
    """
    ended = any(row[0] in _MARKS and row[1] == "inf" for row in given["events"])
    return partitioned(given) and given.get("ingress", {}).get("on_completed") == "none" and not ended


def _table(rows: Sequence[Any], case: Case) -> tuple[Tree, pa.Table]:
    """The shape of the payloads, and the rows as columns.

    They are vs, ve (null for inf), is_punctuation, partition and the payload's. A punctuation
    without a partition is for all of them, as a low watermark is. An input that has no rows has those of another one.
    """
    others = [row for given in case.inputs.values() for row in given["events"]]
    example = _data(rows) or _data(others) or [[0, 1, 0]]
    shape = shape_of([row[2] for row in example])
    given = [*rows, *example]  # the rows at the end are for the types, and taken off again
    marks = [row[0] in _MARKS for row in given]
    payloads = [spread(None if mark else row[2], shape, "x") for row, mark in zip(given, marks, strict=True)]
    vs = [row[1] if mark else row[0] for row, mark in zip(given, marks, strict=True)]
    ve = [None if mark or row[1] == "inf" else row[1] for row, mark in zip(given, marks, strict=True)]
    partitions = [tuple(row[2:] if mark else row[3:]) or (None,) for row, mark in zip(given, marks, strict=True)]
    columns = {column: _column([values[column] for values in payloads]) for column in flatten(shape, "x")}
    table = pa.table({"vs": vs, "ve": pa.array(ve, pa.int64()), "is_punctuation": marks,
                      PARTITION: _column([partition for partition, in partitions]), **columns})
    return shape, table.slice(0, len(rows))


def _data(rows: Sequence[Any]) -> list[Any]:
    return [row for row in rows if row[0] not in _MARKS]


def _column(values: Sequence[Any]) -> pa.Array:
    """A column of nulls only is one of integers: a case says no types."""
    try:
        array = pa.array(values)
    except OverflowError:
        array = pa.array(values, pa.uint64())
    return array.cast(pa.int64()) if pa.types.is_null(array.type) else array


def _chunked(table: pa.Table, rows: int | None) -> pa.Table:
    return table if rows is None else pa.Table.from_batches(
        table.combine_chunks().to_batches(max_chunksize=rows), table.schema)
