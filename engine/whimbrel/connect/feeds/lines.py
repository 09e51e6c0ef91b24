"""Bytes of a growing file or page, cut into lines."""

from __future__ import annotations

from codecs import BOM_UTF8


class Lines:
    r"""Takes bytes as they come and gives whole lines; the rest waits for its end.

    Attributes
    ----------
    bytes : int
        Length of the lines that were given, with their ends.

    Examples
    --------
    >>> lines = Lines()
    >>> lines.add(b"one\ntw"), lines.add(b"o\n"), lines.bytes
    ([b'one'], [b'two'], 8)
    """

    def __init__(self) -> None:
        self._rest = b""
        self.bytes = 0

    def add(self, text: bytes) -> list[bytes]:
        """Lines that are complete now, without those that are empty, and without a byte order mark."""
        *whole, self._rest = (self._rest + text).split(b"\n")
        begins = self.bytes == 0
        self.bytes += sum(map(len, whole)) + len(whole)
        if begins and whole:
            whole[0] = whole[0].removeprefix(BOM_UTF8)
        return [line for line in (each.removesuffix(b"\r") for each in whole) if line]

    def end(self) -> list[bytes]:
        """What is left, as the last line."""
        last, self._rest = self._rest, b""
        self.bytes += len(last)
        return [last.removesuffix(b"\r")] if last.strip(b"\r") else []
