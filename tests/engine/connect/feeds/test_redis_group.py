"""Consumer groups of Redis: rows are shared out, those of dead consumers are claimed, deleted groups are recreated."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import redis

import whimbrel as wb
from tests.engine.connect.feeds import servers
from tests.engine.connect.feeds.listen import reading, rows, until, values
from whimbrel.errors import PlanError, SourceError

QUICK: Any = {"time": "at", "schema": {"at": "int64", "x": "int64"}, "retry_backoff_s": (0.02, 0.1), "group": "g"}
pytestmark = pytest.mark.redis


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.Server]:
    with servers.running(servers.redis(tmp_path_factory.mktemp("redis"))) as server:
        yield server


def member(server: servers.Server, stream: str, consumer: str | None = "me", **options: Any) -> wb.Stream:
    return wb.feeds.redis(stream, f"redis://127.0.0.1:{server.port}", consumer=consumer, **{**QUICK, **options})


def filled(connection: redis.Redis, stream: str, count: int, begin: int = 1) -> None:
    for at in range(begin, begin + count):
        connection.xadd(stream, {"at": at, "x": at})


def taken(connection: redis.Redis, stream: str, count: int, begin: int, *, by: str) -> None:
    """Entries that no other member has a chance to be given."""
    with connection.pipeline() as at_once:
        for at in range(begin, begin + count):
            at_once.xadd(stream, {"at": at, "x": at})
        at_once.xreadgroup("g", by, {stream: ">"}, count=count)
        at_once.execute()


def held(connection: redis.Redis, stream: str) -> dict[str, int]:
    """How many entries each member holds; none before there is a group."""
    if not connection.xinfo_groups(stream):
        return {}
    return {each["name"].decode(): each["pending"] for each in connection.xinfo_consumers(stream, "g")}


@pytest.mark.fault("redis", "rebalanced group")
@pytest.mark.fault("redis", "duplicate delivery")
def test_a_redis_group_shares_rows_and_gives_again_what_was_not_acknowledged(server: servers.Server) -> None:
    with redis.Redis(port=server.port) as connection:
        for at in range(1, 5):
            connection.xadd("shared", {"at": at, "x": at})
        connection.xgroup_create("shared", "g", id="0")
        connection.xreadgroup("g", "me", {"shared": ">"}, count=2)  # taken by this consumer, which died
        connection.xreadgroup("g", "other", {"shared": ">"}, count=1)  # another member's
        with reading(member(server, "shared")) as found:
            assert values(found, 3, "at") == [1, 2, 4]
            next(found)
            until(lambda: connection.xpending("shared", "g")["pending"] == 1)


@pytest.mark.parametrize("gone", ["stream", "group"])
def test_a_redis_group_is_recreated_when_it_was_deleted(server: servers.Server, gone: str) -> None:
    key = f"going-{gone}"
    with redis.Redis(port=server.port) as connection:
        connection.xadd(key, {"at": 1, "x": 1})
        with reading(member(server, key)) as found:
            assert values(found, 1, "at") == [1]
            if gone == "stream":
                connection.delete(key)
            else:
                connection.xgroup_destroy(key, "g")
            until(lambda: next(found) is None and found.state.reconnects == 1)
            connection.xadd(key, {"at": 2, "x": 2})
            assert values(found, 1, "at") == [2]


@pytest.mark.parametrize("group", [None, "g"])
def test_a_stream_that_is_recreated_with_lower_ids_is_read(server: servers.Server, group: str | None) -> None:
    """As by a server whose clock was set back."""
    key = f"lower-{group}"
    with redis.Redis(port=server.port) as connection:
        asked = member(server, key, None if group is None else "me", group=group)
        with reading(asked) as found:
            filled(connection, key, 3)
            assert values(found, 3, "at") == [1, 2, 3]
            next(found)
            offset = json.loads(json.dumps(found.offset))
            connection.delete(key)
            connection.xadd(key, {"at": 4, "x": 4}, id="5-1")
            assert values(found, 1, "at") == [4]
        connection.delete(key)
        connection.xadd(key, {"at": 5, "x": 5}, id="5-1")
        with reading(asked, offset) as found:
            assert values(found, 1, "at") == [5]
            assert found.state.lost == {"a stream was recreated": 1}


def test_what_another_reader_of_the_same_name_holds_is_not_acknowledged(server: servers.Server) -> None:
    with redis.Redis(port=server.port) as connection:
        filled(connection, "twins", 2)
        with reading(member(server, "twins")) as found:
            assert values(found, 2, "at") == [1, 2]
            until(lambda: next(found) is None and held(connection, "twins") == {"me": 0})
            taken(connection, "twins", 1, 3, by="me")  # its twin takes it, and dies
            filled(connection, "twins", 1, 4)
            assert values(found, 1, "at") == [4]
            until(lambda: next(found) is None and held(connection, "twins") == {"me": 1})


def test_a_second_reader_of_one_name_is_refused(server: servers.Server) -> None:
    with redis.Redis(port=server.port) as connection:
        filled(connection, "named", 1)
        with reading(member(server, "named", None)) as found:
            assert values(found, 1, "at") == [1]
            with pytest.raises(SourceError, match="unique in the group 'g', but another reader is called"), \
                    reading(member(server, "named", None)) as other:
                rows(other, 1)
            until(lambda: next(found) is None and [*held(connection, "named").values()] == [0])
        with reading(member(server, "named", None)) as found:  # started again at once
            filled(connection, "named", 1, 2)
            assert values(found, 1, "at") == [2]


def test_a_reader_that_is_held_back_is_still_there(server: servers.Server) -> None:
    with redis.Redis(port=server.port) as connection:
        filled(connection, "full", 300)
        with reading(member(server, "full", queue_rows=100)) as found:
            assert len(values(found, 300, "at")) == 300
            next(found)
            filled(connection, "full", 1_000, 301)  # of which nobody takes anything
            until(lambda: found.state.queued_rows >= 100)
            time.sleep(2.5)  # longer than a reader that is there says nothing
            mine = held(connection, "full")["me"]
            assert 100 <= mine < 1_000
            with pytest.raises(SourceError, match="unique in the group 'g', but another reader is called"), \
                    reading(member(server, "full")) as other:
                rows(other, 1)
            with reading(member(server, "full", "another", claim_idle=1.0)) as other:
                assert len(values(other, 1_000 - mine, "at")) == 1_000 - mine
                until(lambda: next(other) is None and held(connection, "full")["another"] == 0)
                time.sleep(1.5)
                assert next(other) is None
            assert held(connection, "full")["me"] == mine


def test_of_two_readers_of_one_name_that_begin_at_once_one_is_refused(server: servers.Server) -> None:
    with redis.Redis(port=server.port) as connection, ExitStack() as both:
        filled(connection, "racing", 3)
        found = [both.enter_context(reading(member(server, "racing"))) for _ in range(2)]
        came, refused = 0, set()

        def shared_out() -> bool:
            nonlocal came
            for number, each in enumerate(found):
                try:
                    batch = next(each)
                except SourceError:
                    refused.add(number)
                else:
                    came += 0 if batch is None else len(batch)
            return came == 3 and len(refused) == 1

        until(shared_out)


def test_after_a_clean_stop_nothing_is_left_unacknowledged(server: servers.Server) -> None:
    """Also without checkpoints, where rows are safe when they were worked on."""
    with redis.Redis(port=server.port) as connection:
        filled(connection, "ended", 500)
        run = member(server, "ended").aggregate(n=wb.count()).start()
        until(lambda: run.metrics.rows == 500)
        run.stop(drain=True)
        assert held(connection, "ended") == {"me": 0}


def test_entries_are_acknowledged_when_every_checkpoint_that_is_kept_has_them(server: servers.Server,
                                                                              tmp_path: Path) -> None:
    """Then the newest one may be damaged."""
    with redis.Redis(port=server.port) as connection:
        filled(connection, "kept", 10)
        checkpoints = wb.Checkpoints(tmp_path / "state", every="2s", keep=2)
        run = member(server, "kept").aggregate(n=wb.count()).start(checkpoints=checkpoints)
        until(lambda: run.metrics.rows == 10)
        before = len([*(tmp_path / "state").glob("0*")])
        until(lambda: len([*(tmp_path / "state").glob("0*")]) > before)
        assert held(connection, "kept") == {"me": 10}
        until(lambda: held(connection, "kept") == {"me": 0})
        filled(connection, "kept", 10, 11)
        until(lambda: run.metrics.rows == 20)
        run.stop(drain=True)
        assert held(connection, "kept") == {"me": 0}


def test_a_schema_is_inferred_without_taking_anything(server: servers.Server) -> None:
    with redis.Redis(port=server.port) as connection:
        filled(connection, "sampled", 3)
        for _ in range(2):
            asked = member(server, "sampled", schema=None)
            assert asked.schema.names == ("at", "x")
        assert not connection.xinfo_groups("sampled")
        with reading(asked) as found:
            assert values(found, 3, "at") == [1, 2, 3]
            until(lambda: next(found) is None and held(connection, "sampled") == {"me": 0})
        assert member(server, "sampled", schema=None).schema.names == ("at", "x")


def test_what_a_dead_member_held_is_taken_over_when_that_is_safe(server: servers.Server) -> None:
    with redis.Redis(port=server.port) as connection:
        filled(connection, "left", 300)
        connection.xgroup_create("left", "g", id="0")
        connection.xreadgroup("g", "dead", {"left": ">"}, count=200)
        with reading(member(server, "left", claim_idle=0.5)) as found:
            assert values(found, 100, "at") == [*range(201, 301)]
            time.sleep(0.7)
            assert held(connection, "left")["dead"] == 200
            found.saves_offset = True  # from now on somebody else says what is safe, as checkpoints do
            until(lambda: next(found) is None and found.offset[1])
            assert held(connection, "left")["dead"] == 200
            found.acknowledge(found.offset)
            assert values(found, 200, "at") == [*range(1, 201)]
            assert held(connection, "left") == {"dead": 0, "me": 200}
            found.acknowledge(json.loads(json.dumps(found.offset)))
            until(lambda: held(connection, "left") == {"dead": 0, "me": 0})


def test_a_restart_while_it_takes_over_loses_and_repeats_nothing(server: servers.Server) -> None:
    with redis.Redis(port=server.port) as connection:
        filled(connection, "again", 300)
        connection.xgroup_create("again", "g", id="0")
        connection.xreadgroup("g", "dead", {"again": ">"}, count=200)
        got: list[Any] = []
        with reading(member(server, "again", claim_idle=0.5)) as found:
            found.saves_offset = True
            got += values(found, 100, "at")
            until(lambda: next(found) is None and found.offset[1])
            found.acknowledge(found.offset)
            some = rows(found, 1)
            got += [at for batch in some for at in batch.column("at").to_arrow().to_pylist()]
            assert 100 < len(got) < 300
            offset = json.loads(json.dumps(found.offset))
            until(lambda: held(connection, "again")["dead"] == 0)  # and more are claimed, which nobody has seen
        with reading(member(server, "again", claim_idle=0.5), offset) as found:
            got += values(found, 300 - len(got), "at")
            assert sorted(got) == [*range(1, 301)]
            until(lambda: next(found) is None and held(connection, "again") == {"dead": 0, "me": 0})


def test_members_that_come_and_go_have_every_row_once(server: servers.Server, tmp_path: Path) -> None:
    def started(name: str) -> wb.Run:
        feed = member(server, "both", name, claim_idle=0.5, reorder_latency=2_000)  # as late as what is taken over
        return feed.start(sink=wb.sinks.parquet(tmp_path / name),
                          checkpoints=wb.Checkpoints(tmp_path / f"{name}.checkpoints", every="200ms"))

    with redis.Redis(port=server.port) as connection:
        filled(connection, "both", 1)
        runs = {name: started(name) for name in ("a", "b")}
        until(lambda: len(held(connection, "both")) == 2)
        filled(connection, "both", 500, 2)
        runs["a"].stop()
        taken(connection, "both", 50, 502, by="dead")
        filled(connection, "both", 450, 552)
        until(lambda: sum(held(connection, "both").values()) == 0)
        runs["b"].stop()
        assert runs["b"].wait(30)
        for name in runs:
            run = started(name)
            filled(connection, "both", 1, 5_000)  # so that all before it is settled
            until(lambda: run.metrics.feeds["both"].rows == 1)  # noqa: B023
            run.stop(drain=True)
    got = [x for name in runs for x in pq.read_table(tmp_path / name)["x"].to_pylist()]
    assert sorted(got) == [*range(1, 1_002)]


def test_a_server_that_cannot_list_pending_messages_is_read_without(
        server: servers.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def as_before_6_2(*args: Any, **options: Any) -> Any:
        raise redis.ResponseError("syntax error")

    monkeypatch.setattr(redis.Redis, "xpending_range", as_before_6_2)
    with redis.Redis(port=server.port) as connection:
        filled(connection, "older", 1)
        connection.xgroup_create("older", "g", id="0")
        connection.xreadgroup("g", b"dead \xff", {"older": ">"}, count=1)
        with reading(member(server, "older", claim_idle=0.1)) as found:
            time.sleep(0.3)
            filled(connection, "older", 1, 2)
            assert values(found, 1, "at") == [2]


@pytest.mark.parametrize("options", [{"consumer": ""}, {"consumer": 5}, {"group": ""}, {"claim_idle": 0},
                                     {"claim_idle": "soon"}])
def test_invalid_options_of_a_group_are_rejected(options: Any) -> None:
    with pytest.raises(PlanError, match=f"{next(iter(options))} must be"):
        wb.feeds.redis("any", **{**QUICK, **options})
