"""Queries of databases as sources, on real SQLite and DuckDB files."""

from __future__ import annotations

import gc
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import adbc_driver_sqlite.dbapi
import duckdb
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import MissingExtraError, SchemaError, SourceError

ROWS = 60_000
QUERY = "SELECT * FROM log ORDER BY t DESC"


@pytest.fixture(params=("sqlite", "duckdb"))
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    file = tmp_path / "log.db"
    if request.param == "sqlite":
        database = sqlite3.connect(file)
        database.execute("CREATE TABLE log (t INTEGER, x REAL, k TEXT)")
        database.executemany("INSERT INTO log VALUES (?, ?, ?)",
                             ((at, at / 2, f"k{at % 3}") for at in range(ROWS)))
        database.commit()
    else:
        database = duckdb.connect(str(file))
        database.execute(f"CREATE TABLE log AS SELECT range AS t, range / 2 AS x, 'k' || (range % 3) AS k "
                         f"FROM range({ROWS})")
    database.close()
    yield f"{request.param}:///{file}"
    gc.collect()


def test_rows_of_a_query_are_sorted_and_read_again(address: str) -> None:
    log = wb.from_sql(QUERY, address, time="t")
    for _ in range(2):
        found = log.tumbling_window(20_000).aggregate(n=wb.count(), total=wb.sum(col.x)).collect()
        assert found["n"].to_pylist() == [20_000] * 3
        assert sum(found["total"].to_pylist()) == sum(range(ROWS)) / 2
    assert log.where(col.k == "k1").select("k").collect().num_rows == ROWS // 3
    assert log.node.op.schema.names == ("t", "x", "k")


def test_rows_that_the_query_sorts_are_streamed_from_any_row(address: str) -> None:
    source = wb.from_sql("SELECT * FROM log ORDER BY t", address, time="t", reorder_latency=0).node.op
    for offset in (0, 1, 3000, ROWS - 1, ROWS):
        batches = [batch for batch in source.read(["x"], offset) if batch is not None]
        assert [at for batch in batches for at in batch.sync.tolist()] == list(range(offset, ROWS))
    first = next(source.read(["x"]))
    assert len(first) < 10_000


def test_a_connection_of_the_user_is_used_and_stays_open(tmp_path: Path) -> None:
    with adbc_driver_sqlite.dbapi.connect(":memory:") as connection:
        with connection.cursor() as cursor:
            cursor.execute("CREATE TABLE log AS SELECT 1 AS t, 5 AS x")
        log = wb.from_sql("SELECT * FROM log", connection, time="t")
        assert [log.select("x").collect()["x"].to_pylist() for _ in range(2)] == [[5], [5]]


def test_what_a_database_does_not_accept_is_named(address: str) -> None:
    with pytest.raises(SourceError, match=r"does not accept the query: .*nothing") as caught:
        wb.from_sql("SELECT * FROM nothing", address, time="t")
    assert caught.value.where == "from_sql('SELECT * FROM nothing', time='t')"
    with pytest.raises(SchemaError, match="got 'tt'"):
        wb.from_sql(QUERY, address, time="tt")


def test_connections_are_checked_and_show_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    for connection in ("oracle://ann:sEcReT@host/x", "ann:sEcReT@host/x", "sqlite://", 5):
        with pytest.raises(SourceError, match="connection must be") as caught:
            wb.from_sql(QUERY, connection, time="t")
        assert "sEcReT" not in str(caught.value)
    with pytest.raises(SourceError, match="query must be a text"):
        wb.from_sql("", "sqlite:///x", time="t")
    with pytest.raises(SourceError, match=r"cannot be reached: .*refused") as caught:
        wb.from_sql(QUERY, "postgresql://ann:sEcReT@127.0.0.1:1/x", time="t")
    assert "sEcReT" not in str(caught.value)
    with pytest.raises(SourceError, match=r"There is no file '/none/log.db'"):
        wb.from_sql(QUERY, "sqlite:////none/log.db", time="t")
    monkeypatch.setitem(sys.modules, "adbc_driver_sqlite.dbapi", None)
    with pytest.raises(MissingExtraError) as absent:
        wb.from_sql(QUERY, "sqlite:///x", time="t")
    assert "whimbrel[adbc]" in absent.value.hint


