"""Redis, MQTT and NATS: real servers, stopped and started, and what is wrong in their messages."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import shutil
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import nats
import pytest
import redis
from paho.mqtt import publish as mqtt

import whimbrel as wb
from tests.engine.connect.feeds import servers
from tests.engine.connect.feeds.listen import reading, rows, until, values
from whimbrel import col
from whimbrel.connect.feeds import Feed
from whimbrel.connect.feeds import mqtt as mqtt_feed
from whimbrel.connect.feeds import nats as nats_feed
from whimbrel.errors import SourceError

FIELDS = {"at": "int64", "x": "int64"}
QUICK: Any = {"time": "at", "schema": FIELDS, "retry_backoff_s": (0.02, 0.1)}
LARGE = json.dumps({"at": 7, "x": 7, "padding": "x" * 10_000_000}).encode()


def row(at: int) -> bytes:
    return b'{"at": %d, "x": %d}' % (at, 10 * at)


def settling() -> wb.Stream:
    return wb.from_arrow({"at": list(range(300)), "x": list(range(300))}, time="at", name="log").select(y=col.x * 2)


# Redis.

@pytest.fixture(scope="module")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.Server]:
    with servers.running(servers.redis(tmp_path_factory.mktemp("redis"))) as server:
        yield server


def redis_url(server: servers.Server) -> str:
    return f"redis://127.0.0.1:{server.port}"


@pytest.mark.redis
def test_long_redis_entries_come_few_at_a_time_from_the_first_on(redis_server: servers.Server) -> None:
    with redis.Redis(port=redis_server.port) as connection:
        for at in range(8):
            connection.xadd("long", {"at": at, "x": "x" * 5_000_000})
    feed = wb.feeds.redis("long", redis_url(redis_server), time="at", schema={"at": "int64", "x": "string"}).node.op
    assert isinstance(feed, Feed)
    client = feed.connect(None)
    delivery = client.receive(5.0)
    client.close()
    assert delivery is not None
    assert 1 <= len(delivery.messages) <= 5


@pytest.mark.redis
@pytest.mark.fault("redis", "broker stopped and restarted")
@pytest.mark.fault("redis", "wrong schema")
def test_a_redis_stream_resumes_when_its_server_does(redis_server: servers.Server) -> None:
    with redis.Redis(port=redis_server.port) as connection:
        for at in (1, 2):
            connection.xadd("fields", {"at": at, "x": 10 * at})
        connection.xadd("fields", {"at": "never", "x": 1})
    feed = wb.feeds.redis("fields", redis_url(redis_server), **QUICK)
    with reading(feed) as found:
        assert values(found, 2, "x") == [10, 20]
        until(lambda: sum(found.state.dead_letters.values()) == 1)
        redis_server.stop(signal.SIGKILL)
        until(lambda: found.state.connection == "reconnecting" and found.state.attempts > 1)
        redis_server.start()
        with redis.Redis(port=redis_server.port) as connection:
            connection.xadd("fields", {"at": 3, "x": 30})
        assert values(found, 1, "x") == [30]
        offset = found.offset
    with reading(feed, offset) as found, redis.Redis(port=redis_server.port) as connection:
        connection.xadd("fields", {"at": 4, "x": 40})
        assert values(found, 1, "x") == [40]


@pytest.mark.redis
def test_the_latest_entry_is_looked_for_once(redis_server: servers.Server) -> None:
    feed = wb.feeds.redis("newest", redis_url(redis_server), start_from="latest", **QUICK)
    with redis.Redis(port=redis_server.port) as connection:
        connection.xadd("newest", {"at": 1, "x": 10})
        with reading(feed) as found:
            until(lambda: next(found) is None and found.offset is not None)
        connection.xadd("newest", {"at": 2, "x": 20})
    with reading(feed, found.offset) as found:
        assert values(found, 1, "at") == [2]


@pytest.mark.redis
def test_what_a_redis_stream_no_longer_has_is_counted(redis_server: servers.Server) -> None:
    feed = wb.feeds.redis("short", redis_url(redis_server), **QUICK)
    with redis.Redis(port=redis_server.port) as connection:
        for at in range(1, 6):
            connection.xadd("short", {"at": at, "x": at})
        connection.xtrim("short", maxlen=3, approximate=False)  # before anybody read
        with reading(feed) as found:
            assert values(found, 3, "at") == [3, 4, 5]
            offset = json.loads(json.dumps(found.offset))
        connection.xtrim("short", maxlen=0, approximate=False)  # what was read is not missed
        for at in range(6, 16):
            connection.xadd("short", {"at": at, "x": at})
        for kept, lost in ((10, {}), (4, {"entries that the stream no longer had": 6})):
            connection.xtrim("short", maxlen=kept, approximate=False)
            with reading(feed, offset) as found:
                assert values(found, kept, "at") == [*range(16 - kept, 16)]
                assert found.state.lost == lost
                last = found.offset
        connection.delete("short")
        connection.xadd("short", {"at": 1, "x": 1}, id="1-1")
    with reading(feed, last) as found:
        assert values(found, 1, "at") == [1]
        assert found.state.lost == {"a stream was recreated": 1}
    with reading(feed, "1-0") as found:  # an offset of an earlier version
        assert values(found, 1, "at") == [1]


@pytest.mark.redis
@pytest.mark.fault("redis", "garbage bytes")
@pytest.mark.fault("redis", "messages of 10 MB")
def test_a_redis_entry_may_hold_a_whole_row(redis_server: servers.Server) -> None:
    with redis.Redis(port=redis_server.port) as connection:
        ids = [connection.xadd("whole", {"row": text}) for text in (row(1), b"\x00\xff", LARGE)]
    with reading(wb.feeds.redis("whole", redis_url(redis_server), field="row", with_id=True, **QUICK)) as found:
        batches = rows(found, 2)
        assert [value for batch in batches for value in batch.column("id").to_arrow().to_pylist()] == [
            ids[0].decode(), ids[2].decode()]
        assert sum(found.state.dead_letters.values()) == 1


@pytest.mark.redis
def test_a_key_that_is_no_stream_fails_the_query(redis_server: servers.Server) -> None:
    with redis.Redis(port=redis_server.port) as connection:
        connection.set("text", "no stream")
    with pytest.raises(SourceError, match="WRONGTYPE"):
        wb.feeds.redis("text", redis_url(redis_server), **QUICK).collect()


@pytest.mark.redis
def test_the_types_of_redis_fields_are_inferred(redis_server: servers.Server) -> None:
    with redis.Redis(port=redis_server.port) as connection:
        connection.xadd("typed", {"at": "2024-01-01 00:00:01", "n": 1, "v": 1.5, "k": "a"})
    feed = wb.feeds.redis("typed", redis_url(redis_server), time="at")
    assert feed.schema.show() == "at: timestamp[us], n: int64, v: double, k: string"


# MQTT.

@pytest.fixture(scope="module")
def mqtt_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.Server]:
    with servers.running(servers.mosquitto(tmp_path_factory.mktemp("mqtt"))) as server:
        yield server


def publish(server: servers.Server, topic: str, *messages: bytes) -> None:
    mqtt.multiple([(topic, message, 1, False) for message in messages], "127.0.0.1", server.port)


@pytest.mark.mosquitto
@pytest.mark.fault("mqtt", "broker stopped and restarted")
@pytest.mark.fault("mqtt", "garbage bytes")
@pytest.mark.fault("mqtt", "messages of 10 MB")
def test_an_mqtt_topic_resumes_when_its_broker_does(mqtt_server: servers.Server) -> None:
    url = f"mqtt://127.0.0.1:{mqtt_server.port}"
    with reading(wb.feeds.mqtt("plants/+/power", url, with_topic=True, **QUICK)) as found:
        next(found)
        until(lambda: found.state.connection == "live")
        publish(mqtt_server, "plants/north/power", row(1), b"garbage", LARGE)
        assert values(found, 2, "topic") == ["plants/north/power"] * 2
        until(lambda: sum(found.state.dead_letters.values()) == 1)
        mqtt_server.stop(signal.SIGKILL)
        until(lambda: found.state.connection == "reconnecting")
        mqtt_server.start()
        until(lambda: found.state.connection == "live")
        publish(mqtt_server, "plants/south/power", row(2))
        assert values(found, 1, "at") == [2]


@pytest.mark.mosquitto
@pytest.mark.fault("mqtt", "client gone meanwhile")
def test_an_mqtt_session_keeps_what_came_meanwhile(mqtt_server: servers.Server) -> None:
    feed = wb.feeds.mqtt("kept", f"mqtt://127.0.0.1:{mqtt_server.port}", session="whimbrel-test", **QUICK)
    with reading(feed) as found:
        next(found)
        until(lambda: found.state.connection == "live")
        publish(mqtt_server, "kept", row(1))
        assert values(found, 1, "at") == [1]
    publish(mqtt_server, "kept", row(2))
    with reading(feed) as found:
        assert values(found, 1, "at") == [2]


@pytest.mark.mosquitto
def test_an_mqtt_session_keeps_what_was_not_taken_and_gives_no_more_than_has_room(
        mqtt_server: servers.Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(mqtt_feed, "_MAX_MESSAGES", 10)
    feed = wb.feeds.mqtt("roomy", f"mqtt://127.0.0.1:{mqtt_server.port}", session="whimbrel-room", **QUICK)
    asked = feed.node.op
    assert isinstance(asked, Feed)
    asked.connect(None).close()  # from now on there is a session
    publish(mqtt_server, "roomy", *map(row, range(100)))
    caplog.clear()
    with contextlib.closing(asked.connect(None)) as client:
        until(lambda: len(client._held) == 10)
        time.sleep(0.2)
        assert len(client._held) == 10
    with reading(feed) as found:
        assert values(found, 100, "at") == list(range(100))
    gc.collect()
    assert not caplog.records
    until(lambda: "whimbrel-mqtt" not in [thread.name for thread in threading.enumerate()])


@pytest.mark.mosquitto
def test_settled_rows_go_to_a_topic(mqtt_server: servers.Server) -> None:
    url = f"mqtt://127.0.0.1:{mqtt_server.port}"
    with reading(wb.feeds.mqtt("settled", url, time="start", schema={"start": "int64", "y": "int64"})) as found:
        next(found)
        until(lambda: found.state.connection == "live")
        run = settling().start(sink=wb.sinks.mqtt("settled", url))
        assert run.wait(30)
        assert run.error is None
        assert values(found, 300, "y") == list(range(0, 600, 2))


# NATS.

@pytest.fixture(scope="module")
def nats_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.Server]:
    with servers.running(servers.nats(tmp_path_factory.mktemp("nats"))) as server:
        yield server


def on_nats(server: servers.Server, work: Callable[[Any], Awaitable[object]]) -> None:
    async def working() -> None:
        connection = await nats.connect(f"nats://127.0.0.1:{server.port}")
        await work(connection.jetstream())
        await connection.close()

    asyncio.run(working())


@pytest.mark.nats
@pytest.mark.fault("nats", "broker stopped and restarted")
@pytest.mark.fault("nats", "garbage bytes")
@pytest.mark.fault("nats", "client gone meanwhile")
@pytest.mark.fault("nats", "messages of 10 MB")
def test_a_nats_stream_resumes_when_its_server_does(nats_server: servers.Server) -> None:
    async def start_from(log: Any) -> None:
        await log.add_stream(name="rows", subjects=["rows.*"])
        for message in (row(1), b"\xff", row(2), LARGE):
            await log.publish("rows.a", message)

    on_nats(nats_server, start_from)
    feed = wb.feeds.nats("rows.*", f"nats://127.0.0.1:{nats_server.port}", with_sequence=True, **QUICK)
    with reading(feed) as found:
        assert values(found, 3, "sequence") == [1, 3, 4]
        assert sum(found.state.dead_letters.values()) == 1
        nats_server.stop(signal.SIGKILL)
        until(lambda: found.state.connection == "reconnecting")
        nats_server.start()
        on_nats(nats_server, lambda log: log.publish("rows.b", row(3)))
        assert values(found, 1, "at") == [3]
        offset = found.offset
    on_nats(nats_server, lambda log: log.publish("rows.b", row(4)))
    with reading(feed, offset) as found:
        assert values(found, 1, "at") == [4]


@pytest.mark.nats
def test_the_latest_message_is_looked_for_once(nats_server: servers.Server) -> None:
    async def start_from(log: Any) -> None:
        await log.add_stream(name="newest", subjects=["newest"])
        await log.publish("newest", row(1))

    on_nats(nats_server, start_from)
    feed = wb.feeds.nats("newest", f"nats://127.0.0.1:{nats_server.port}", start_from="latest", **QUICK)
    with reading(feed) as found:
        until(lambda: next(found) is None and found.offset is not None)
    on_nats(nats_server, lambda log: log.publish("newest", row(2)))
    with reading(feed, found.offset) as found:
        assert values(found, 1, "at") == [2]


async def stream_of(log: Any, name: str, *at: int, **config: Any) -> None:
    """Create the stream again, with rows at these times."""
    with contextlib.suppress(nats.js.errors.NotFoundError):
        await log.delete_stream(name)
    await log.add_stream(name=name, subjects=[name], **config)
    for each in at:
        await log.publish(name, row(each))


@pytest.mark.nats
def test_a_nats_stream_that_is_recreated_is_read_from_its_beginning(nats_server: servers.Server,
                                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nats_feed, "_SILENCE_S", 0.1)
    feed = wb.feeds.nats("again", f"nats://127.0.0.1:{nats_server.port}", **QUICK)
    on_nats(nats_server, lambda log: stream_of(log, "again", 1, 2, 3))
    with reading(feed) as found:
        assert values(found, 3, "at") == [1, 2, 3]
        on_nats(nats_server, lambda log: stream_of(log, "again", 4))
        assert values(found, 1, "at") == [4]
        assert found.state.lost == {"sequence numbers restarted": 1}
    with reading(feed, 7) as found:
        assert values(found, 1, "at") == [4]
    on_nats(nats_server, lambda log: stream_of(log, "again", 5, 6))
    with reading(feed, found.offset) as found:
        assert values(found, 2, "at") == [5, 6]


@pytest.mark.nats
def test_a_nats_consumer_that_was_deleted_is_recreated(nats_server: servers.Server,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    async def remove(log: Any) -> None:
        consumer, = await log.consumers_info("lonely")
        await log.delete_consumer("lonely", consumer.name)
        await log.publish("lonely", row(2))

    monkeypatch.setattr(nats_feed, "_SILENCE_S", 0.1)
    on_nats(nats_server, lambda log: stream_of(log, "lonely", 1))
    with reading(wb.feeds.nats("lonely", f"nats://127.0.0.1:{nats_server.port}", **QUICK)) as found:
        assert values(found, 1, "at") == [1]
        on_nats(nats_server, remove)
        assert values(found, 1, "at") == [2]
        assert found.state.lost == {}


@pytest.mark.nats
def test_what_a_nats_stream_no_longer_has_is_counted(nats_server: servers.Server) -> None:
    on_nats(nats_server, lambda log: stream_of(log, "short", *range(1, 11), max_msgs=3))
    feed = wb.feeds.nats("short", f"nats://127.0.0.1:{nats_server.port}", **QUICK)
    for offset, lost in ((7, {}), (2, {"messages of any subject that the stream no longer had": 5})):
        with reading(feed, offset) as found:
            assert values(found, 3, "at") == [8, 9, 10]
            assert found.state.lost == lost


@pytest.mark.nats
def test_settled_rows_go_to_a_subject_and_those_of_a_run_that_come_again_are_left_out(nats_server: servers.Server,
                                                                                      tmp_path: Path) -> None:
    url = f"nats://127.0.0.1:{nats_server.port}"
    on_nats(nats_server, lambda log: log.add_stream(name="settled", subjects=["settled"]))
    for folder in (tmp_path / "one", tmp_path / "one", tmp_path / "other"):
        run = settling().start(sink=wb.sinks.nats("settled", url), checkpoints=wb.Checkpoints(folder))
        assert run.wait(30)
        assert run.error is None
        for checkpoint in folder.glob("0*"):  # as after a kill before the first one
            shutil.rmtree(checkpoint)
    with reading(wb.feeds.nats("settled", url, time="start", schema={"start": "int64", "y": "int64"})) as found:
        assert values(found, 600, "y") == [*range(0, 600, 2)] * 2
        assert next(found) is None
