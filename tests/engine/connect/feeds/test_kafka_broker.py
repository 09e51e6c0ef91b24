"""Kafka, on a real broker: what librdkafka's own cluster cannot show."""

from __future__ import annotations

import contextlib
import json
import signal
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import admin

import whimbrel as wb
from tests.engine.connect.feeds import servers
from tests.engine.connect.feeds.listen import PATIENCE_S, reading, until, values
from tests.engine.connect.feeds.relay import Relay
from tests.engine.connect.sinks.test_server_away import holds_up_nobody, says_nothing
from tests.engine.ended import ended
from whimbrel.connect.sinks import kafka as kafka_sink

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def relay() -> Iterator[Relay]:
    with contextlib.closing(Relay(0)) as made:
        yield made


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, relay: Relay) -> Iterator[servers.Server]:
    with servers.running(servers.kafka(tmp_path_factory.mktemp("kafka"), relay.port)) as started:
        relay.server = started.port
        yield started


def send(broker: servers.Server, topic: str, *at: int) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": f"127.0.0.1:{broker.port}", "log_level": 0})
    for each in at:
        producer.produce(topic, b'{"at": %d, "x": %d}' % (each, 10 * each), b"key")
    assert producer.flush(30) == 0


def feed(broker: servers.Server, topic: str, **options: Any) -> wb.Stream:
    return wb.feeds.kafka(topic, f"127.0.0.1:{broker.port}", **{
        "time": "at", "schema": {"at": "int64", "x": "int64"}, "retry_backoff_s": (0.02, 0.1),
        "metadata_columns": ["offset"], **options})


@pytest.mark.fault("kafka", "broker stopped and restarted")
def test_a_topic_resumes_when_its_broker_does(broker: servers.Server) -> None:
    send(broker, "lasting", 1, 2)
    asked = feed(broker, "lasting")
    with reading(asked) as found, reading(feed(broker, "lasting", group="lasting")) as member:
        assert values(found, 2, "x") == values(member, 2, "x") == [10, 20]
        broker.stop(signal.SIGKILL)
        until(lambda: found.state.connection == "reconnecting" and found.state.attempts > 1)
        until(lambda: (member.state.connection, member.state.waiting_for) == ("connecting", "the broker"))
        broker.start()
        send(broker, "lasting", 3)
        assert values(found, 1, "offset") == values(member, 1, "offset") == [2]
        until(lambda: member.state.connection == "live")
        offset = json.loads(json.dumps(found.offset))
    send(broker, "lasting", 4)
    with reading(asked, offset) as found:
        assert values(found, 1, "x") == [40]


@pytest.mark.fault("kafka", "connection cut mid-message")
def test_a_connection_that_is_cut_within_a_message_costs_nothing(broker: servers.Server, relay: Relay) -> None:
    send(broker, "cut", *range(2_000))
    relay.cuts.extend((9_001, 20_003, 7))
    with reading(feed(broker, "cut")) as found:
        assert values(found, 2_000, "offset") == list(range(2_000))
    assert not relay.cuts


def test_a_group_resumes_at_its_committed_offset(broker: servers.Server) -> None:
    send(broker, "shared", 1, 2)
    asked = feed(broker, "shared", group="g")
    with reading(asked) as found:
        assert values(found, 2, "x") == [10, 20]
        next(found)
    send(broker, "shared", 3)
    with reading(asked) as found:
        assert values(found, 1, "x") == [30]


def test_a_member_that_comes_back_does_not_read_what_others_have_read(broker: servers.Server) -> None:
    send(broker, "returned", 1, 2)
    with reading(feed(broker, "returned", group="r")) as found:
        assert values(found, 2, "at") == [1, 2]
        next(found)
        offset = json.loads(json.dumps(found.offset))
    send(broker, "returned", 3, 4)
    with reading(feed(broker, "returned", group="r")) as other:
        assert values(other, 2, "at") == [3, 4]
        next(other)
    send(broker, "returned", 5)
    with reading(feed(broker, "returned", group="r"), offset) as found:
        assert values(found, 1, "at") == [5]


def test_a_member_whose_last_checkpoint_is_lost_resumes_from_the_one_before(broker: servers.Server) -> None:
    """The broker's own committed offset belongs to the lost checkpoint."""
    asked, offsets = feed(broker, "lost", group="l"), []
    with reading(asked) as found:
        for at in range(3):
            send(broker, "lost", at)
            assert values(found, 1, "at") == [at]
            next(found)
            offsets.append(json.loads(json.dumps(found.offset)))
    with reading(asked, offsets[0]) as found:
        assert values(found, 2, "at") == [1, 2]


def test_a_schema_is_inferred_outside_the_group(broker: servers.Server) -> None:
    send(broker, "sampled", 1)
    for expected in ([1], []):  # the second one finds a group that has read all there is
        asked = feed(broker, "sampled", group="s", schema=None)
        assert asked.schema.names == ("at", "x", "offset")
        with reading(asked) as found:
            assert values(found, len(expected), "at") == expected
            next(found)