MIXED = {
    "later texts": ("CASE WHEN t < 2000 THEN t ELSE 'abc' END AS v", "CAST(v AS TEXT)", "", "abc"),
    "later numbers": ("CASE WHEN t < 2000 THEN t ELSE t + 0.5 END AS v", "CAST(v AS REAL)", "", 2000.5),
    "numbers after blobs": ("CASE WHEN t < 2000 THEN x'00' ELSE t END AS v", "CAST(v AS TEXT)", "", "2000"),
    "texts after nulls": ("CASE WHEN t < 2000 THEN NULL ELSE 'abc' END AS v", "v", " ORDER BY v IS NULL", "abc"),
}


@pytest.mark.parametrize(("column", "cast", "order", "value"), MIXED.values(), ids=MIXED.keys())
def test_types_that_change_within_a_column_of_sqlite_are_named(
        tmp_path: Path, column: str, cast: str, order: str, value: object) -> None:
    with sqlite3.connect(file := tmp_path / "log.db") as database:
        database.execute("CREATE TABLE log (t INTEGER)")
        database.executemany("INSERT INTO log VALUES (?)", ((at,) for at in range(2001)))
    database.close()
    mixed = f"(SELECT t, {column} FROM log)"
    with pytest.raises(SourceError, match=r"Column 'v' has values of several types: .* in its first rows") as caught:
        wb.from_sql(f"SELECT * FROM {mixed}", f"sqlite:///{file}", time="t").collect()
    assert (order or cast) in caught.value.hint
    changed = wb.from_sql(f"SELECT t, {cast} AS v FROM {mixed}{order}", f"sqlite:///{file}", time="t").collect()
    assert changed["v"][-1].as_py() == value


@pytest.mark.parametrize("other", ["abc", b"abc"])
def test_numbers_among_texts_of_sqlite_keep_their_digits(other: str | bytes, tmp_path: Path) -> None:
    """The driver writes 1.23456789012345 as 1.234568e+00."""
    with sqlite3.connect(file := tmp_path / "log.db") as database:
        database.execute("CREATE TABLE log (t INTEGER, v, s)")
        database.executemany("INSERT INTO log VALUES (?, ?, ?)", [
            (1, 1.23456789012345, "1.234568e+00"), (2, other, "x"), (3, 12345678.9, None)])
    with pytest.raises(SourceError, match="Column 'v' has values of several types: real and others") as caught:
        wb.from_sql("SELECT t, v FROM log;", f"sqlite:///{file}", time="t").collect()
    assert caught.value.hint == "Use CAST(v AS TEXT) AS v in the query."
    texts = wb.from_sql("SELECT t, CAST(v AS TEXT) AS v, s FROM log", f"sqlite:///{file}", time="t").collect()
    assert texts["v"].to_pylist() == ["1.23456789012345", "abc", "12345678.9"]
    assert texts["s"].to_pylist() == ["1.234568e+00", "x", None]


@pytest.mark.parametrize("scheme", ("sqlite", "duckdb"))
def test_a_missing_file_is_an_error_and_is_not_created(scheme: str, address: str, tmp_path: Path) -> None:
    missing = tmp_path / "lgo.db"
    with pytest.raises(SourceError, match=r"There is no file '.*lgo\.db'") as caught:
        wb.from_sql("SELECT 1 AS t", f"{scheme}:///{missing}", time="t")
    assert "Check the path" in caught.value.hint
    assert not missing.exists()
    log = wb.from_sql(QUERY, address, time="t")
    (tmp_path / "log.db").rename(missing)
    with pytest.raises(SourceError, match="There is no file"):
        log.select("x").collect()
    assert not (tmp_path / "log.db").exists()


@pytest.mark.parametrize("scheme", ("sqlite", "duckdb"))
def test_a_database_in_memory_needs_no_file(scheme: str) -> None:
    assert wb.from_sql("SELECT 1 AS t, 2 AS x", f"{scheme}:///:memory:", time="t").collect()["x"].to_pylist() == [2]
