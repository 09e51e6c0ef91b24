"""The promise of the first page: a back-test equals another engine's answer, and a replay equals the back-test."""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col

Query = Callable[[wb.Stream], wb.Stream]


def hourly(flights: wb.Stream) -> wb.Stream:
    return (
        flights.where(col.distance > 500)
        .group_by("origin")
        .tumbling_window("1h")
        .aggregate(flights=wb.count(), delay=wb.mean(col.dep_delay), worst=wb.max(col.dep_delay))
    )


HOURLY = """
    SELECT epoch_ms(epoch_ms(departure) // 3600000 * 3600000) AS start, origin,
           count(*) AS flights, avg(dep_delay) AS delay, max(dep_delay) AS worst
    FROM flights WHERE distance > 500 GROUP BY ALL"""


def hopping(flights: wb.Stream) -> wb.Stream:
    """Chopped to its hops by the comparison: equal neighbours that nothing changed are one row of ours."""
    return (
        flights.group_by("origin")
        .hopping_window("6h", "1h")
        .aggregate(flights=wb.count(), late=wb.count().where(col.arr_delay > 60), least=wb.min(col.dep_delay))
    )


HOPPING = """
    SELECT epoch_ms(hop * 3600000) AS start, origin, count(*) AS flights,
           count(*) FILTER (arr_delay > 60) AS late, min(dep_delay) AS least
    FROM (SELECT *, unnest(range(epoch_ms(departure) // 3600000, epoch_ms(departure) // 3600000 + 6)) AS hop
          FROM flights)
    GROUP BY ALL"""


def carriers(flights: wb.Stream) -> wb.Stream:
    return (
        flights.with_columns(made_up=col.dep_delay - col.arr_delay)
        .where(lambda e: e.made_up > 0)
        .group_by("carrier", month=col.departure.dt.month)
        .tumbling_window("1d")
        .aggregate(flights=wb.count(), minutes=wb.sum(col.made_up))
    )


CARRIERS = """
    SELECT epoch_ms(epoch_ms(departure) // 86400000 * 86400000) AS start, carrier,
           month(departure AT TIME ZONE 'UTC') AS month, count(*) AS flights, sum(dep_delay - arr_delay) AS minutes
    FROM flights WHERE dep_delay - arr_delay > 0 GROUP BY ALL"""

QUERIES: dict[str, tuple[Query, str]] = {
    "hourly": (hourly, HOURLY),
    "hopping": (hopping, HOPPING),
    "carriers": (carriers, CARRIERS),
}


def rows(table: pa.Table, hop_ms: int | None = None) -> list[tuple[object, ...]]:
    """Rows in one order, floats to nine digits; intervals cut at every hop."""
    names = [name for name in table.column_names if name not in ("start", "end")]
    starts = table["start"].cast(pa.timestamp("ms")).cast(pa.int64()).to_pylist()
    ends = starts if hop_ms is None else table["end"].cast(pa.timestamp("ms")).cast(pa.int64()).to_pylist()
    columns = [
        [round(value, 9) if isinstance(value, float) else value for value in table[name].to_pylist()] for name in names
    ]
    out = []
    for start, end, *values in zip(starts, ends, *columns, strict=True):
        out += [(at, *values) for at in (range(start, end, hop_ms) if hop_ms else [start])]
    return sorted(out, key=str)


@pytest.fixture(scope="module")
def flights() -> wb.Stream:
    return wb.datasets.flights()


@pytest.mark.parametrize("name", QUERIES)
def test_the_back_test_equals_duckdb(name: str, flights: wb.Stream) -> None:
    query, sql = QUERIES[name]
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.register("flights", flights.collect().drop(["start", "end"]))
    expected = connection.sql(sql).to_arrow_table()
    ours = rows(query(flights).collect(), 3_600_000 if name == "hopping" else None)
    assert len(ours) > 1_000
    assert ours == rows(expected)


@pytest.mark.parametrize("name", QUERIES)
def test_the_replayed_query_settles_to_the_back_test(name: str, flights: wb.Stream) -> None:
    query = QUERIES[name][0](flights)
    feed = wb.replay(flights, speed=float("inf"), reorder_latency="12h", late="raise")
    run = query.on(feed).start()
    assert run.wait(120)
    assert run.error is None
    settled = run.snapshot()
    assert settled.final
    assert rows(settled.table) == rows(query.collect())


def test_the_log_is_really_out_of_order(flights: wb.Stream) -> None:
    run = hourly(flights).on(wb.replay(flights, speed=float("inf"), reorder_latency="1h", late="drop")).start()
    assert run.wait(120)
    metrics = run.metrics
    assert metrics.late_dropped > 100_000
    assert metrics.rows == flights.sources[0].rows


def test_history_is_joined_with_itself_in_time(flights: wb.Stream) -> None:
    """Per aircraft: which flights left an airport within two hours of another of the same carrier and destination."""
    some = flights.where((col.carrier == "HA") | (col.carrier == "OO")).select("carrier", "dest", "flight")
    pairs = some.sliding_window("2h").join(some.sliding_window("2h"), on=["carrier", "dest"]).collect()
    table = some.collect()
    connection = duckdb.connect()
    connection.register("chosen", table)
    expected = connection.sql("""
        SELECT greatest(a.start, b.start) AS start, carrier, dest, a.flight, b.flight AS flight_right
        FROM chosen a JOIN chosen b USING (carrier, dest)
        WHERE a.start < b.start + INTERVAL 2 HOUR AND b.start < a.start + INTERVAL 2 HOUR""").to_arrow_table()
    assert len(rows(expected)) > 0
    assert rows(pairs) == rows(expected)
