"""Blocks of complete lines of a text file, which may be compressed."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator

from whimbrel.connect.feeds.formats.line_splitter import MAX_LINE_BYTES, TOO_LONG
from whimbrel.connect.file_formats.file_format import MalformedLine, Report
from whimbrel.connect.file_formats.text_encoding import UTF_8, ByteStream, Utf8Stream
from whimbrel.connect.files.data_file import DataFile, RemoteFile, byte_stream

FIRST_BYTES = 1 << 20
"""The first block is small, so that the first rows come early."""
_SMALLEST_BYTES = 1 << 18
"""The first block of a local file. Blocks then double: a query of a few rows waits for no large block when it ends."""
_BLOCK_BYTES = 8 << 20
_KEPT_BYTES = 4096


def text_blocks(file: DataFile, report: Report, encoding: str = UTF_8) -> Iterator[tuple[int, bytes]]:
    """Yield the number of the first line of a block, from 1, and the block, which ends with a line end.

    The last line of a file may lack its line end; it is added. A line of more than 64 MiB is malformed. Text in another
    encoding becomes UTF-8.

    Raises
    ------
    OSError
        For a damaged or truncated compressed file.
    """
    is_remote = isinstance(file, RemoteFile)  # each block is a request, and few are faster
    line, rest, size, dropping = 1, b"", FIRST_BYTES if is_remote else min(FIRST_BYTES, _SMALLEST_BYTES), False
    with byte_stream(file) as bytes_:
        stream: ByteStream = bytes_ if encoding == UTF_8 else Utf8Stream(bytes_, encoding)
        while data := stream.read(size):
            if line == 1 and not rest:
                data = data.removeprefix(BOM_UTF8)
            size = _BLOCK_BYTES if is_remote else min(2 * size, _BLOCK_BYTES)
            end = data.rfind(b"\n") + 1
            if dropping:
                begin = data.find(b"\n") + 1
                if not begin:
                    continue
                data, end, dropping, line = data[begin:], max(end - begin, 0), False, line + 1
            if end:
                block = rest + data[:end]
                yield line, block
                line += block.count(b"\n")
                rest = data[end:]
            else:
                rest += data
            if len(rest) > MAX_LINE_BYTES:
                report(MalformedLine(line, TOO_LONG, rest[:_KEPT_BYTES]))
                rest, dropping = b"", True
    if rest:
        yield line, rest + b"\n"


def first_text(file: DataFile, encoding: str = UTF_8) -> bytes:
    """Text from the beginning of a file: all of a short one, also a last line without a line end."""
    found = b""
    for _, block in text_blocks(file, lambda _: None, encoding=encoding):
        found += block if found or block.strip() else b""
        if 2 * len(found) > FIRST_BYTES:
            break
    return found


def first_lines(file: DataFile) -> list[bytes]:
    """Some lines from the beginning of a file, without empty ones."""
    return [line for _, line in lines_of(first_text(file))]


def lines_of(block: bytes) -> list[tuple[int, bytes]]:
    """Lines of a block with their numbers in it, from 0, without line ends and empty lines."""
    lines = (line.removesuffix(b"\r") for line in block.split(b"\n"))
    return [(number, line) for number, line in enumerate(lines) if line.strip()]
