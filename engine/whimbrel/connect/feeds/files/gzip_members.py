"""Decompression of a growing gzip file, member by member."""

from __future__ import annotations

import zlib

_GZIP = 31
_BEGIN = b"\x1f\x8b\x08"


class GzipMembers:
    r"""Decompress members as their bytes arrive, and skip other bytes up to the next member.

    The text does not depend on how the bytes were split, so positions in it are stable.

    Examples
    --------
    >>> import gzip
    >>> members = GzipMembers()
    >>> members.add(gzip.compress(b"one\n") + b"garbage" + gzip.compress(b"two\n"))
    (b'one\n\ntwo\n', [4])
    """

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP)
        self._between = False
        self._rest = b""

    def add(self, data: bytes) -> tuple[bytes, list[int]]:
        """Return text, and the positions at which other bytes were skipped; a line ends there."""
        text = bytearray()
        breaks: list[int] = []
        data, self._rest = self._rest + data, b""
        while data:
            if self._between:
                begin = data.find(_BEGIN)
                if begin < 0:
                    self._rest = data[1 - len(_BEGIN):]
                    break
                data, self._between = data[begin:], False
                self._member = zlib.decompressobj(_GZIP)
            before = self._member.copy()
            try:
                text += self._member.decompress(data)
            except zlib.error:
                last, data = _to_the_error(before, data)
                text += last
                breaks.append(len(text))
                text += b"\n"
                self._between = True
                continue
            data = self._member.unused_data
            if self._member.eof:
                self._member = zlib.decompressobj(_GZIP)
        return bytes(text), breaks


def _to_the_error(member: zlib._Decompress, data: bytes) -> tuple[bytes, bytes]:
    """The text before the byte with an error, and the bytes from there on."""
    text = bytearray()
    for number in range(len(data)):
        try:
            text += member.decompress(data[number:number + 1])
        except zlib.error:
            return bytes(text), data[number:]
    return bytes(text), b""
