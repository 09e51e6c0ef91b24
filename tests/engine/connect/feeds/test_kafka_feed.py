"""Kafka, on the cluster that librdkafka itself brings for tests."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import confluent_kafka
import fastavro
import pyarrow as pa
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from pyarrow import ipc

import whimbrel as wb
from tests.engine.connect.feeds.listen import PATIENCE_S, reading, rows, until, values
from whimbrel.connect.feeds import Feed
from whimbrel.connect.feeds.kafka import kafka_catch_up, kafka_consumer
from whimbrel.errors import PlanError, SchemaError, SourceError

FIELDS = {"at": "int64", "x": "int64"}
QUICK: Any = {"time": "at", "schema": FIELDS, "retry_backoff_s": (0.02, 0.1), "reorder_latency": 100}


class Cluster:
    """Brokers in this process, and a client that writes to them."""

    def __init__(self) -> None:
        self.producer = confluent_kafka.Producer({
            "test.mock.num.brokers": 1, "bootstrap.servers": "none:1", "message.max.bytes": 32 << 20, "log_level": 0,
            "linger.ms": 0})
        broker, = self.producer.list_topics(timeout=10).brokers.values()
        self.servers = f"{broker.host}:{broker.port}"

    def send(self, topic: str, *messages: bytes | None, partition: int = 0, **more: Any) -> None:
        for message in messages:
            self.producer.produce(topic, message, partition=partition, **more)
        assert self.producer.flush(20) == 0


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    yield made
    del made.producer


def row(at: int) -> bytes:
    return b'{"at": %d, "x": %d}' % (at, 10 * at)


@pytest.mark.fault("kafka", "garbage bytes")
@pytest.mark.fault("kafka", "wrong schema")
@pytest.mark.fault("kafka", "client gone meanwhile")
def test_a_topic_is_read_in_the_order_of_each_partition_and_on_from_its_offsets(cluster: Cluster) -> None:
    for partition in (0, 1):
        cluster.send("plain", *(row(at) for at in range(partition, 10, 2)), partition=partition)
    cluster.send("plain", b"\x00garbage", b'{"at": "x"}', partition=1)
    feed = wb.feeds.kafka("plain", cluster.servers, metadata_columns=["partition", "offset"], **QUICK)
    with reading(feed) as found:
        assert sorted(values(found, 10, "at")) == list(range(10))  # type: ignore[type-var]
        until(lambda: next(found) is None and found.state.messages == 12)
        assert sum(found.state.dead_letters.values()) == 2
        offset = json.loads(json.dumps(found.offset))
        assert offset["0"] == 5
        assert offset["1"] == 7
    cluster.send("plain", row(10), partition=1)
    with reading(feed, offset) as found:
        batch, = rows(found, 1)
        assert [batch.column(name).values[0] for name in ("at", "partition", "offset")] == [10, 1, 7]


@pytest.mark.parametrize(("held", "stamps"), [(10_000, 1), (20, 1), (10_000, 100)])
def test_a_backlog_of_many_partitions_comes_in_the_order_of_its_timestamps(
        cluster: Cluster, held: int, stamps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_catch_up, "_MAX_HELD", held)
    topic = f"backlog-{held}-{stamps}"
    for partition in range(3):  # each is in order, and all of it is there before any of the next
        for at in range(partition, 3000, 3):
            cluster.producer.produce(topic, row(at), partition=partition, timestamp=1_700_000_000_000 + at // stamps)
    assert cluster.producer.flush(20) == 0
    feed = wb.feeds.kafka(topic, cluster.servers, time="at", schema=FIELDS, reorder_latency=3)
    with reading(feed) as found:
        first = values(found, 1000, "at")
        offset = json.loads(json.dumps(found.offset))
        whole: Any = [*first, *values(found, 3000 - len(first), "at")]
        assert sorted(whole) == list(range(3000))
        assert whole == sorted(whole) or (stamps > 1 and max(abs(at - number) for number, at in enumerate(whole)) <= 2)
        cluster.send(topic, row(3001), partition=1)
        assert values(found, 1, "at") == [3001]
    with reading(feed, offset) as found:
        assert sorted(values(found, 3001 - len(first), "at")) == [*range(len(first), 3000), 3001]


@dataclass
class Stamped:
    """The parts of a message that a backlog reads."""

    number: int
    stamp: int

    def partition(self) -> int:
        return self.number

    def timestamp(self) -> tuple[int, int]:
        return 1, self.stamp

    def __len__(self) -> int:
        return 1


def test_the_partition_that_others_wait_for_is_never_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_catch_up, "_MAX_HELD", 4)
    backlog = kafka_catch_up.TimestampMerge([0, 1])
    for stamp in range(1, 6):
        backlog.add(Stamped(0, stamp))
    backlog.paused = backlog.full()
    assert (backlog.taken(10, 100), backlog.paused) == ([], {0})
    for stamp in range(6, 20):
        backlog.add(Stamped(1, stamp))
    assert len(backlog.taken(10, 100)) == 5
    assert backlog.full() == {1}  # while 0 was held back, 1 has come to stand before it: now it waits for 0


def test_partitions_that_may_lag_without_end_are_refused() -> None:
    options: Any = {"time": "at", "schema": FIELDS, "metadata_columns": ["partition"]}
    with pytest.raises(PlanError, match="A partitioned Kafka feed needs max_lag"):
        wb.feeds.kafka("any", partition="partition", **options)
    wb.feeds.kafka("any", partition=wb.PartitionWatermarks("partition", max_lag=5), **options)


@pytest.mark.fault("kafka", "messages of 10 MB")
def test_a_message_may_be_large(cluster: Cluster) -> None:
    cluster.send("large", json.dumps({"at": 1, "x": 2, "padding": "x" * 10_000_000}).encode())
    with reading(wb.feeds.kafka("large", cluster.servers, **QUICK)) as found:
        assert values(found, 1, "x") == [2]


def test_keys_headers_and_timestamps_are_metadata_columns(cluster: Cluster) -> None:
    cluster.send("metadata_columns", row(1), key=b"k", headers=[("trace", b"t1")], timestamp=1_700_000_000_123)
    feed = wb.feeds.kafka("metadata_columns", cluster.servers, metadata_columns=["key", "headers", "timestamp"],
                          **QUICK)
    with reading(feed) as found:
        batch, = rows(found, 1)
        assert batch.column("key").to_arrow().to_pylist() == [b"k"]
        assert batch.column("headers").to_arrow().to_pylist() == [[("trace", b"t1")]]
        assert batch.column("timestamp").values[0] == 1_700_000_000_123


@pytest.mark.parametrize(("tombstones", "rejected"), [("drop", 0), ("dead_letter", 1)])
def test_tombstones_of_a_compacted_topic_are_no_rows(cluster: Cluster, tombstones: Any, rejected: int) -> None:
    topic = f"compacted-{tombstones}"
    cluster.send(topic, row(1), None, row(2), key=b"k")
    with reading(wb.feeds.kafka(topic, cluster.servers, tombstones=tombstones, **QUICK)) as found:
        assert values(found, 2, "at") == [1, 2]
        assert sum(found.state.dead_letters.values()) == rejected
        assert found.offset["0"] == 3


def arrow(at: int) -> bytes:
    sink = io.BytesIO()
    batch = pa.record_batch({"at": [at, at + 1], "x": [10 * at, 10 * at + 10]})
    with ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return sink.getvalue()


AVRO = {"type": "record", "name": "Row", "fields": [{"name": "at", "type": "long"}, {"name": "x", "type": "long"}]}


def avro(at: int) -> bytes:
    sink = io.BytesIO()
    fastavro.schemaless_writer(sink, AVRO, {"at": at, "x": 10 * at})
    return b"\0\0\0\0\x01" + sink.getvalue()


def protobuf_class() -> Any:
    """What protoc would make of ``message Row { int64 at = 1; int64 x = 2; repeated int64 more = 3; }``."""
    file = descriptor_pb2.FileDescriptorProto(name="row.proto", package="t", syntax="proto3")
    made = file.message_type.add(name="Row")
    for number, (name, label) in enumerate((("at", 1), ("x", 1), ("more", 3)), 1):
        made.field.add(name=name, number=number, type=3, label=label)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("t.Row"))


ROW = protobuf_class()


@pytest.mark.parametrize(("name", "format_", "make", "count"), [
    ("arrow", "arrow", arrow, 2), ("avro", wb.feeds.Avro(AVRO, registered=True), avro, 1),
    ("protobuf", wb.feeds.Protobuf(ROW), lambda at: ROW(at=at, x=10 * at).SerializeToString(), 1),
    ("csv", wb.feeds.Csv(["at", "x"]), lambda at: b"%d,%d" % (at, 10 * at), 1),
])
def test_values_may_be_written_otherwise(cluster: Cluster, name: str, format_: Any, make: Any, count: int) -> None:
    cluster.send(name, make(1), b"\xff\xff\xff", make(5))
    for options in ({"schema": FIELDS}, {}):
        feed = wb.feeds.kafka(name, cluster.servers, time="at", format=format_, **options)  # type: ignore[arg-type]
        with reading(feed) as found:
            assert values(found, 2 * count, "x") == ([10, 20, 50, 60] if count == 2 else [10, 50])
            until(lambda found=found: sum(found.state.dead_letters.values()) == 1)  # type: ignore[misc]


@pytest.mark.fault("kafka", "rebalanced group")
def test_members_of_a_group_share_a_topic_and_take_over_from_those_that_leave(cluster: Cluster) -> None:
    quick = {"session.timeout.ms": 6000, "heartbeat.interval.ms": 200, "partition.assignment.strategy": "roundrobin"}
    feed = wb.feeds.kafka("shared", cluster.servers, group="g", config=quick, **QUICK)
    sent: list[int] = []

    def send() -> None:
        for partition in range(4):
            sent.append(len(sent))
            cluster.send("shared", row(sent[-1]), partition=partition)

    send()
    with reading(feed) as first:
        came = values(first, 4, "at")
        with reading(feed) as second:
            theirs: list[Any] = []

            def shared() -> bool:
                send()
                came.extend(_some(first))
                theirs.extend(_some(second))
                return len(theirs) > 8

            until(shared, "for a share")
        send()
        until(lambda: came.extend(_some(first)) or {*came, *theirs} >= set(sent), "for what the other left")


def _some(found: Any) -> list[Any]:
    batch = next(found)
    return [] if batch is None else batch.column("at").to_arrow().to_pylist()


@pytest.mark.fault("kafka", "broker not there")
def test_a_broker_that_is_not_there_yet_is_waited_for() -> None:
    config = {"socket.connection.setup.timeout.ms": 1000}
    with reading(wb.feeds.kafka("none", "127.0.0.1:9", config=config, **QUICK)) as found:
        next(found)
        until(lambda: found.state.connection == "reconnecting", "for the first attempt to fail")
        assert "127.0.0.1:9" in found.state.error


def test_the_latest_is_said_once_for_all_partitions(cluster: Cluster) -> None:
    for partition in (0, 1):
        cluster.send("newest", row(partition), partition=partition)
    feed = wb.feeds.kafka("newest", cluster.servers, start_from="latest", **QUICK)
    with reading(feed) as found:
        until(lambda: next(found) is None and found.offset is not None)
        offset = json.loads(json.dumps(found.offset))
        assert (offset["0"], offset["1"]) == (1, 1)
    cluster.send("newest", row(7), partition=1)
    with reading(feed, offset) as found:
        assert values(found, 1, "at") == [7]


def test_offsets_that_are_gone_are_passed_over_to_the_earliest_there(cluster: Cluster) -> None:
    cluster.send("gone", row(1), row(2))
    feed = wb.feeds.kafka("gone", cluster.servers, start_from="latest", **QUICK)
    with reading(feed, {"0": 50}) as found:
        assert values(found, 2, "at") == [1, 2]
        until(lambda: found.state.lost == {"offsets restarted": 1})


def test_what_kafka_does_not_know_is_refused() -> None:
    with pytest.raises(PlanError, match="metadata of Kafka messages, got 'offsets'"):
        wb.feeds.kafka("t", time="at", metadata_columns=["offsets"])


def test_passwords_are_in_no_plan(cluster: Cluster) -> None:
    feed = wb.feeds.kafka("plain", cluster.servers, config={"sasl.password": "hunter2"}, **QUICK)
    assert "hunter2" not in f"{feed.explain()}{feed!r}"


def test_the_feed_reports_its_lag(cluster: Cluster) -> None:
    cluster.send("backlog", *(row(at) for at in range(100)))
    with reading(wb.feeds.kafka("backlog", cluster.servers, **QUICK)) as found:
        rows(found, 100)
        until(lambda: found.state.lag_rows == 0)


@pytest.mark.timeout(60)
def test_what_is_there_is_handed_on_without_waiting_for_more_and_not_too_much_at_once(
        cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_consumer, "_MAX_BYTES", 10_000)
    cluster.send("waiting", *(row(at).ljust(2_500) for at in range(12)))
    feed = wb.feeds.kafka("waiting", cluster.servers, **QUICK).node.op
    assert isinstance(feed, Feed)
    with contextlib.closing(feed.connect(None)) as client:
        counts: list[int] = []
        while sum(counts) < 12:
            delivery = client.receive(3600.0)
            assert delivery is not None
            counts.append(len(delivery.messages))
    assert max(counts) <= 5


def test_a_topic_is_read_on_after_the_offsets_of_a_history(cluster: Cluster) -> None:
    for partition in (0, 1):
        cluster.send("handed", *(row(at) for at in range(partition, 20, 2)), partition=partition)
    recorded = [{"at": at, "x": 10 * at, "partition": at % 2, "offset": at // 2} for at in range(12)]
    fields = pa.schema([("at", pa.int64()), ("x", pa.int64()), ("partition", pa.int32()), ("offset", pa.int64())])
    log = wb.from_arrow(pa.Table.from_pylist(recorded, fields), time="at")
    feed = wb.feeds.kafka("handed", cluster.servers, metadata_columns=["partition", "offset"], **QUICK)
    with reading(log.then(feed, offset="offset", partition="partition")) as found:
        assert sorted(values(found, 20, "at")) == list(range(20))  # type: ignore[type-var]
        assert (found.state.duplicates, found.state.messages) == (0, 8)


def test_offsets_of_several_partitions_are_those_of_each(cluster: Cluster) -> None:
    cluster.send("parts", *(row(at) for at in range(30)), partition=0)
    cluster.send("parts", *(row(at) for at in range(30, 33)), partition=1)
    log = wb.from_arrow({"at": pa.array(range(20)), "x": pa.array(range(0, 200, 10)), "offset": pa.array(range(20)),
                         "partition": pa.array([0] * 20, pa.int32())}, time="at")
    feed = wb.feeds.kafka("parts", cluster.servers, metadata_columns=["partition", "offset"], **QUICK)
    with reading(log.then(feed, offset="offset")) as found:
        assert sorted(values(found, 33, "at")) == list(range(33))  # type: ignore[type-var]
    whole = wb.from_arrow({"at": range(20), "x": range(0, 200, 10), "offset": range(20)}, time="at")
    with pytest.raises(SourceError, match=r"topic with one partition, 'parts' has [0-9]+: each"):
        whole.then(feed, offset="offset").start().wait(PATIENCE_S)


def test_an_error_says_how_to_cast_the_partitions_of_a_history(cluster: Cluster) -> None:
    log = wb.from_arrow({"at": [1], "x": [10], "partition": [0], "offset": [0]}, time="at")
    feed = wb.feeds.kafka("cast", cluster.servers, metadata_columns=["partition", "offset"], **QUICK)
    with pytest.raises(SchemaError, match="Cast it to int32 in the history"):
        log.then(feed, offset="offset")


def test_a_topic_is_live_when_little_is_left_of_it(cluster: Cluster) -> None:
    for partition in (0, 1):
        cluster.send("long", *(row(at) for at in range(4_000)), partition=partition)
    log = wb.from_arrow({"at": [0], "x": [0]}, time="at")
    with reading(log.then(wb.feeds.kafka("long", cluster.servers, **QUICK), keys=["at"], dedup_window=1_000)) as found:
        read = 0
        while found.state.phase != "live":
            batch = next(found)
            read += 0 if batch is None else len(batch)
        assert read + found.state.duplicates >= 7_000
