"""Source of the packets of capture files."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pyarrow as pa

from whimbrel.batch import Batch
from whimbrel.clock.duration import Duration
from whimbrel.connect.file_formats.file_format import COMPRESSED, checked_unchanged
from whimbrel.connect.files.data_file import written
from whimbrel.connect.files.paths import FilePath, data_files, name_of
from whimbrel.connect.files.read_ahead import read_ahead
from whimbrel.connect.packets.capture import Capture, CaptureError
from whimbrel.connect.packets.decoded_layers import Packets
from whimbrel.connect.packets.packet_columns import COLUMNS, PacketReader
from whimbrel.connect.tables.columnar_source import TimedSource
from whimbrel.errors import SourceError

_LOG = logging.getLogger("whimbrel.packets")
_READ_BYTES = 1 << 20
_UNREADABLE = (OSError, EOFError, pa.ArrowException, CaptureError)
ENDINGS = tuple(f"{name}{packed}" for packed in COMPRESSED for name in (".pcap", ".pcapng", ".cap"))
FIELDS = pa.schema([pa.field(name, column.type) for name, column in COLUMNS.items()])


class PacketFiles(TimedSource):
    """Source of the packets of capture files, pcap or pcapng, which may be compressed.

    Only the columns that a query reads are decoded.

    Parameters
    ----------
    path : str, path or iterable of them
        As in :class:`~whimbrel.connect.files.parquet.ParquetSource`.
    reorder_latency, late : optional
        As in :class:`~whimbrel.connect.tables.columnar_source.TimedSource`.
    name : str, optional
        Default: the name of the file or directory without its suffix.

    Attributes
    ----------
    problems : Counter of str
        Of the last complete read: packets with a problem by its name, and what could not be read.

    Raises
    ------
    SourceError
        For a missing file, and for one that is no capture.
    """

    def __init__(self, path: FilePath | Iterable[FilePath], *, reorder_latency: Duration | None = None,
                 late: str | None = None, name: str | None = None) -> None:
        shown = repr(str(path)) if isinstance(path, (str, Path)) else "..."
        self._where = f"read_pcap({shown})"
        self.paths = data_files(path, where=self._where, endings=ENDINGS)
        self._written = {file: written(file) for file in self.paths}
        self.problems: Counter[str] = Counter()
        super().__init__(FIELDS, time="time", end=None, arrival=None, reorder_latency=reorder_latency, late=late,
                         name=name or name_of(path, self.paths), rows=None, where=self._where)
        for file in self.paths:
            self._check(file)

    def stamp(self) -> str | None:
        return repr([(str(file), self._written[file]) for file in self.paths])

    def _read(self, columns: Sequence[str], offset: int) -> Iterator[Batch | None]:
        schema, problems = self.schema.select(columns), Counter[str]()
        with closing(read_ahead([self._packets_of(file, tuple(columns), problems) for file in self.paths])) as batches:
            for batch in batches:
                if offset < len(batch):
                    yield batch.slice(offset, len(batch)) if offset else batch
                offset = max(0, offset - len(batch))
        self.problems = problems
        if problems:
            _LOG.warning("%s: %s.", self.name, ", ".join(f"{count:,} {name}" for name, count in problems.most_common()))
        assert schema.names == tuple(columns)

    def _packets_of(self, file: Path, columns: tuple[str, ...], problems: Counter[str]) -> Generator[Batch]:
        schema, reader, counts = self.schema.select(columns), PacketReader(), Counter[str]()
        capture = Capture(counts)
        try:
            checked_unchanged(file, self._written[file], self._where)
            with pa.input_stream(str(file)) as opened:
                while more := opened.read(_READ_BYTES):
                    for found in capture.add(more):
                        packets = Packets(found)
                        packets.count_problems(counts)
                        yield Batch(schema, found.times, 1, reader.columns(packets, columns))
        except _UNREADABLE as error:
            checked_unchanged(file, self._written[file], self._where)
            raise self._broken(file, str(error)) from None
        checked_unchanged(file, self._written[file], self._where)
        capture.end()
        problems.update(counts)

    def _check(self, file: Path) -> None:
        """Refuse a file that is no capture before rows are read."""
        if file.is_fifo():
            raise SourceError(f"{str(file)!r} is a pipe, which can be read only once.", where=self._where,
                              hint=f"Use wb.feeds.pcap({str(file)!r}).")
        try:
            with pa.input_stream(str(file)) as opened:
                for _ in Capture(Counter()).add(opened.read(64)):
                    break
        except _UNREADABLE as error:
            raise self._broken(file, str(error)) from None

    def _broken(self, file: Path, cause: str) -> SourceError:
        return SourceError(f"{str(file)!r} cannot be read as a capture: {' '.join(cause.split())[:160]}.",
                           where=self._where, hint="Use files of tcpdump or Wireshark: pcap or pcapng.")
