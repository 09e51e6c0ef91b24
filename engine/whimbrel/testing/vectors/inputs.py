"""The rows of a case as the beginning of a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

import whimbrel as wb
from whimbrel.testing.vectors.case import Case
from whimbrel.testing.vectors.shape import flatten, names
from whimbrel.testing.vectors.steps import PARTITION, Flow

_LATE = {"throw": "raise", "drop": "drop", "adjust": "adjust"}
_MARKS = ("punct", "lwm")


def flow_of(name: str, given: Mapping[str, Any], case: Case, batch_rows: int | None) -> Flow:
    """An input of a case, in batches of so many rows; a partitioned one begins grouped by its partitions."""
    options = given.get("ingress", {})
    rows = [row for row in given["events"] if row[0] not in _MARKS or row[1] != "inf"]
    payload = next(row[2] for row in rows if row[0] not in _MARKS)
    table = _chunked(_table(rows, payload), batch_rows)
    promised = {"reorder_latency": options.get("reorder_latency", 0), "late": _LATE[options.get("disorder", "throw")]}
    if partitioned(given):
        every = options.get("lwm_period")
        lag = None if every is None else options.get("lwm_lag", 0)
        promised["partition"] = wb.Partitions(by=PARTITION, lag=lag, every=every)
    if any(row[0] in _MARKS or (row[1] != "inf" and row[1] < row[0]) for row in rows):
        stream = wb.from_edges(table, sync="vs", other="ve", punctuation="told", name=name, **promised)
    else:
        stream = wb.from_arrow(table, time="vs", end="ve", name=name, **promised)
    flow = Flow(stream, names(payload, "x"), (PARTITION,) if partitioned(given) else ())
    return flow.select(flow.values())


def partitioned(given: Mapping[str, Any]) -> bool:
    """Whether rows of an input are of partitions; then each names its own behind its payload."""
    return bool(given.get("ingress", {}).get("partitioned")) or any(
        row[0] == "lwm" or len(row) > 3 for row in given["events"])


def stays_open(given: Mapping[str, Any]) -> bool:
    """Whether an input falls silent without having ended.

    Where there are no partitions its rows have all left by then; where there are, some wait for the low watermark.
    """
    ended = any(row[0] in _MARKS and row[1] == "inf" for row in given["events"])
    return partitioned(given) and given.get("ingress", {}).get("on_completed") == "none" and not ended


def _table(rows: Sequence[Any], payload: Any) -> pa.Table:
    """The rows as columns: vs, ve (null where it is inf), told (true for punctuations), partition and the payload's.

    A punctuation without a partition is for all of them, as a low watermark is.
    """
    told = [row[0] in _MARKS for row in rows]
    payloads = [flatten(payload if mark else row[2], "x") for row, mark in zip(rows, told, strict=True)]
    vs = [row[1] if mark else row[0] for row, mark in zip(rows, told, strict=True)]
    ve = [None if mark or row[1] == "inf" else row[1] for row, mark in zip(rows, told, strict=True)]
    partitions = [tuple(row[2:] if mark else row[3:]) or (None,) for row, mark in zip(rows, told, strict=True)]
    columns = {column: _column([values[column] for values in payloads]) for column in payloads[0]}
    return pa.table({"vs": vs, "ve": pa.array(ve, pa.int64()), "told": told,
                     PARTITION: _column([partition for partition, in partitions]), **columns})


def _column(values: Sequence[Any]) -> pa.Array:
    array = pa.array(values)
    return array.cast(pa.string()) if pa.types.is_null(array.type) else array


def _chunked(table: pa.Table, rows: int | None) -> pa.Table:
    return table if rows is None else pa.Table.from_batches(table.combine_chunks().to_batches(max_chunksize=rows))
