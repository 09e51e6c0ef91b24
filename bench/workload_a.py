"""A. Columnar operators (after Trill, VLDB 2015, figures 1, 4 and 5), joins, micro-batches, and reading Parquet."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import whimbrel as wb
from bench import limit, pricing
from bench.compare import Row, compare, same_rows
from bench.sides import Ours, collected
from whimbrel import Stream, col
from whimbrel.batch import Batch, table_from_batches
from whimbrel.optimize import optimize
from whimbrel.run import Pipeline

Array = np.ndarray[Any, Any]
Peers = dict[str, Callable[[], Any]]

ROWS, QUICK_ROWS = 20_000_000, 500_000
HOUR = 3_600_000
"""Ticks of an hour; one row comes per tick."""
MICRO_BATCH = 100_000


def run(*, quick: bool) -> Iterator[Row]:
    """Rows of figures. Counted are input rows; all data lie in memory; nothing is compiled inside the times."""
    rows, hour = (QUICK_ROWS, HOUR // 40) if quick else (ROWS, HOUR)
    yield from _rowwise(rows, hour)
    for keys, size in ((100, hour), (1_000, hour), (100_000, hour), (1_000_000, hour), (1_000, hour // 60)):
        yield from _tumbling(rows, keys, size)
    yield from _hopping(rows, hour)
    yield from _temporal_join(rows // 5, hour, of="an hour", one_in=500)
    yield from _temporal_join(rows // 5, hour // 150, of="a week", one_in=50)
    yield from _asof_join(rows // 5)
    yield from _pricing_summary(rows * 3 // 10)
    yield from _micro_batches(rows // 4, hour // 6)
    yield from _ingress(rows // 2)
    yield from _latency_spectrum(rows // 10)


def log(rows: int) -> pa.Table:
    """Time, user (Zipf), query and value."""
    random = np.random.default_rng(7)
    user = np.minimum(random.zipf(1.3, rows), rows // 20)
    return pa.table({"time": np.arange(rows), "user": user, "query": random.integers(0, 1_000_000, rows),
                     "value": random.random(rows)})


def _duckdb(**tables: pa.Table) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET threads = 2")
    for name, table in tables.items():
        connection.register(name, table)
    return connection


def _frame(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def _rowwise(rows: int, hour: int) -> Iterator[Row]:
    """Filters, projections and new lifetimes; both sides make start, end and payload."""
    table = log(rows).select(["time", "user", "value"])
    stream, frame = wb.from_arrow(table, time="time"), _frame(table).lazy()
    at, user, value = (table[name].to_numpy() for name in table.column_names)
    end = (pl.col("time") + 1).alias("end")
    kept = [pl.col("time").alias("start"), end, "user", "value"]
    for share in (0.0, 0.5, 1.0):
        query = stream.where(col.value < share).select("user", "value")
        peers: Peers = {
            "Polars": lambda share=share: frame.filter(pl.col("value") < share).select(kept).collect().to_arrow(),
            "limit loop": lambda share=share: limit.filtered(at, user, value, share),
        }
        yield from compare("A filter", f"{share:.0%} pass", rows, query.collect, peers,
                           same_rows("start", "end", "user", "value"), roof="limit loop")
    query = stream.select("user", twice=col.value * 2)
    yield from compare("A project", "one column computed", rows, query.collect, {
        "Polars": lambda: frame.select(pl.col("time").alias("start"), end, "user",
                                       twice=pl.col("value") * 2).collect().to_arrow(),
        "limit loop": lambda: limit.projected(at, user, value),
    }, same_rows("start", "end", "user", "twice"), roof="limit loop")
    query = stream.set_duration(hour).select("user", "value")
    yield from compare("A alter lifetime", "to 1 h", rows, query.collect, {
        "Polars": lambda: frame.select(pl.col("time").alias("start"), (pl.col("time") + hour).alias("end"), "user",
                                       "value").collect().to_arrow(),
        "limit loop": lambda: limit.lasting(at, user, value, hour),
    }, same_rows("start", "end", "user", "value"), roof="limit loop")


def _tumbling(rows: int, keys: int, size: int) -> Iterator[Row]:
    random = np.random.default_rng(7)
    at, key, value = np.arange(rows), random.integers(0, keys, rows), random.random(rows)
    table = pa.table({"time": at, "key": key, "value": value})

    def query() -> Stream:
        return wb.from_arrow(table, time="time").group_by("key").tumbling_window(size).aggregate(
            rows=wb.count(), total=wb.sum(col.value))

    lazy = (
        _frame(table).lazy().group_by((pl.col("time") // size * size).alias("start"), "key")
        .agg(pl.len().alias("rows"), pl.col("value").sum().alias("total"))
    )
    connection = _duckdb(log=table)
    sql = f"SELECT time // {size} * {size} AS start, key, count(*) AS rows, sum(value) AS total FROM log GROUP BY ALL"
    peers: Peers = {
        "DuckDB, 2 threads": lambda: connection.sql(sql).to_arrow_table(),
        "Polars": lambda: lazy.collect().to_arrow(),
        "Polars streaming": lambda: lazy.collect(engine="streaming").to_arrow(),
        "limit loop": lambda: limit.table(("start", "key", "rows", "total"),
                                          limit.grouped_tumbling(at, key, value, size, keys)),
    }
    case = f"{keys:,} keys, {rows // size + (rows % size > 0)} windows"
    same = same_rows("start", "key", "rows", "total")
    yield from compare("A grouped tumbling count+sum", case, rows, query().collect, peers, same, roof="limit loop")
    del peers["limit loop"]
    yield from _on_two_threads(case, rows, query, peers, same)
    connection.close()


def _hopping(rows: int, hour: int) -> Iterator[Row]:
    """Windows of 1 h every 10 min. Ours says how long a value held; peers give one row a hop: those are compared."""
    hop = hour // 6
    table = log(rows)
    at = table["time"].to_numpy()
    stream, connection = wb.from_arrow(table, time="time"), _duckdb(log=table)
    counts = stream.hopping_window(hour, hop).aggregate(rows=wb.count(), emit="close")
    panes = f"SELECT time // {hop} AS pane, count(*) AS n FROM log GROUP BY ALL"
    frame = "(ORDER BY pane RANGE BETWEEN 5 PRECEDING AND CURRENT ROW)"
    sql = f"SELECT pane * {hop} AS start, sum(n) OVER {frame}::BIGINT AS rows FROM ({panes}) ORDER BY start"
    yield from compare("A hopping count", "1 h every 10 min", rows, counts.collect,
                       {"DuckDB, 2 threads": lambda: connection.sql(sql).to_arrow_table(),
                        "limit loop": lambda: limit.hopping_count(at, hour, hop)}, _windows_that_began,
                       roof="limit loop")
    connection.close()
    rows, hour, hop = rows // 10, hour // 10, hop // 10  # a key seldom comes twice: each row makes six
    table = log(rows)
    columns = [table[name].to_numpy() for name in ("time", "query", "value")]
    connection = _duckdb(log=table)

    def sums() -> Stream:
        return wb.from_arrow(table, time="time").group_by("query").hopping_window(hour, hop).aggregate(
            total=wb.sum(col.value), emit="close")

    grouped = f"SELECT query, time // {hop} AS pane, sum(value) AS s FROM log GROUP BY ALL"
    spread = f"""SELECT query, (pane + hop) * {hop} AS start, sum(s) AS total FROM ({grouped}), range(6) AS hops(hop)
                 GROUP BY ALL"""
    duckdb_spread: Peers = {"DuckDB, 2 threads": lambda: connection.sql(spread).to_arrow_table()}
    same = same_rows("start", "query", "total")
    yield from compare("A hopping grouped sum", "1M keys, 1 h every 10 min", rows, sums().collect, duckdb_spread | {
        "limit loop": lambda: limit.grouped_hopping(*columns, hour, hop, 1_000_000)}, same, roof="limit loop")
    yield from _on_two_threads("1M keys, 1 h every 10 min", rows, sums, duckdb_spread, same)
    connection.close()


def _on_two_threads(case: str, rows: int, query: Callable[[], Stream], peers: Peers,
                    same: Callable[[pa.Table, pa.Table], bool]) -> Iterator[Row]:
    ours = Ours(query, lambda asked: asked.collect(threads=2), "2 threads")
    yield from compare("A the same, ours on 2 threads", case, rows, ours,
                       {"ours on one": collected(query, "1 thread"), **peers}, same)


def _windows_that_began(ours: pa.Table, theirs: pa.Table) -> bool:
    """Peers count rows between the first and the last row's panes only; ours runs until the last window is empty."""
    return same_rows("start", "rows")(ours.slice(0, theirs.num_rows), theirs)


