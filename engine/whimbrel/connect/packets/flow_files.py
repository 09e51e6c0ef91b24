"""Source of the flows of NetFlow and IPFIX in capture files."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa

from whimbrel.clock.duration import Duration
from whimbrel.connect.files.paths import FilePath, name_of
from whimbrel.connect.files.read_ahead import read_ahead
from whimbrel.connect.packets.capture_files import CaptureFiles
from whimbrel.connect.packets.decoded_layers import PROBLEMS, Packets
from whimbrel.connect.packets.flow_columns import FLOW_COLUMNS, FlowColumns
from whimbrel.connect.packets.flow_decoder import FlowDecoder
from whimbrel.connect.packets.flow_templates import MalformedError
from whimbrel.connect.packets.packet_columns import PacketReader
from whimbrel.connect.tables.columnar_source import BATCH_ROWS, ColumnarSource
from whimbrel.connect.tables.time_column_markers import FILE_ORDER
from whimbrel.connect.validation import is_whole
from whimbrel.errors import PlanError

_LOG = logging.getLogger("whimbrel.packets")


class FlowFiles(ColumnarSource):
    """Source of the flows that exporters sent over UDP, from captures of their datagrams.

    Parameters
    ----------
    path : str, path or iterable of them
        As in :class:`~whimbrel.connect.packets.packet_files.PacketFiles`. Templates are known in all later files.
    port : int, optional
        The port that datagrams were sent to. Default: any.
    reorder_latency, late : optional
        As in :class:`~whimbrel.connect.tables.columnar_source.TimedSource`, with rows in order of arrival.
    name : str, optional
        Default: the name of the file or directory without its suffix.

    Attributes
    ----------
    problems : Counter of str
        Of the last complete read: datagrams that are damaged or no flows, lost flows, and what could not be read.

    Raises
    ------
    SourceError
        For a missing file, and for one that is no capture.
    """

    def __init__(self, path: FilePath | Iterable[FilePath], *, port: int | None = None,
                 reorder_latency: Duration | None = None, late: str | None = None, name: str | None = None) -> None:
        shown = repr(str(path)) if isinstance(path, (str, Path)) else "..."
        where = f"read_netflow({shown})"
        if port is not None and (not is_whole(port) or not 0 < port < 1 << 16):
            raise PlanError(f"port must be an integer from 1 to 65535, got {port!r}.", where=where,
                            hint="Use the port that the exporter sends to, such as 2055.")
        self.files, self.port = CaptureFiles(path, where), port
        self.problems: Counter[str] = Counter()
        super().__init__(pa.schema(list(FLOW_COLUMNS.items())), time="time", end=None, arrival=FILE_ORDER,
                         reorder_latency=reorder_latency, late=late, name=name or name_of(path, self.files.paths),
                         rows=None, where=where)

    def stamp(self) -> str | None:
        return self.files.stamp()

    def _record_batches(self, columns: list[str], offset: int) -> Generator[pa.RecordBatch]:
        problems: Counter[str] = Counter()
        with closing(read_ahead([self._flows(problems)])) as batches:
            for rows in batches:
                for first in range(offset, rows.num_rows, BATCH_ROWS):
                    yield rows.slice(first, BATCH_ROWS).select(columns)
                offset = max(0, offset - rows.num_rows)
        self.problems = problems
        if problems:
            _LOG.warning("%s: %s.", self.name, ", ".join(f"{count:,} {name}" for name, count in problems.most_common()))

    def _flows(self, problems: Counter[str]) -> Generator[pa.RecordBatch]:
        decoder, columns, reader = FlowDecoder(), FlowColumns(), PacketReader()
        for file in self.files.paths:
            for packets in self.files.packets(file, problems):
                for datagram, exporter in self._datagrams(packets, reader, problems):
                    try:
                        decoder.decode(datagram, exporter)
                    except MalformedError as error:
                        problems[str(error)] += 1
                if found := decoder.take():
                    yield columns.rows(found)
        decoder.drop_waiting()
        problems.update(+decoder.lost)

    def _datagrams(self, packets: Packets, reader: PacketReader, problems: Counter[str]) -> Iterator[tuple[bytes, str]]:
        """Datagrams of UDP to the port, with their senders; those with a problem are counted."""
        ports, chosen = packets.field(packets.udp, 2, 2)
        if self.port is not None:
            chosen &= ports == self.port
        for problem in packets.problems[chosen & (packets.problems > 0)]:
            problems[PROBLEMS[problem]] += 1
        rows = np.flatnonzero(chosen & (packets.problems == 0) & (packets.payloads >= 0))
        sender, = reader.columns(packets, ("src_ip",))
        senders = sender.to_arrow().take(pa.array(rows)).to_pylist()
        for row, exporter in zip(rows, senders, strict=True):
            yield packets.found.data[packets.payloads[row]:packets.ends[row]].tobytes(), exporter
