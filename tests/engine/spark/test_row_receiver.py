"""The driver's end of the socket, spoken to as a task would; no Spark needed."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import ClassVar

import pyarrow as pa
import pytest

from whimbrel.errors import SourceError
from whimbrel.spark.row_receiver import RowReceiver

NUMBERS = [pa.record_batch({"n": pa.array([10 * batch, None], pa.int64())}) for batch in range(4)]


@pytest.fixture
def delivery() -> Iterator[RowReceiver]:
    end = RowReceiver("127.0.0.1", where="from_spark(...)")
    yield end
    end.close()
    while Task.connections:
        Task.connections.pop().close()


class Task:
    """One attempt at a partition."""

    connections: ClassVar[list[socket.socket]] = []

    def __init__(self, delivery: RowReceiver, partition: int, token: bytes | None = None) -> None:
        self.connection = socket.create_connection(delivery.address, timeout=5)
        self.connections.append(self.connection)
        self.connection.sendall((delivery.token if token is None else token) + struct.pack("!q", partition))
        self._frame(NUMBERS[0].schema.serialize())

    def _frame(self, data: pa.Buffer) -> None:
        self.connection.sendall(struct.pack("!q", data.size) + data.to_pybytes())

    def send(self, *batches: pa.RecordBatch) -> Task:
        for batch in batches:
            self._frame(batch.serialize())
        return self

    def succeed(self) -> bool:
        """End, and say whether the driver has taken everything; it may have hung up before the end reached it."""
        with suppress(ConnectionError):
            self.connection.sendall(struct.pack("!q", 0))
            return self.connection.recv(1) == b"\x01"
        return False

    def wait(self) -> None:
        """For the driver to hang up."""
        if not self.connection.recv(1):
            raise ConnectionResetError("hung up")

    def die(self) -> None:
        self.connection.close()


def values(delivery: RowReceiver) -> list[int]:
    return [batch.column(0)[0].as_py() for batch in delivery]


def test_batches_come_as_they_are_sent(delivery: RowReceiver) -> None:
    taking = iter(delivery)
    task = Task(delivery, 0).send(NUMBERS[0])
    assert next(taking).equals(NUMBERS[0])
    assert task.send(NUMBERS[1]).succeed()
    delivery.finish({0: 2})
    assert [batch.equals(NUMBERS[1]) for batch in taking] == [True]


def test_a_partition_that_is_retried_resumes_where_it_ended(delivery: RowReceiver) -> None:
    taking = iter(delivery)
    first = Task(delivery, 0).send(NUMBERS[0], NUMBERS[1])
    assert [next(taking).column(0)[0].as_py() for _ in range(2)] == [0, 10]
    first.die()
    assert Task(delivery, 0).send(*NUMBERS).succeed()
    delivery.finish({0: 4})
    assert [batch.column(0)[0].as_py() for batch in taking] == [20, 30]


def test_two_attempts_at_once_are_taken_once(delivery: RowReceiver) -> None:
    slow, fast = Task(delivery, 0).send(NUMBERS[0]), Task(delivery, 0)
    late = threading.Timer(0.1, lambda: slow.send(*NUMBERS[1:]).succeed())
    late.start()
    assert fast.send(*NUMBERS).succeed()
    late.join()
    delivery.finish({0: 4})
    assert sorted(values(delivery)) == [0, 10, 20, 30]


def test_partitions_do_not_wait_for_one_another(delivery: RowReceiver) -> None:
    waiting = Task(delivery, 0)
    assert Task(delivery, 1).send(NUMBERS[1]).succeed()
    assert waiting.send(NUMBERS[0]).succeed()
    delivery.finish({0: 1, 1: 1, 2: 0})
    assert values(delivery) == [10, 0]


def test_a_partition_made_differently_is_an_error(delivery: RowReceiver) -> None:
    taking = iter(delivery)
    first = Task(delivery, 7).send(NUMBERS[0])
    next(taking)
    first.die()
    assert not Task(delivery, 7).send(NUMBERS[1]).succeed()
    with pytest.raises(SourceError, match="different rows in the retry of partition 7"):
        next(taking)


def test_rows_that_no_successful_task_sent_are_an_error(delivery: RowReceiver) -> None:
    Task(delivery, 0).send(NUMBERS[0], NUMBERS[1]).succeed()
    with pytest.raises(SourceError, match="partition 0"):
        delivery.finish({0: 1})


def test_rows_with_a_wrong_token_are_rejected(delivery: RowReceiver) -> None:
    with pytest.raises(OSError, match=r"hung up|reset|Broken"):
        Task(delivery, 0, token=bytes(32)).send(NUMBERS[0]).wait()
    delivery.finish({})
    assert values(delivery) == []


def test_when_nobody_takes_tasks_wait(delivery: RowReceiver) -> None:
    large = pa.record_batch({"n": pa.array(range(100_000), pa.int64())})
    task = Task(delivery, 0)
    task.connection.settimeout(0.5)
    with pytest.raises(TimeoutError):
        task.send(*[large] * 1_000)


def test_closing_lets_waiting_tasks_fail(delivery: RowReceiver) -> None:
    task = Task(delivery, 0).send(NUMBERS[0])
    next(iter(delivery))
    delivery.close()
    with pytest.raises(OSError, match=r"hung up|reset|Broken"):
        task.wait()