def _temporal_join(rows: int, hour: int, *, of: str, one_in: int) -> Iterator[Row]:
    """Of each user, A and then B within 1 h: one row in so many is an A, one a B; users as in a search log (Zipf).

    In a log of about an hour all pairs of a user are in the answer. In one of a week few are, which peers find by
    looking at all of them.
    """
    table = log(rows).select(["time", "user"])
    kind = np.random.default_rng(8).integers(0, one_in, rows)
    table = table.append_column("kind", pa.array(kind))
    columns = [table[name].to_numpy() for name in table.column_names]
    stream, connection = wb.from_arrow(table, time="time"), _duckdb(log=table)
    first = stream.where(col.kind == 0).select("user", a=col.time).set_duration(hour)
    query = first.join(stream.where(col.kind == 1).select("user", b=col.time), on="user").select("user", "a", "b")
    sql = f"""SELECT l.user, l.time AS a, r.time AS b FROM log l JOIN log r ON l.user = r.user AND r.time >= l.time
              AND r.time < l.time + {hour} WHERE l.kind = 0 AND r.kind = 1"""
    frame = _frame(table).lazy()
    lazy = (
        frame.filter(pl.col("kind") == 0).select("user", a="time")
        .join(frame.filter(pl.col("kind") == 1).select("user", b="time"), on="user")
        .filter((pl.col("b") >= pl.col("a")) & (pl.col("b") < pl.col("a") + hour))
    )
    yield from compare("A temporal join", f"A then B in 1 h of {of}", rows, query.collect, {
        "DuckDB, 2 threads": lambda: connection.sql(sql).to_arrow_table(),
        "Polars": lambda: lazy.collect().to_arrow(),
        "limit loop": lambda: limit.joined_within(*columns, hour),
    }, same_rows("user", "a", "b"), roof="limit loop")
    connection.close()


