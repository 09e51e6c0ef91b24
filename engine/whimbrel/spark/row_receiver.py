"""Receive rows from Spark tasks exactly once, across retries."""

from __future__ import annotations

import hashlib
import hmac
import queue
import secrets
import socket
import struct
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from io import BufferedReader

import pyarrow as pa

from whimbrel.errors import SourceError

_DEPTH_BATCHES = 8
_TOKEN_BYTES = 32
_GREETING_S = 10
_LOOK_S = 0.1
"""How often a waiting thread looks whether it is still wanted."""


@dataclass
class _Partition:
    """What has been taken of one partition. Its attempts take turns: the lock is held by the one that is sending."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    digests: list[bytes] = field(default_factory=list)


class RowReceiver:
    """Record batches from the tasks of one job, as they come.

    A partition may be sent twice: its task failed half way and is tried again, or runs twice for speed. Batches are
    passed on at once and only their digests are kept; a later attempt must begin with the same batches, which are
    skipped, and the next ones continue after the last known row. Few batches wait at a time: when nobody takes them,
    connections
    are not read and the tasks wait.

    Parameters
    ----------
    host : str
        Where to listen; tasks must be able to reach it.
    where : str
        The user's call, for errors.
    in_turn : bool
        Partitions are passed on one after the other, as :meth:`turns` says.

    Attributes
    ----------
    address : tuple of str and int
    token : bytes
        Connections that do not start with it are rejected.
    """

    def __init__(self, host: str, *, where: str, in_turn: bool = False) -> None:
        self._where = where
        self._turns: deque[int] | None = deque() if in_turn else None
        self._next = threading.Condition()
        self.token = secrets.token_bytes(_TOKEN_BYTES)
        self._server = socket.create_server((host, 0))
        self.address: tuple[str, int] = (host, self._server.getsockname()[1])
        self._ready: queue.Queue[pa.RecordBatch | Exception | None] = queue.Queue(_DEPTH_BATCHES)
        self._partitions: dict[int, _Partition] = {}
        self._connections: set[socket.socket] = set()
        self._closed = threading.Event()
        self._server.settimeout(_LOOK_S)
        threading.Thread(target=self._accept, name="whimbrel-spark-accept", daemon=True).start()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        while (item := self._ready.get()) is not None:
            if isinstance(item, Exception):
                raise item
            yield item

    def turns(self, partitions: Sequence[int]) -> None:
        """Which partitions come next, where they come in turn."""
        if self._turns is not None:
            with self._next:
                self._turns.extend(partitions)

    def finish(self, sent: dict[int, int]) -> None:
        """The job is done: compare with the batches that each partition's successful task sent."""
        for partition, batches in sent.items():
            if len(self._partition(partition).digests) != batches:
                raise self._differs(partition)
        self._put(None)

    def fail(self, error: Exception) -> None:
        """End with an error, after what has been taken."""
        self._put(error)

    def close(self) -> None:
        """Hear nobody any more; tasks that still send fail."""
        self._closed.set()
        for connection in list(self._connections):
            with suppress(OSError):  # its task may be gone already
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with self._server:
            while not self._closed.is_set():
                with suppress(TimeoutError):
                    connection, _ = self._server.accept()
                    self._connections.add(connection)
                    threading.Thread(target=self._hear, args=(connection,), name="whimbrel-spark-task",
                                     daemon=True).start()

    def _hear(self, connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rb") as stream:
                connection.settimeout(_GREETING_S)
                if not hmac.compare_digest(stream.read(_TOKEN_BYTES), self.token):
                    return
                number = _number(stream)
                connection.settimeout(None)
                self._take(number, stream)
                connection.sendall(b"\x01")
        except (OSError, EOFError):
            pass  # The task died or was killed; Spark tries it again or fails the job, and says so.
        except Exception as error:  # noqa: BLE001 - a thread has nobody to raise to but the reader
            with suppress(ConnectionAbortedError):  # nobody reads any more
                self.fail(error)
        finally:
            self._connections.discard(connection)

    def _take(self, number: int, stream: BufferedReader) -> None:
        partition = self._partition(number)
        with partition.lock:
            self._wait_for_turn(number)
            schema: pa.Schema | None = None
            taken = 0
            while frame := _frame(stream):
                if schema is None:
                    schema = pa.ipc.read_schema(pa.py_buffer(frame))
                    continue
                digest = hashlib.blake2b(frame, digest_size=16).digest()
                if taken == len(partition.digests):
                    self._put(pa.ipc.read_record_batch(pa.py_buffer(frame), schema))
                    partition.digests.append(digest)
                elif digest != partition.digests[taken]:
                    raise self._differs(number)
                taken += 1
        if self._turns:
            with self._next:
                if self._turns and self._turns[0] == number:
                    self._turns.popleft()
                    self._next.notify_all()

    def _wait_for_turn(self, number: int) -> None:
        """Until those before it are done; one that was done is looked at once more, and passes nothing on."""
        with self._next:
            while self._turns and number in self._turns and self._turns[0] != number:
                if self._closed.is_set():
                    raise ConnectionAbortedError
                self._next.wait(_LOOK_S)

    def _partition(self, number: int) -> _Partition:
        return self._partitions.setdefault(number, _Partition())

    def _differs(self, partition: int) -> SourceError:
        return SourceError(f"Spark computed different rows in the retry of partition {partition}.", where=self._where,
                           hint="Write the DataFrame to Parquet first, or sort within its partitions.")

    def _put(self, item: pa.RecordBatch | Exception | None) -> None:
        while not self._closed.is_set():
            with suppress(queue.Full):
                self._ready.put(item, timeout=_LOOK_S)
                return
        raise ConnectionAbortedError


def _number(stream: BufferedReader) -> int:
    data = stream.read(8)
    if len(data) < 8:
        raise EOFError
    return int(struct.unpack("!q", data)[0])


def _frame(stream: BufferedReader) -> bytes:
    size = _number(stream)
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data
