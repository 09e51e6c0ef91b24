"""TPC-H Q1, the pricing summary, on rows distributed as its specification (4.2.3) says of lineitem."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa

import whimbrel as wb
from bench.compare import same_rows
from bench.hand_sampling import Asked
from whimbrel import col

KEYS = ("flag", "status")
VALUES = ("quantity", "price", "net", "charge", "mean_quantity", "mean_price", "mean_discount", "rows")
SQL = """SELECT flag::VARCHAR AS flag, status::VARCHAR AS status, sum(quantity) AS quantity, sum(price) AS price,
         sum(price * (1 - discount)) AS net, sum(price * (1 - discount) * (1 + tax)) AS charge,
         avg(quantity) AS mean_quantity, avg(price) AS mean_price, avg(discount) AS mean_discount, count(*) AS rows
         FROM {} WHERE ship <= 10471 GROUP BY ALL"""
same = same_rows("flag", "status", "rows", *VALUES[:-1])


def lineitem(rows: int) -> pa.Table:
    """Rows in the order of their days of shipping, as an event log is."""
    random = np.random.default_rng(10)
    quantity = random.integers(1, 51, rows).astype(np.float64)
    ship = np.sort(random.integers(8_036, 10_562, rows))
    received = ship + random.integers(1, 31, rows)
    flag = np.where(received <= 9_298, np.where(random.random(rows) < 0.5, "R", "A"), "N")
    return pa.table({
        "ship": ship, "quantity": quantity, "price": quantity * random.uniform(900, 2_100, rows).round(2),
        "discount": random.integers(0, 11, rows) / 100, "tax": random.integers(0, 9, rows) / 100,
        "flag": pa.array(flag).dictionary_encode(),
        "status": pa.array(np.where(ship > 9_298, "O", "F")).dictionary_encode(),
    })


def summary(items: wb.Stream) -> wb.Stream:
    """The query."""
    net = col.price * (1 - col.discount)
    return items.where(col.ship <= 10_471).group_by("flag", "status").tumbling_window(100_000).aggregate(
        quantity=wb.sum(col.quantity), price=wb.sum(col.price), net=wb.sum(net), charge=wb.sum(net * (1 + col.tax)),
        mean_quantity=wb.mean(col.quantity), mean_price=wb.mean(col.price), mean_discount=wb.mean(col.discount),
        rows=wb.count())


_NET = pl.col("price") * (1 - pl.col("discount"))
BY_HAND = Asked(
    KEYS, "rows", kept=pl.col("ship") <= 10_471,
    sums={"quantity": pl.col("quantity"), "price": pl.col("price"), "net": _NET, "charge": _NET * (1 + pl.col("tax"))},
    means={"mean_quantity": pl.col("quantity"), "mean_price": pl.col("price"), "mean_discount": pl.col("discount")})


def polars_summary(items: pl.LazyFrame) -> pa.Table:
    """The same, by Polars."""
    return BY_HAND.exact(items).to_arrow()
