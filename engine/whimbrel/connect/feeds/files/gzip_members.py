"""A gzip that grows member by member, and may have something else between them."""

from __future__ import annotations

import zlib

_GZIP = 31
_BEGIN = b"\x1f\x8b\x08"


class GzipMembers:
    r"""Unpacks members as their bytes come. What is none is left out, up to where the next one begins.

    Its text does not depend on how the bytes were parted: places in it are the same whenever it is read.

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
        """Text, and where in it something else came: there a line ends."""
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
    """The text before the byte at which an error is found, and the bytes from there on."""
    text = bytearray()
    for number in range(len(data)):
        try:
            text += member.decompress(data[number:number + 1])
        except zlib.error:
            return bytes(text), data[number:]
    return bytes(text), b""
