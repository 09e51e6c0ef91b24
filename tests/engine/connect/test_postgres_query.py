"""Queries of a real PostgreSQL server as sources."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

import psycopg
import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.connect.feeds.listen import until
from tests.engine.connect.feeds.servers import accepts, postgres, postgres_url, running
from whimbrel import col
from whimbrel.errors import SourceError

pytestmark = pytest.mark.postgres
ROWS = 20_000


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(postgres(tmp_path_factory.mktemp("postgres") / "server")) as server:
        url = postgres_url(server)
        until(lambda: accepts(url))
        with psycopg.connect(url, autocommit=True) as database:
            database.execute(f"""
                CREATE TABLE log AS SELECT timestamptz '2024-03-31 00:00:00+00' + n * interval '1 second' AS at,
                    timestamp '2024-03-31' + n * interval '1 second' AS local, n / 4.0::double precision AS x,
                    CASE WHEN n % 7 > 0 THEN 'k' || n % 3 END AS k, n::bigint AS n, n % 2 = 0 AS even
                FROM generate_series(0, {ROWS - 1}) AS n""")
        yield url


def test_rows_of_a_query_have_the_types_of_their_columns(address: str) -> None:
    log = wb.from_sql("SELECT * FROM log ORDER BY n DESC", address, time="at")
    assert log.schema.unit == "us"
    assert [log.node.op.schema.type_of(name) for name in ("at", "x", "k", "n", "even")] == [
        pa.timestamp("us", "UTC"), pa.float64(), pa.string(), pa.int64(), pa.bool_()]
    found = log.collect()
    assert found["n"].to_pylist() == list(range(ROWS))
    assert found["at"][1].as_py() == dt.datetime(2024, 3, 31, 0, 0, 1, tzinfo=dt.UTC)
    assert found["k"].to_pylist()[:4] == [None, "k1", "k2", "k0"]
    minutes = log.where(col.even).tumbling_window("1m").aggregate(n=wb.count(), x=wb.sum(col.x)).collect()
    assert minutes["n"].to_pylist()[:-1] == [30] * (ROWS // 60)
    assert sum(minutes["x"].to_pylist()) == sum(range(0, ROWS, 2)) / 4
    assert wb.from_sql("SELECT local, n FROM log", address, time="local").head(2)["n"].to_pylist() == [0, 1]


def test_rows_that_the_query_sorts_are_streamed_from_any_row(address: str) -> None:
    source = wb.from_sql("SELECT n, x FROM log ORDER BY n", address, time="n", reorder_latency=0).node.op
    for offset in (0, 1, 3000, ROWS - 1, ROWS):
        batches = [batch for batch in source.read(["x"], offset) if batch is not None]
        assert [at for batch in batches for at in batch.sync.tolist()] == list(range(offset, ROWS))


def test_a_query_that_fails_is_named_and_shows_no_password(address: str) -> None:
    for query, where, what in (("SELECT * FROM nothing", address, r"does not accept the query: .*nothing"),
                               ("SELECT 1 AS at", address.replace("/postgres", "/none"), r"cannot be reached: .*none")):
        with pytest.raises(SourceError, match=what) as caught:
            wb.from_sql(query, where, time="at")
        assert "hunter2" not in str(caught.value)
    late = wb.from_sql("SELECT n, 1 / (10000 - n) AS x FROM log ORDER BY n", address, time="n", reorder_latency=0)
    with pytest.raises(SourceError, match="division by zero"):
        late.collect()
