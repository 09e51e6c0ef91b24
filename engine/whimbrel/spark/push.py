"""What runs inside Spark's tasks: it hands a partition's record batches to the driver."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

RESULT = "partition long, batches long"
"""Columns of what a task returns to Spark."""


def pusher(address: tuple[str, int], token: bytes) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function for ``mapInArrow``.

    It opens a connection and writes: the token, the partition (8 bytes), then frames (8 bytes of length, and as many
    bytes): the schema, each batch, and an empty one. The driver answers with one byte when it has taken them all. Only
    then does the task succeed; what it returns is one row, which says how many batches it sent.
    """

    # A nested function travels to the executors by value: they need pyarrow, not whimbrel.
    def push(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import socket
        import struct

        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        partition = context.partitionId()
        sent = 0
        with socket.create_connection(address) as connection:

            def send(frame: pa.Buffer) -> None:
                connection.sendall(struct.pack("!q", frame.size))
                connection.sendall(frame)

            connection.sendall(token + struct.pack("!q", partition))
            for batch in batches:
                if sent == 0:
                    send(batch.schema.serialize())
                send(batch.serialize())
                sent += 1
            send(pa.py_buffer(b""))
            if connection.recv(1) != b"\x01":
                raise ConnectionError("the driver has stopped listening")
        yield pa.record_batch({"partition": pa.array([partition], pa.int64()), "batches": pa.array([sent], pa.int64())})

    return push