def _asof_join(rows: int) -> Iterator[Row]:
    """The last A before each B of the same user; half the rows are each."""
    random = np.random.default_rng(9)
    table = pa.table({"time": np.arange(rows), "user": random.integers(0, rows // 20, rows),
                      "kind": random.integers(0, 2, rows)})
    left, right = (table.filter(pa.compute.equal(table["kind"], kind)).drop_columns(["kind"]) for kind in (1, 0))
    right = right.append_column("a", right["time"])
    query = (wb.from_arrow(left, time="time").select("user", b=col.time)
             .asof_join(wb.from_arrow(right, time="time").select("user", "a"), on="user").select("user", "a", "b"))
    connection, mine, theirs = _duckdb(l=left, r=right), _frame(left).lazy(), _frame(right).lazy()
    sql = "SELECT l.user, r.a, l.time AS b FROM l ASOF LEFT JOIN r ON l.user = r.user AND l.time >= r.time"
    lazy = mine.join_asof(theirs, on="time", by="user", check_sortedness=False).select("user", "a", b="time")
    yield from compare("A asof join", "by user", rows, query.collect, {
        "DuckDB, 2 threads": lambda: connection.sql(sql).to_arrow_table(),
        "Polars": lambda: lazy.collect().to_arrow(),
    }, same_rows("b", "user", "a"))
    connection.close()


def _pricing_summary(rows: int) -> Iterator[Row]:
    table = pricing.lineitem(rows)

    def query() -> Stream:
        return pricing.summary(wb.from_arrow(table, time="ship"))

    connection = _duckdb(lineitem=table)
    peers: Peers = {"DuckDB, 2 threads": lambda: connection.sql(pricing.SQL.format("lineitem")).to_arrow_table()}
    yield from compare("A TPC-H Q1", "lineitem-like", rows, query().collect, peers, pricing.same)
    yield from _on_two_threads("lineitem-like", rows, query, peers, pricing.same)
    connection.close()


def _micro_batches(rows: int, size: int) -> Iterator[Row]:
    """100,000 rows at a time, with the settled answer so far after each: counts and sums of 1,000 keys and windows."""
    random = np.random.default_rng(11)
    table = pa.table({"time": np.arange(rows), "key": random.integers(0, 1_000, rows), "value": random.random(rows)})
    query = wb.from_arrow(table, time="time").group_by("key").tumbling_window(size).aggregate(
        rows=wb.count(), total=wb.sum(col.value))

    def ours() -> pa.Table:
        pipeline = Pipeline(optimize(query.node))
        source, = pipeline.sources
        done: list[pa.Table] = []
        for batch in source.read(source.schema.names):
            assert batch is not None
            for first in range(0, len(batch), MICRO_BATCH):
                done += _tables(query, pipeline.push(0, batch.slice(first, first + MICRO_BATCH))[0])
        done += _tables(query, pipeline.finish(0)[0])
        return pa.concat_tables(done)

    def theirs() -> pa.Table:
        """State carried by hand: sums of the windows that are open, of which each batch closes some."""
        open_, done = None, []
        for first in range(0, rows, MICRO_BATCH):
            window = (pl.col("time") // size * size).alias("start")
            part = _frame(table.slice(first, MICRO_BATCH)).group_by(window, "key").agg(
                pl.len().cast(pl.Int64).alias("rows"), pl.col("value").sum().alias("total"))
            whole = part if open_ is None else pl.concat([open_, part]).group_by("start", "key").agg(
                pl.col("rows").sum(), pl.col("total").sum())
            current = min(first + MICRO_BATCH, rows) // size * size
            done.append(whole.filter(pl.col("start") < current).sort("start"))
            open_ = whole.filter(pl.col("start") >= current)
        assert open_ is not None
        return pl.concat([*done, open_]).to_arrow()

    yield from compare("A live micro-batches", "100,000 rows, answer each", rows, ours,
                       {"Polars, state by hand": theirs}, same_rows("start", "key", "rows", "total"))


def _tables(query: Stream, batches: list[Batch]) -> list[pa.Table]:
    return [table_from_batches(query.schema, batches)] if batches else []


def _ingress(rows: int) -> Iterator[Row]:
    """Parquet to settled rows out of a filter that keeps half, against a scan that only decodes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        pq.write_table(log(rows), path, row_group_size=1_000_000)
        query = wb.read_parquet(path, time="time").where(col.value < 0.5).select("user", "value")

        def ours() -> int:
            return sum(batch.num_rows for batch in query.batches())

        def scan() -> int:
            columns = ds.dataset(path).scanner(columns=["time", "user", "value"], use_threads=False)
            return sum(int(np.count_nonzero(batch["value"].to_numpy() < 0.5)) for batch in columns.to_batches())

        yield from compare("A ingress", "Parquet, half pass", rows, ours, {"pyarrow scan, one thread": scan},
                           lambda mine, theirs: mine == theirs)


def _latency_spectrum(rows: int) -> Iterator[Row]:
    """Rows between punctuations, through five operators; the rate at 100,000 is the yardstick of each other one."""
    table = log(rows).select(["time", "user", "value"])
    for every in (10, 100, 1_000, 10_000):
        some = table.slice(0, min(rows, every * 5_000))
        yield from compare("A latency spectrum", f"{every:,} rows a batch", some.num_rows, _pushed(some, every),
                           {"100,000 rows a batch": _pushed(some, 100_000)}, same_rows("start", "user", "total"))


def _pushed(table: pa.Table, every: int) -> Ours[tuple[Stream, list[Batch]]]:
    """The query over batches of so many rows; what is counted starts with the first push."""
    def build() -> tuple[Stream, list[Batch]]:
        query = (wb.from_arrow(table, time="time").where(col.value > 0.1).select("user", v=col.value * 2)
                 .tumbling_window(60_000).group_by("user").aggregate(total=wb.sum(col.v)))
        source, = Pipeline(optimize(query.node)).sources
        whole = Batch.concat([batch for batch in source.read(source.schema.names) if batch is not None])
        return query, [whole.slice(first, first + every) for first in range(0, len(whole), every)]

    def run(built: tuple[Stream, list[Batch]]) -> pa.Table:
        query, batches = built
        pipeline = Pipeline(optimize(query.node))
        out = [batch for part in batches for batch in pipeline.push(0, part)[0]] + pipeline.finish(0)[0]
        return pa.concat_tables(_tables(query, out))

    return Ours(build, run, f"{every:,} rows a batch")
