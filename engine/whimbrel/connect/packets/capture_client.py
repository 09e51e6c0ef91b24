"""Client of a feed that decodes the packets of bytes that arrive."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections import Counter, deque
from typing import Any, Final

import pyarrow as pa

from whimbrel.connect.feeds.runtime.client import Client, MessageBatch
from whimbrel.connect.packets.capture import Capture, CaptureError
from whimbrel.connect.packets.decoded_layers import Packets
from whimbrel.connect.packets.packet_columns import PacketReader
from whimbrel.errors import SourceError

READ_BYTES: Final = 1 << 20
POLL_S: Final = 0.05


class CaptureClient(Client):
    """Decodes the packets of bytes that arrive.

    Parameters
    ----------
    columns : tuple of str
        The columns to decode.
    where : str
        The user's call, for errors.
    """

    def __init__(self, columns: tuple[str, ...], where: str) -> None:
        self.lost: Counter[str] = Counter()
        self._columns, self._where, self._reader = columns, where, PacketReader()
        self._ready: deque[MessageBatch] = deque()
        self._opened = -1
        self._begin("", 0)

    def _begin(self, name: str, skip: int) -> None:
        """Expect the beginning of a capture, of which so many packets were read before."""
        self._capture, self._name, self._packets, self._skip = Capture(self.lost), name, 0, skip

    def _add(self, data: bytes) -> None:
        batches: list[tuple[pa.RecordBatch, int]] = []
        try:
            for found in self._capture.add(data):
                new = found.after(max(0, self._skip - self._packets))
                self._packets += len(found)
                if len(new):
                    columns = self._reader.columns(Packets(new), self._columns)
                    rows = pa.RecordBatch.from_arrays([each.to_arrow() for each in columns], list(self._columns))
                    batches.append((rows, self._packets))
        except CaptureError as error:
            raise SourceError(f"{self._name!r} cannot be read as a capture: {error}.", where=self._where,
                              hint="Write it with tcpdump -U -w.") from None
        if batches:
            place = self._place()
            self._ready += [MessageBatch(rows, None if place is None else {**place, "packets": packets})
                            for rows, packets in batches]

    def _place(self) -> dict[str, Any] | None:
        """What an offset says of the capture that was read; None: it cannot be read again."""
        return None

    def receive(self, timeout_s: float) -> MessageBatch | None:
        if not self._ready:
            self._read(timeout_s)
        return self._ready.popleft() if self._ready else None

    @abstractmethod
    def _read(self, timeout_s: float) -> None:
        """Add bytes, waiting at most this long."""

    def close(self) -> None:
        if self._opened >= 0:
            os.close(self._opened)
            self._opened = -1
