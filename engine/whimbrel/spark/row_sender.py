"""Send the record batches of a partition to the driver."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator


def pusher(address: tuple[str, int], token: bytes, schema: bytes) -> Callable[[Iterable[bytes]],
                                                                              Iterator[tuple[int, int]]]:
    """The function for ``mapPartitions``, over record batches as Java wrote them.

    It opens a connection and writes: the token, the partition (8 bytes), then frames (8 bytes of length, and as many
    bytes): the schema, each batch, and an empty one. The driver answers with one byte when it has taken them all. Only
    then does the task succeed; what it returns is its partition and how many batches it sent.
    """

    # A nested function travels to the executors by value: they need neither whimbrel nor pyarrow.
    def push(batches: Iterable[bytes]) -> Iterator[tuple[int, int]]:
        import socket
        import struct

        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        partition = context.partitionId()
        sent = 0
        with socket.create_connection(address) as connection:

            def send(frame: bytes) -> None:
                connection.sendall(struct.pack("!q", len(frame)))
                connection.sendall(frame)

            connection.sendall(token + struct.pack("!q", partition))
            send(schema)
            for batch in batches:
                send(batch)
                sent += 1
            send(b"")
            if connection.recv(1) != b"\x01":
                raise ConnectionError("the driver has stopped listening")
        yield partition, sent

    return push
