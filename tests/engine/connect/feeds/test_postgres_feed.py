"""Rows of PostgreSQL tables, of a real server: stopped and started, and what is wrong in its rows."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from decimal import Decimal
from uuid import UUID

import psycopg
import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.connect.feeds import servers
from tests.engine.connect.feeds.listen import reading, rows, until, values

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.Server]:
    with servers.running(servers.postgres(tmp_path_factory.mktemp("postgres"))) as server:
        until(lambda: servers.accepts(servers.postgres_url(server)))
        yield server


@pytest.mark.fault("postgres", "broker stopped and restarted")
@pytest.mark.fault("postgres", "client gone meanwhile")
@pytest.mark.fault("postgres", "wrong schema")
def test_rows_of_a_table_are_read_as_they_are_added(postgres_server: servers.Server) -> None:
    url = servers.postgres_url(postgres_server)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute('CREATE TABLE "Rows" (id bigserial PRIMARY KEY, at timestamptz, x double precision, k text)')
        connection.execute("""INSERT INTO "Rows" (at, x, k) VALUES ('2024-01-01 00:00:01+00', 1.5, 'a'), (NULL, 2,
        'b')""")
    feed = wb.feeds.postgres("Rows", url, time="at", cursor="id", every=0.01, retry_backoff_s=(0.02, 0.1))
    assert feed.schema.show() == "id: int64, at: timestamp[us, tz=UTC], x: double, k: string"
    assert "hunter2" not in feed.explain()
    with reading(feed) as found:
        assert values(found, 1, "x") == [1.5]
        until(lambda: found.state.dead_letters == {"no time: 'at' is null": 1})
        postgres_server.stop(signal.SIGINT)
        until(lambda: found.state.connection == "reconnecting")
        assert "hunter2" not in found.state.error
        postgres_server.start()
        until(lambda: servers.accepts(url))
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("""INSERT INTO "Rows" (at, x) VALUES ('2024-01-01 00:00:02+00', 3)""")
        assert values(found, 1, "x") == [3.0]
        offset = found.offset
    with reading(feed, offset) as found, psycopg.connect(url, autocommit=True) as connection:
        connection.execute("""INSERT INTO "Rows" (at, x) VALUES ('2024-01-01 00:00:03+00', 4)""")
        assert values(found, 1, "x") == [4.0]


@pytest.mark.parametrize(("how", "goes_on"), [
    ("TRUNCATE numbered", [1, 3]), ("DROP TABLE numbered; CREATE TABLE numbered (id bigint, at bigint)", [1, 3]),
    ("CREATE TABLE other AS TABLE numbered; DROP TABLE numbered; ALTER TABLE other RENAME TO numbered", [3])])
def test_a_table_that_begins_again_is_read_from_its_beginning_and_one_that_was_copied_is_not(
        how: str, goes_on: list[int], postgres_server: servers.Server) -> None:
    url = servers.postgres_url(postgres_server)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS numbered; CREATE TABLE numbered (id bigint, at bigint)")
        connection.execute("INSERT INTO numbered VALUES (1, 1), (2, 2)")
        feed = wb.feeds.postgres("numbered", url, time="at", cursor="id", every=0.01, retry_backoff_s=(0.02, 0.1))
        with reading(feed) as found:
            assert values(found, 2, "id") == [1, 2]
            connection.execute(how)
            for id_ in goes_on:
                connection.execute("INSERT INTO numbered VALUES (%s, 3)", (id_,))
                assert values(found, 1, "id") == [id_]
            assert found.state.lost == ({"a table was recreated": 1} if 1 in goes_on else {})
            offset = json.loads(json.dumps(found.offset))
        connection.execute("INSERT INTO numbered VALUES (4, 4)")
        with reading(feed, offset) as found:
            assert values(found, 1, "id") == [4]


def test_a_time_of_infinity_costs_its_row(postgres_server: servers.Server) -> None:
    url = servers.postgres_url(postgres_server)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE endless (id bigserial, at timestamptz, day date, noted timestamp)")
        connection.execute("""INSERT INTO endless (at, day, noted) VALUES ('2024-01-01', '2024-01-01', '2024-01-01'),
                     ('infinity', NULL, NULL), ('2024-01-02', '-infinity', NULL), ('2024-01-03', NULL, '12024-01-01'),
                     ('2024-01-04', NULL, NULL)""")
    with reading(wb.feeds.postgres("endless", url, time="at", cursor="id", every=0.01)) as found:
        assert values(found, 2, "id") == [1, 5]
        assert found.state.dead_letters == {"a time that is infinite or out of range": 3}
        assert found.offset[0] == 5


def test_numbers_of_any_length_and_identifiers_are_read_as_their_columns_say(postgres_server: servers.Server) -> None:
    url = servers.postgres_url(postgres_server)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE exact (at bigint, n numeric(10, 2), u uuid)")
        connection.execute(f"INSERT INTO exact VALUES (1, 1.50, '{UUID(int=7)}'), (2, 'NaN', NULL), (3, NULL, NULL)")
    with reading(wb.feeds.postgres("exact", url, time="at", cursor="at", every=0.01)) as found:
        batches = rows(found, 3)
        assert found.state.dead_letters == {}
    n, u = ([value for batch in batches for value in batch.column(name).to_arrow().to_pylist()] for name in "nu")
    assert (n[0], n[1] != n[1], n[2], u) == (1.5, True, None, [str(UUID(int=7)), None, None])
    fields = {"at": "int64", "n": pa.decimal128(10, 2)}
    with reading(wb.feeds.postgres("exact", url, time="at", cursor="n", every=0.01, schema=fields)) as found:
        assert values(found, 1, "n") == [Decimal("1.50")]


def test_a_table_may_be_recreated_and_rows_without_a_cursor_are_skipped(postgres_server: servers.Server) -> None:
    url = servers.postgres_url(postgres_server)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE recreated (id int, at int)")
        connection.execute("INSERT INTO recreated VALUES (1, 1), (NULL, 2)")
        with reading(wb.feeds.postgres("recreated", url, time="at", cursor="id", every=0.01, retry_backoff_s=(0.02,
            0.1))) as found:
            assert values(found, 1, "at") == [1]
            time.sleep(0.3)  # the driver prepares what it asks again and again
            connection.execute("ALTER TABLE recreated ALTER at TYPE bigint")
            connection.execute("INSERT INTO recreated VALUES (2, 2)")
            assert values(found, 1, "at") == [2]
            connection.execute("ALTER TABLE recreated DROP id")
            until(lambda: found.state.connection == "reconnecting")
            connection.execute("DROP TABLE recreated")
            connection.execute("CREATE TABLE recreated (id int, at int)")
            connection.execute("INSERT INTO recreated VALUES (3, 3)")
            assert values(found, 1, "at") == [3]


@pytest.mark.share(3)
@pytest.mark.parametrize(("value", "text"), [
    ("g / 12", "'x'"), ("least(g, 19990)", "'x'"), ("greatest(g - 25000, 0)", "'x'"), ("7", "'x'"),
    ("g / 7", "repeat('x', 1 << 20)")])
def test_rows_that_share_a_value_are_all_read(value: str, text: str, postgres_server: servers.Server) -> None:
    url, count = servers.postgres_url(postgres_server), 40 if "repeat" in text else 30_000
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "DROP TABLE IF EXISTS tied; CREATE TABLE tied (seen timestamptz, id int, x text, note jsonb)")
        connection.execute(f"""INSERT INTO tied SELECT '2024-01-01'::timestamptz + ({value}) * interval '1 ms', g,
        {text},
                     '{{}}' FROM generate_series(0, {count - 1}) AS g ORDER BY random()""")
    feed = wb.feeds.postgres("tied", url, time="seen", cursor="seen", every=0.01, queue_rows=5_000)
    read: list[object] = []
    offset = None
    while len(read) < count:  # also by another connection, from wherever this one was
        with reading(feed, offset) as found:
            read += values(found, 1, "id")
            offset = json.loads(json.dumps(found.offset))
    with reading(feed, offset) as found:
        assert [next(found) for _ in range(3)] == [None] * 3
    assert sorted(read) == [*range(count)]


def test_a_cursor_may_be_bytes(postgres_server: servers.Server) -> None:
    url = servers.postgres_url(postgres_server)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS in_bytes")
        connection.execute("CREATE TABLE in_bytes (id bytea, at int)")
        connection.execute("INSERT INTO in_bytes VALUES ('\\x00ff', 1), ('\\x6162', 2)")
        feed = wb.feeds.postgres("in_bytes", url, time="at", cursor="id", every=0.01)
        with reading(feed) as found:
            assert values(found, 2, "at") == [1, 2]
            connection.execute("INSERT INTO in_bytes VALUES ('\\xff00', 3)")
            assert values(found, 1, "at") == [3]
            offset = json.loads(json.dumps(found.offset))
        connection.execute("INSERT INTO in_bytes VALUES ('\\xff01', 4)")
        with reading(feed, offset) as found:
            assert values(found, 1, "at") == [4]


def test_rows_that_are_too_new_wait_for_slower_transactions(postgres_server: servers.Server) -> None:
    url = servers.postgres_url(postgres_server)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE settling (id bigserial, at timestamptz)")
        connection.execute(
            "INSERT INTO settling (at) VALUES (now() - interval '1 minute'), (now() + interval '1 minute')")
    feed = wb.feeds.postgres("settling", url, time="at", cursor="id", every=0.01, visibility_delay="2 seconds")
    with reading(feed) as found:
        assert values(found, 1, "id") == [1]
        assert [next(found) for _ in range(3)] == [None] * 3
