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
from whimbrel.connect.files.paths import FilePath, name_of
from whimbrel.connect.files.read_ahead import read_ahead
from whimbrel.connect.packets.capture_files import CaptureFiles
from whimbrel.connect.packets.packet_columns import COLUMNS, PacketReader
from whimbrel.connect.tables.columnar_source import TimedSource

_LOG = logging.getLogger("whimbrel.packets")
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
        where = f"read_pcap({shown})"
        self.files = CaptureFiles(path, where)
        self.problems: Counter[str] = Counter()
        super().__init__(FIELDS, time="time", end=None, arrival=None, reorder_latency=reorder_latency, late=late,
                         name=name or name_of(path, self.files.paths), rows=None, where=where)

    def stamp(self) -> str | None:
        return self.files.stamp()

    def _read(self, columns: Sequence[str], offset: int) -> Iterator[Batch | None]:
        schema, problems = self.schema.select(columns), Counter[str]()
        parts = [self._packets_of(file, tuple(columns), problems) for file in self.files.paths]
        with closing(read_ahead(parts)) as batches:
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
        for packets in self.files.packets(file, counts):
            packets.count_problems(counts)
            yield Batch(schema, packets.found.times, 1, reader.columns(packets, columns))
        problems.update(counts)