def test_after_a_clean_stop_the_group_knows_of_every_row(broker: servers.Server) -> None:
    """Also without checkpoints, where rows are safe when they were worked on."""
    send(broker, "ended", 1, 2)
    asked = feed(broker, "ended", group="e")
    run = asked.aggregate(n=wb.count()).start()
    until(lambda: run.metrics.rows == 2)
    run.stop(drain=True)
    send(broker, "ended", 3)
    with reading(asked) as found:
        assert values(found, 1, "at") == [3]


def test_a_feed_that_waits_for_its_group_is_not_live(broker: servers.Server) -> None:
    """A killed member is one until the broker's session timeout; here is one that lives, and does not give way."""
    send(broker, "claimed", 1)
    taken: list[Any] = []
    other = confluent_kafka.Consumer({"bootstrap.servers": f"127.0.0.1:{broker.port}", "group.id": "claiming",
                                      "log_level": 0})
    other.subscribe(["claimed"], on_assign=lambda _, partitions: taken.extend(partitions))
    until(lambda: other.poll(0.05) is None and taken, "for the other member")
    with reading(feed(broker, "claimed", group="claiming")) as found:
        until(lambda: next(found) is None and found.state.waiting_for)
        assert (found.state.connection, str(found.state)) == ("connecting", "waiting for the group")
        other.close()
        assert values(found, 1, "at") == [1]
        until(lambda: found.state.connection == "live")
        assert str(found.state) == "live"


@pytest.mark.parametrize("group", [None, "retained"])
def test_messages_that_the_broker_no_longer_has_are_counted(broker: servers.Server, group: str | None) -> None:
    topic = f"retained-{group}"
    send(broker, topic, *range(6))
    asked = feed(broker, topic, group=group, start_from="latest")
    client = admin.AdminClient({"bootstrap.servers": f"127.0.0.1:{broker.port}"})
    deleted, = client.delete_records([confluent_kafka.TopicPartition(topic, 0, 4)]).values()
    assert deleted.result(20).low_watermark == 4
    with reading(asked, {"0": 1}) as found:
        assert values(found, 2, "x") == [40, 50]
        until(lambda: found.state.lost == {"messages that the broker no longer had": 3})


def test_partitions_that_are_added_are_read_from_their_beginning(broker: servers.Server) -> None:
    send(broker, "growing", 1)
    with reading(feed(broker, "growing", start_from="latest",
                      config={"topic.metadata.refresh.interval.ms": 200})) as found:
        until(lambda: next(found) is None and found.offset is not None)
        client = admin.AdminClient({"bootstrap.servers": f"127.0.0.1:{broker.port}"})
        added, = client.create_partitions([admin.NewPartitions("growing", 2)]).values()
        added.result(20)
        producer = confluent_kafka.Producer({"bootstrap.servers": f"127.0.0.1:{broker.port}", "log_level": 0})
        producer.produce("growing", b'{"at": 2, "x": 20}', partition=1)
        assert producer.flush(30) == 0
        assert values(found, 1, "x") == [20]


def test_a_login_that_is_refused_ends_a_query_at_once(broker: servers.Server) -> None:
    config = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "ann",
              "sasl.password": "hunter2"}
    sink = wb.sinks.kafka("out", f"127.0.0.1:{broker.port}", config=config)
    for run in (feed(broker, "in", config=config).start(), wb.from_arrow({"at": [1]}, time="at").start(sink=sink)):
        assert ended(run, PATIENCE_S)
        assert run.error is not None
        assert "Check the user, password" in run.error.hint


def recreate(broker: servers.Server, topic: str, *at: int) -> None:
    cluster = admin.AdminClient({"bootstrap.servers": f"127.0.0.1:{broker.port}"})
    cluster.delete_topics([topic])[topic].result(20)
    until(lambda: topic not in cluster.list_topics(timeout=20).topics)
    cluster.create_topics([admin.NewTopic(topic, 1, 1)])[topic].result(20)
    send(broker, topic, *at)


@pytest.mark.long
@pytest.mark.parametrize("group", [None, "recreated"])
@pytest.mark.parametrize("again", [1, 30], ids=["fewer messages", "more messages"])
def test_a_topic_that_is_recreated_is_read_from_its_beginning(broker: servers.Server, again: int,
                                                              group: str | None) -> None:
    """After the offsets of the old topic there is nothing, or there are other messages: no error reports it."""
    topic, new = f"recreated-{uuid.uuid4()}", [10 * at for at in range(100, 100 + again)]
    send(broker, topic, *range(10))
    asked = feed(broker, topic, group=group, start_from="latest", config={"topic.metadata.refresh.interval.ms": 200})
    with reading(asked, {"0": 0}) as found:
        assert values(found, 10, "x") == [10 * at for at in range(10)]
        until(lambda: next(found) is None and "topic" in found.offset)
        offset = json.loads(json.dumps(found.offset))
        recreate(broker, topic, *range(100, 100 + again))
        seen = values(found, again, "x")
        until(lambda: found.state.lost == {"a topic was recreated": 1})
        while seen[-again:] != new:  # messages after the old offsets may have arrived before
            seen += values(found, 1, "x")
    with reading(asked, offset) as found:
        assert values(found, again, "x") == new
        until(lambda: found.state.lost == {"a topic was recreated": 1})


