"""Changes of a real PostgreSQL server are read once, and the server keeps them until they are acknowledged."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyarrow import parquet

import whimbrel as wb
from tests.engine.connect.feeds import servers
from tests.engine.connect.feeds.listen import PATIENCE_S, reading, rows, until, values
from tests.engine.ended import ended
from whimbrel.connect.feeds import Feed, FeedReader
from whimbrel.connect.feeds.postgres import postgres_cdc
from whimbrel.connect.feeds.runtime.client import MAX_BYTES
from whimbrel.errors import PlanError, SourceError

pytestmark = pytest.mark.postgres
QUICK: Any = {"every": 0.01, "retry_backoff_s": (0.02, 0.1)}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.Server]:
    with servers.running(servers.postgres(tmp_path_factory.mktemp("changes"))) as started:
        until(lambda: servers.accepts(servers.postgres_url(started)))
        yield started


def do(server: servers.Server, *statements: str) -> None:
    """Statements of one transaction."""
    with psycopg.connect(servers.postgres_url(server)) as connection:
        for statement in statements:
            connection.execute(statement)


def begin(found: FeedReader) -> None:
    """Wait until its slot exists: the server does not send earlier changes."""
    next(found)
    until(lambda: found.state.connection == "live")


def changes(found: FeedReader, count: int) -> list[dict[str, Any]]:
    names = ("change", "id", "x", "k")
    return [dict(zip(names, row, strict=True)) for batch in rows(found, count)
            for row in zip(*(batch.column(name).to_arrow().to_pylist() for name in names), strict=True)]


def test_inserts_updates_and_deletions_are_read_when_they_are_committed(server: servers.Server) -> None:
    do(server, "CREATE TABLE orders (id bigint PRIMARY KEY, x double precision, k text, at timestamptz, odd point)",
       "CREATE TABLE others (id bigint)", "INSERT INTO orders VALUES (1, 1.5, 'before the slot')",
       "CREATE PUBLICATION all_of_them FOR ALL TABLES")
    feed = wb.feeds.postgres_cdc("public.orders", servers.postgres_url(server), time="committed", slot="orders",
                                     publication="all_of_them", metadata_columns=["change", "committed", "lsn"],
                                     **QUICK)
    assert feed.schema.show() == ("id: int64, x: double, k: string, at: timestamp[us, tz=UTC], change: string, "
                                  "committed: timestamp[us, tz=UTC], lsn: int64")
    assert "hunter2" not in f"{feed.explain()}{feed!r}"
    with reading(feed) as found, psycopg.connect(servers.postgres_url(server)) as undone:
        begin(found)
        undone.execute("INSERT INTO orders VALUES (99, 0, 'never committed')")
        do(server, "INSERT INTO orders VALUES (2, 'NaN', 'ü', '2024-01-01 00:00:01.5+02'), (3, NULL, NULL, NULL)")
        first, = rows(found, 2)
        do(server, "UPDATE orders SET x = 2.5 WHERE id = 2", "INSERT INTO others VALUES (7)",
           "DELETE FROM orders WHERE id = 3", "UPDATE orders SET id = 4 WHERE id = 2")
        undone.rollback()
        assert first.column("at").to_arrow().to_pylist() == [
            dt.datetime(2023, 12, 31, 22, 0, 1, 500_000, dt.UTC), None]
        assert abs(first.column("committed").to_arrow().to_pylist()[0] - dt.datetime.now(dt.UTC)
                   ) < dt.timedelta(minutes=5)
        assert changes(found, 3) == [{"change": "update", "id": 2, "x": 2.5, "k": "ü"},
                                     {"change": "delete", "id": 3, "x": None, "k": None},
                                     {"change": "update", "id": 4, "x": 2.5, "k": "ü"}]


def test_a_time_that_python_does_not_have_costs_its_row(server: servers.Server) -> None:
    do(server, "CREATE TABLE unusual (id bigint, until timestamptz, n numeric, u uuid)")
    feed = wb.feeds.postgres_cdc("unusual", servers.postgres_url(server), time="committed", slot="unusual", **QUICK)
    with reading(feed) as found:
        begin(found)
        do(server, "INSERT INTO unusual VALUES (1, 'infinity')",
           "INSERT INTO unusual VALUES (2, now(), 0.5, '00000000-0000-0000-0000-000000000007')",
           "INSERT INTO unusual VALUES (3, '20000-01-01')")
        do(server, "INSERT INTO unusual VALUES (4)")
        batches = rows(found, 2)
        id_, n, u = ([value for batch in batches for value in batch.column(name).to_arrow().to_pylist()]
                     for name in ("id", "n", "u"))
        assert (id_, n, u) == ([2, 4], [0.5, None], ["00000000-0000-0000-0000-000000000007", None])
        assert found.state.dead_letters == {"a time that is infinite or out of range": 2}


def test_long_values_that_stayed_are_read_from_the_old_row(server: servers.Server) -> None:
    do(server, "CREATE TABLE notes (id bigint PRIMARY KEY, x double precision, k text)",
       "ALTER TABLE notes ALTER k SET STORAGE EXTERNAL", "ALTER TABLE notes REPLICA IDENTITY FULL")
    feed = wb.feeds.postgres_cdc("notes", servers.postgres_url(server), time="committed", slot="notes", **QUICK)
    with reading(feed) as found:
        begin(found)
        do(server, "INSERT INTO notes VALUES (1, 1, repeat('long', 5000))")
        do(server, "UPDATE notes SET x = 2")
        do(server, "DELETE FROM notes")
        long = "long" * 5000
        assert changes(found, 3) == [{"change": kind, "id": 1, "x": x, "k": long}
                                     for kind, x in (("insert", 1.0), ("update", 2.0), ("delete", 2.0))]


def test_a_deletion_that_does_not_tell_its_time_says_what_it_needs(server: servers.Server) -> None:
    do(server, "CREATE TABLE timed (id bigint PRIMARY KEY, at bigint)", "CREATE PUBLICATION timed FOR TABLE timed")
    feed = wb.feeds.postgres_cdc("timed", servers.postgres_url(server), time="at", slot="timed",
                                     publication="timed", metadata_columns=["change"])
    with reading(feed) as found:
        begin(found)
        do(server, "INSERT INTO timed VALUES (1, 1), (2, 2)", "DELETE FROM timed WHERE id = 1",
           "ALTER TABLE timed REPLICA IDENTITY FULL", "DELETE FROM timed WHERE id = 2")
        assert [value for batch in rows(found, 3) for value in batch.column("at").to_arrow().to_pylist()] == [1, 2, 2]
        assert found.state.dead_letters == {
            "a deletion without the column 'at', which is not in the key; set REPLICA IDENTITY FULL": 1}


def test_an_update_that_does_not_tell_a_long_value_is_no_row_with_null(server: servers.Server) -> None:
    do(server, "CREATE TABLE untoasted (id bigint PRIMARY KEY, x double precision, k text)",
       "ALTER TABLE untoasted ALTER k SET STORAGE EXTERNAL")
    feed = wb.feeds.postgres_cdc("untoasted", servers.postgres_url(server), time="committed",
                                     slot="untoasted", **QUICK)
    with reading(feed) as found:
        begin(found)
        do(server, "INSERT INTO untoasted VALUES (1, 1, repeat('long', 5000)), (2, 1, NULL)")
        do(server, "UPDATE untoasted SET x = 2")  # of the first it does not say what k is
        do(server, "UPDATE untoasted SET id = 3 WHERE id = 1", "UPDATE untoasted SET k = 'short'",
           "DELETE FROM untoasted WHERE id = 2")
        assert [(one["change"], one["id"], one["k"] and len(one["k"])) for one in changes(found, 6)] == [
            ("insert", 1, 20_000), ("insert", 2, None), ("update", 2, None), ("update", 2, 5), ("update", 3, 5),
            ("delete", 2, None)]
        (reason, count), = found.state.dead_letters.items()
        assert (count, "REPLICA IDENTITY FULL" in reason) == (2, True)


def test_a_partitioned_table_is_read_as_one(server: servers.Server) -> None:
    do(server, "CREATE TABLE parted (id bigint, x double precision, k text) PARTITION BY RANGE (id)",
       "CREATE TABLE parted_0 PARTITION OF parted FOR VALUES FROM (0) TO (10)",
       "CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (10) TO (20)",
       "CREATE PUBLICATION leaves FOR TABLE parted")
    feed = wb.feeds.postgres_cdc("parted", servers.postgres_url(server), time="committed", slot="parted", **QUICK)
    with reading(feed) as found:
        begin(found)
        do(server, "INSERT INTO parted VALUES (1), (11)")
        assert [one["id"] for one in changes(found, 2)] == [1, 11]
    silent = wb.feeds.postgres_cdc("parted", servers.postgres_url(server), time="committed", slot="leaves", **QUICK)
    with pytest.raises(SourceError, match=r"'leaves' does not contain 'parted'(.|\n)*publish_via_partition_root"):
        silent.collect()


def test_feeds_that_begin_at_once_make_their_slot_once(server: servers.Server) -> None:
    do(server, "CREATE TABLE shared (id bigint)")
    feed = wb.feeds.postgres_cdc("shared", servers.postgres_url(server), time="committed", slot="shared", **QUICK)
    runs = [feed.select("id").start() for _ in range(4)]
    until(lambda: all(run.error or run.metrics.feeds["shared"].connection == "live" for run in runs))
    do(server, "INSERT INTO shared VALUES (1)")
    until(lambda: all(run.error or run.metrics.rows == 1 for run in runs))
    assert [run.error for run in runs] == [None] * 4
    for run in runs:
        run.stop()
        assert run.wait(PATIENCE_S)


@pytest.mark.fault("postgres_cdc", "broker stopped and restarted")
@pytest.mark.fault("postgres_cdc", "client gone meanwhile")
def test_changes_resume_when_the_server_does_and_none_is_lost_meanwhile(server: servers.Server) -> None:
    do(server, "CREATE TABLE lasting (id bigint)")
    feed = wb.feeds.postgres_cdc("lasting", servers.postgres_url(server), time="committed", slot="lasting", **QUICK)
    with reading(feed) as found:
        begin(found)
        do(server, "INSERT INTO lasting VALUES (1)")
        assert values(found, 1, "id") == [1]
        server.stop(signal.SIGINT)
        until(lambda: found.state.connection == "reconnecting")
        assert "hunter2" not in found.state.error
        server.start()
        until(lambda: servers.accepts(servers.postgres_url(server)))
        do(server, "INSERT INTO lasting VALUES (2)")
        assert values(found, 1, "id") == [2]
        offset = json.loads(json.dumps(found.offset))
    do(server, "INSERT INTO lasting VALUES (3)", "INSERT INTO lasting VALUES (4)")
    with reading(feed, offset) as found:
        assert values(found, 2, "id") == [3, 4]


def test_the_server_keeps_what_is_in_no_checkpoint_and_what_it_has_not_kept_is_said(server: servers.Server,
                                                                                    tmp_path: Path) -> None:
    do(server, "CREATE TABLE kept (id bigint)")
    feed = wb.feeds.postgres_cdc("kept", servers.postgres_url(server), time="committed", slot="kept", **QUICK)

    def started() -> wb.Run:
        return feed.select("id").start(sink=wb.sinks.parquet(tmp_path / "out"),
                                       checkpoints=wb.Checkpoints(tmp_path / "state", every="20ms"))

    for first in (0, 3):
        run = started()
        until(lambda run=run: run.metrics.feeds["kept"].connection == "live")  # type: ignore[misc]
        for id_ in range(first, first + 3):
            do(server, f"INSERT INTO kept VALUES ({id_})")
        until(lambda run=run, first=first: run.metrics.rows == first + 3)  # type: ignore[misc]
        run.stop()
        assert run.wait(PATIENCE_S)
        assert run.error is None
    files = sorted((tmp_path / "out").glob("rows-*.parquet"))
    assert [id_ for file in files for id_ in parquet.read_table(file)["id"].to_pylist()] == list(range(6))
    do(server, "INSERT INTO kept VALUES (6)")
    do(server, "SELECT pg_replication_slot_advance('kept', pg_current_wal_lsn())")
    run = started()
    assert ended(run, PATIENCE_S)
    assert "The replication slot 'kept' is past the checkpoint, so changes are missing." in str(run.error)


def test_what_is_not_known_of_a_change_is_refused() -> None:
    with pytest.raises(PlanError, match="metadata of changes, got 'user'"):
        wb.feeds.postgres_cdc("t", "postgresql://127.0.0.1:1/db", time="at", metadata_columns=["user"])


@pytest.mark.parametrize("how", ["DROP TABLE lost", "ALTER TABLE lost RENAME TO found"])
def test_a_table_that_left_the_publication_is_an_error_after_its_last_change(how: str, server: servers.Server,
                                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_cdc, "_LOOK_S", 0.1)
    do(server, "DROP TABLE IF EXISTS lost, found", "CREATE TABLE lost (id bigint)")
    slot = f"lost_{len(how)}"
    feed = wb.feeds.postgres_cdc("lost", servers.postgres_url(server), time="committed", slot=slot, **QUICK)
    with reading(feed) as found:
        begin(found)
        do(server, "INSERT INTO lost VALUES (1)")
        do(server, how, "CREATE TABLE lost (id bigint)", "INSERT INTO lost VALUES (2)")
        assert values(found, 1, "id") == [1]
        with pytest.raises(SourceError, match="does not contain 'lost' any more: it was renamed"):
            rows(found, 1)


def test_a_table_that_is_recreated_is_read_on_if_all_tables_are_published(server: servers.Server,
                                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_cdc, "_LOOK_S", 0.0)
    do(server, "CREATE TABLE recreated (id bigint)", "CREATE PUBLICATION all_tables FOR ALL TABLES")
    feed = wb.feeds.postgres_cdc("recreated", servers.postgres_url(server), time="committed", slot="recreated",
                                     publication="all_tables", **QUICK)
    with reading(feed) as found:
        begin(found)
        do(server, "INSERT INTO recreated VALUES (1)")
        do(server, "ALTER TABLE recreated RENAME TO before", "CREATE TABLE recreated (id bigint)",
           "INSERT INTO recreated VALUES (2)", "INSERT INTO before VALUES (3)")
        do(server, "INSERT INTO recreated VALUES (4)")
        assert values(found, 3, "id") == [1, 2, 4]


def test_no_more_is_asked_for_at_once_where_rows_are_long(server: servers.Server) -> None:
    do(server, "CREATE TABLE long_rows (at bigint, x text)", "ALTER TABLE long_rows ALTER x SET STORAGE EXTERNAL")
    feed = wb.feeds.postgres_cdc("long_rows", servers.postgres_url(server), time="at", slot="long_rows",
                                     **QUICK).node.op
    assert isinstance(feed, Feed)
    with contextlib.closing(feed.connect(None)) as client:
        # short ones tell nothing of them
        with psycopg.connect(servers.postgres_url(server), autocommit=True) as connection:
            connection.execute(
                "DO 'BEGIN FOR i IN 1..1000 LOOP INSERT INTO long_rows VALUES (0); COMMIT; END LOOP; END'")
        for at in range(12):
            do(server, f"INSERT INTO long_rows VALUES ({at}, repeat('x', {MAX_BYTES // 4}))")
        came: list[list[dict[str, Any]]] = []
        while sum(map(len, came)) < 1012:
            delivery = client.receive(1.0)
            came.append([] if delivery is None else [*delivery.messages])
        assert max(sum("x" in row for row in rows) for rows in came) <= 4


@pytest.mark.parametrize("how", ["RENAME x TO y", "DROP x"])
def test_a_column_that_is_no_longer_sent_is_an_error_after_its_last_change(how: str, server: servers.Server) -> None:
    do(server, "DROP TABLE IF EXISTS columns", "CREATE TABLE columns (id bigint, x double precision)")
    feed = wb.feeds.postgres_cdc("columns", servers.postgres_url(server), time="committed",
                                     slot=f"columns_{how[:4].lower()}", **QUICK)
    with reading(feed) as found:
        begin(found)
        do(server, "INSERT INTO columns VALUES (1, 1)", "ALTER TABLE columns ADD added text")
        do(server, "INSERT INTO columns VALUES (2, 2, 'not read')", f"ALTER TABLE columns {how}",
           "INSERT INTO columns VALUES (3, 3)")
        do(server, "INSERT INTO columns VALUES (4, 4)")
        assert values(found, 1, "id") == [1]
        with pytest.raises(SourceError, match="lack the column 'x': it was renamed or dropped"):
            rows(found, 1)


def test_values_of_a_type_that_changed_are_what_they_are_or_refused(server: servers.Server) -> None:
    do(server, "CREATE TABLE typed (id bigint, x integer, k text)")
    feed = wb.feeds.postgres_cdc("typed", servers.postgres_url(server), time="committed", slot="typed", **QUICK)
    with reading(feed) as found:
        begin(found)
        for id_, (type_, value) in enumerate([("bigint", 2**40), ("numeric", 2), ("numeric", 0.5), ("text", 3)]):
            do(server, f"ALTER TABLE typed ALTER x TYPE {type_}", f"INSERT INTO typed VALUES ({id_}, {value})")
        do(server, "ALTER TABLE typed ALTER x TYPE smallint USING 0", "INSERT INTO typed VALUES (9, 4, 'as it was')")
        assert [(one["id"], one["x"]) for one in changes(found, 2)] == [(1, 2), (9, 4)]
        assert sorted(found.state.dead_letters.items()) == [
            ("'x' does not fit in int32", 1), ("'x' must be an integer", 2)]


def test_tables_that_are_truncated_are_reported(server: servers.Server) -> None:
    do(server, "CREATE TABLE emptied (id bigint, twice bigint GENERATED ALWAYS AS (2 * id) STORED)",
       "CREATE TABLE left_alone (id bigint)", "CREATE PUBLICATION emptied FOR TABLE emptied, left_alone")
    feed = wb.feeds.postgres_cdc("emptied", servers.postgres_url(server), time="committed", slot="emptied", **QUICK)
    assert feed.schema.names == ("id", "change", "committed")
    with reading(feed) as found:
        begin(found)
        do(server, "INSERT INTO emptied VALUES (1)", "INSERT INTO left_alone VALUES (1)")
        do(server, "TRUNCATE left_alone")
        do(server, "TRUNCATE emptied, left_alone", "INSERT INTO emptied VALUES (2)")
        assert values(found, 2, "id") == [1, 2]
        assert found.state.dead_letters == {"TRUNCATE, which does not list the rows that it deletes": 1}
