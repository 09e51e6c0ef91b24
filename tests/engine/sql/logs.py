"""Small streams and tables that the tests of SQL read."""

from __future__ import annotations

import pyarrow as pa

import whimbrel as wb

TCP = wb.from_arrow(
    {"time": [1, 5, 61, 70, 130], "srcIP": ["a", "b", "a", "a", "b"], "destIP": ["b", "a", "b", "b", "c"],
     "protocol": [6, 6, 6, 17, 6], "len": [10, 20, 30, 40, None], "fin": [False, True, False, None, True]},
    time="time", name="TCP")
BIDS = wb.from_arrow(
    {"ts": pa.array([1, 5, 61, 70, 130], pa.timestamp("s")), "k": ["a", "b", "a", "a", "b"],
     "price": [1.0, 2.5, 3.0, 4.0, None]}, time="ts", name="bids")
HOSTS = pa.table({"ip": ["a", "b", None, "a"], "rank": [1, 2, 3, None]})
STREAMS = {"TCP": TCP, "bids": BIDS, "hosts": HOSTS}


def sql(text: str, **options: object) -> wb.Stream:
    """The stream of a text over these."""
    return wb.sql(text, **{**STREAMS, **options})


def rows(text: str, **options: object) -> list[dict[str, object]]:
    """Rows of a text without their lifetimes, in an order of their own."""
    found = sql(text, **options).collect().drop(["start", "end"]).to_pylist()
    return sorted(found, key=lambda row: [(value is not None, str(value)) for value in row.values()])