def test_a_topic_of_more_partitions_that_is_recreated_is_read_from_its_beginning(broker: servers.Server) -> None:
    topic = f"fewer-{uuid.uuid4()}"
    cluster = admin.AdminClient({"bootstrap.servers": f"127.0.0.1:{broker.port}"})
    cluster.create_topics([admin.NewTopic(topic, 3, 1)])[topic].result(20)
    send(broker, topic, *range(10))
    with reading(feed(broker, topic, config={"topic.metadata.refresh.interval.ms": 200})) as found:
        assert sorted(map(str, values(found, 10, "x"))) == sorted(str(10 * at) for at in range(10))
        recreate(broker, topic, *range(100, 120))
        assert values(found, 20, "x") == [10 * at for at in range(100, 120)]
        assert found.state.lost == {"a topic was recreated": 1}


def test_offsets_of_a_history_do_not_apply_to_a_topic_that_is_recreated(broker: servers.Server) -> None:
    topic = f"history-{uuid.uuid4()}"
    send(broker, topic, *range(10))
    history = wb.from_arrow({"at": range(6), "x": range(6), "offset": range(6)}, time="at")
    live = feed(broker, topic, config={"topic.metadata.refresh.interval.ms": 200})
    run = history.then(live, offset="offset").start()
    until(lambda: run.metrics.rows == 10 and run.metrics.feeds[topic].lag_rows == 0)
    time.sleep(1.5)  # until the topic's id is known
    recreate(broker, topic, *range(100, 105))
    until(lambda: run.metrics.rows == 15)
    assert run.metrics.feeds[topic].lost == {"a topic was recreated": 1}
    run.stop()


@pytest.mark.parametrize(("partitions", "group"), [(1, None), (2, None), (2, "taken back")])
def test_what_transactions_took_back_is_not_waited_for(broker: servers.Server, partitions: int,
                                                       group: str | None) -> None:
    topic, server = f"transactions-{uuid.uuid4()}", f"127.0.0.1:{broker.port}"
    asked = admin.AdminClient({"bootstrap.servers": server, "log_level": 0})
    asked.create_topics([admin.NewTopic(topic, partitions, 1)])[topic].result(PATIENCE_S)
    producer = confluent_kafka.Producer({"bootstrap.servers": server, "transactional.id": topic, "log_level": 0})
    producer.init_transactions(PATIENCE_S)
    for at, end in ((range(100), producer.commit_transaction), (range(100, 3_100), producer.abort_transaction)):
        producer.begin_transaction()
        for each in at:
            producer.produce(topic, b'{"at": %d, "x": 0}' % each, partition=each % partitions)
        assert producer.flush(PATIENCE_S) == 0
        end()
    run = wb.from_arrow({"at": [0], "x": [0]}, time="at").then(
        feed(broker, topic, group=group, reorder_latency=1_000), keys=["at"], dedup_window=1_000).start()
    until(lambda: run.metrics.rows == 100)
    until(lambda: run.metrics.feeds[topic].phase == "live" and run.metrics.feeds[topic].lag_rows == 0)
    run.stop()


@pytest.mark.fault("kafka", "server frozen")
@pytest.mark.parametrize("group", [None, "frozen"])
def test_a_feed_whose_broker_says_nothing_is_not_live(broker: servers.Server, group: str | None) -> None:
    topic = f"frozen-{uuid.uuid4()}"
    send(broker, topic, 1)
    with reading(feed(broker, topic, group=group, config={"topic.metadata.refresh.interval.ms": 200})) as found:
        assert values(found, 1, "at") == [1]
        with broker.frozen():
            until(lambda: str(found.state) == "waiting for the broker")
        send(broker, topic, 2)
        assert values(found, 1, "at") == [2]
        until(lambda: found.state.connection == "live")


def test_a_sink_whose_broker_says_nothing_says_so(broker: servers.Server, tmp_path: Path,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_sink, "_ANSWER_S", 0.3)
    said = says_nothing(broker, wb.sinks.kafka("settled", f"127.0.0.1:{broker.port}"), tmp_path)
    assert said == f"no broker answers at 127.0.0.1:{broker.port}"


def test_a_broker_that_says_nothing_holds_up_neither_neighbours_nor_a_stop(broker: servers.Server,
                                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_sink, "_ANSWER_S", 0.3)
    monkeypatch.setattr(kafka_sink, "_GRACE_S", 0.3)
    address = f"127.0.0.1:{broker.port}"
    holds_up_nobody(broker, wb.sinks.kafka("silent", address), f"no broker answers at {address}")
