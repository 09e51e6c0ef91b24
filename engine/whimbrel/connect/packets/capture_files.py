"""Read packets of capture files in order, and count what is damaged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Final

import pyarrow as pa

from whimbrel.connect.file_formats.file_format import COMPRESSED, checked_unchanged
from whimbrel.connect.files.data_file import byte_stream, written
from whimbrel.connect.files.paths import FilePath, data_files
from whimbrel.connect.packets.capture import Capture, CaptureError
from whimbrel.connect.packets.decoded_layers import Packets
from whimbrel.errors import SourceError

_READ_BYTES: Final = 1 << 20
_FINER: Final = 1 << 10
_CUT: Final = "compressed files that are cut"
_ENDINGS: Final = tuple(f"{name}{packed}" for packed in COMPRESSED for name in (".pcap", ".pcapng", ".cap"))


class CaptureFiles:
    """Capture files, pcap or pcapng, which may be compressed.

    Parameters
    ----------
    path : str, path or iterable of them
        As in :class:`~whimbrel.connect.files.parquet.ParquetSource`.
    where : str
        The user's call, for errors.

    Attributes
    ----------
    paths : list of Path

    Raises
    ------
    SourceError
        For a missing file, and for one that is no capture.
    """

    def __init__(self, path: FilePath | Iterable[FilePath], where: str) -> None:
        self._where = where
        self.paths = data_files(path, where=where, endings=_ENDINGS)
        self._written = {file: written(file) for file in self.paths}
        for file in self.paths:
            self._check(file)

    def stamp(self) -> str:
        """A text that changes with the files."""
        return repr([(str(file), self._written[file]) for file in self.paths])

    def packets(self, file: Path, counts: Counter[str]) -> Generator[Packets]:
        """Packets of a file; `counts` gets what cannot be read."""
        capture = Capture(counts)
        try:
            checked_unchanged(file, self._written[file], self._where)
            for more in _bytes_of(file, counts):
                for found in capture.add(more):
                    packets = Packets(found)
                    packets.count_other_links(counts)
                    yield packets
        except (OSError, EOFError, pa.ArrowException, CaptureError) as error:
            checked_unchanged(file, self._written[file], self._where)
            raise self._broken(file, error) from None
        checked_unchanged(file, self._written[file], self._where)
        capture.end()

    def _check(self, file: Path) -> None:
        """Refuse a file that is no capture before rows are read."""
        if file.is_fifo():
            raise SourceError(f"{str(file)!r} is a pipe, which can be read only once.", where=self._where,
                              hint=f"Write it to a file first, or use wb.feeds.pcap({str(file)!r}).")
        try:
            with byte_stream(file) as opened:
                for _ in Capture(Counter()).add(opened.read(64)):
                    break
        except (OSError, EOFError, pa.ArrowException, CaptureError) as error:
            if not _is_cut(error):  # the rest is counted when it is read
                raise self._broken(file, error) from None

    def _broken(self, file: Path, error: Exception) -> SourceError:
        is_packed = file.suffix.lower() in COMPRESSED
        if isinstance(error, OSError) and error.errno is None and is_packed:  # of a codec, not a disk
            return SourceError(f"{str(file)!r} cannot be read as a capture: its compressed data is damaged.",
                               where=self._where, hint="Copy or write the file again.")
        return SourceError(f"{str(file)!r} cannot be read as a capture: {' '.join(str(error).split())[:160]}.",
                           where=self._where, hint="Use files of tcpdump or Wireshark: pcap or pcapng.")


def _bytes_of(file: Path, counts: Counter[str]) -> Generator[bytes]:
    """Bytes of a file, up to where its compressed data is cut.

    Arrow gives nothing of a read that meets the cut: the rest is read again, in smaller pieces.
    """
    done, size = 0, _READ_BYTES
    while size:
        try:
            with byte_stream(file) as opened:
                skip = done
                while skip and (again := opened.read(min(skip, _READ_BYTES))):
                    skip -= len(again)
                while more := opened.read(size):
                    done += len(more)
                    yield more
        except OSError as error:
            if not _is_cut(error):
                raise
            size //= _FINER
        else:
            return
    counts[_CUT] += 1


def _is_cut(error: Exception) -> bool:
    return "Truncated compressed" in str(error)
