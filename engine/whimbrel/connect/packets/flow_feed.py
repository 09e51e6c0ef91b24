"""Feed of flows that exporters of NetFlow and IPFIX send."""

from __future__ import annotations

from collections import Counter
from time import monotonic
from typing import Any, Final, Unpack

import pyarrow as pa

from whimbrel.connect.feeds.runtime.client import Client, MessageBatch, Offset
from whimbrel.connect.feeds.runtime.datagram_socket import MAX_DATAGRAM, open_datagram_socket
from whimbrel.connect.feeds.runtime.feed import Feed
from whimbrel.connect.feeds.runtime.read_options import FeedOptions
from whimbrel.connect.packets.flow_columns import FLOW_COLUMNS, FlowColumns
from whimbrel.connect.packets.flow_decoder import FlowDecoder
from whimbrel.connect.packets.flow_templates import MalformedError
from whimbrel.connect.validation import is_whole
from whimbrel.errors import PlanError

_MAX_AT_ONCE: Final = 1_024


class FlowFeed(Feed):
    """Feed of flows: NetFlow v5, NetFlow v9 and IPFIX.

    Each flow is a row, at the time of its last packet. Exporters send a flow some time after its end, so a reorder
    latency is needed: that of the exporter's timeouts.

    Parameters
    ----------
    port : int
        The port to receive at. Exporters use 2055 or 9995 for NetFlow, and 4739 for IPFIX.
    host : str
        The address to receive at. Default: ``"127.0.0.1"``, for senders on this machine. ``"0.0.0.0"`` is all of them:
        anybody who can reach the port can then send flows.
    **options
        Options of every feed. See :class:`whimbrel.connect.feeds.runtime.read_options.FeedOptions`.

    Attributes
    ----------
    counts : Counter of str
        Datagrams, templates, options templates, and sets that had to wait for a template.

    Notes
    -----
    Sequence numbers tell how many flows (v5, IPFIX) or datagrams (v9) did not arrive. Malformed datagrams go to the
    dead-letter queue. A resumed feed knows the templates of before; datagrams sent meanwhile are lost.
    """

    def __init__(self, port: int, *, host: str = "127.0.0.1", **options: Unpack[FeedOptions]) -> None:
        where = f"feeds.netflow({port!r}, ...)"
        if not is_whole(port) or not 0 <= port < 1 << 16:
            raise PlanError(f"port must be an integer from 0 to 65535, got {port!r}.", where=where,
                            hint="Use the port that the exporter sends to, such as 2055.")
        self.port, self.host = int(port), host
        self.counts: Counter[str] = Counter()
        super().__init__("netflow", time="time", schema=pa.schema(list(FLOW_COLUMNS.items())), format=None, **options)

    def connect(self, offset: Offset) -> Client:
        return _FlowReceiver(self, offset)


class _FlowReceiver(Client):
    """A client that receives datagrams. Its offset has the templates."""

    answered = False

    def __init__(self, feed: FlowFeed, offset: Offset) -> None:
        self._feed = feed
        self._decoder = FlowDecoder(None if offset is None else offset["templates"])
        self._decoder.counts = feed.counts
        self.lost = self._decoder.lost
        self._columns = FlowColumns()
        self._link = open_datagram_socket(feed.host, feed.port, feed.call)

    def receive(self, timeout_s: float) -> MessageBatch | None:
        for datagram, sender in self._datagrams(timeout_s):
            self.answered = True
            try:
                self._decoder.decode(datagram, sender[0])
            except MalformedError as error:
                self._feed.dead_letters.refuse(datagram, str(error))
        if not (found := self._decoder.take()):
            return None
        return MessageBatch(self._columns.rows(found), {"templates": self._decoder.saved})

    def _datagrams(self, timeout_s: float) -> list[tuple[bytes, Any]]:
        found: list[tuple[bytes, Any]] = []
        until = monotonic() + timeout_s
        self._link.settimeout(timeout_s)
        try:
            found.append(self._link.recvfrom(MAX_DATAGRAM))
            self._link.settimeout(0)
            while len(found) < _MAX_AT_ONCE and monotonic() < until:
                found.append(self._link.recvfrom(MAX_DATAGRAM))
        except (TimeoutError, BlockingIOError):
            pass
        return found

    def close(self) -> None:
        self._link.close()
