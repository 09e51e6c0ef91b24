"""Bytes of a growing file or page, cut into lines."""

from __future__ import annotations

from codecs import BOM_UTF8

_LAST_BYTES = 1024


class Lines:
    r"""Takes bytes as they come and gives whole lines; the rest waits for its end.

    Attributes
    ----------
    bytes : int
        Length of the lines that were given, with their ends.
    last : bytes
        What they end with, as it was written.

    Examples
    --------
    >>> lines = Lines()
    >>> lines.add(b"one\ntw"), lines.add(b"o\n"), lines.bytes
    ([b'one'], [b'two'], 8)
    """

    def __init__(self) -> None:
        self._rest = self.last = b""
        self.bytes = 0

    def add(self, text: bytes) -> list[bytes]:
        """Lines that are complete now, without those that are empty, and without a byte order mark."""
        text = self._rest + text
        *whole, self._rest = text.split(b"\n")
        begins = self.bytes == 0
        self._give(text, len(text) - len(self._rest))
        if begins and whole:
            whole[0] = whole[0].removeprefix(BOM_UTF8)
        return [line for line in (each.removesuffix(b"\r") for each in whole) if line]

    def end(self) -> list[bytes]:
        """What is left, as the last line."""
        last, self._rest = self._rest, b""
        self._give(last, len(last))
        return [last.removesuffix(b"\r")] if last.strip(b"\r") else []

    def _give(self, text: bytes, count: int) -> None:
        self.bytes += count
        self.last = (self.last + text[max(count - _LAST_BYTES, 0):count])[-_LAST_BYTES:]
