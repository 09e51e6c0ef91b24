"""Incremental split of bytes into lines."""

from __future__ import annotations

from codecs import BOM_UTF8

_LAST_BYTES = 1024
MAX_LINE_BYTES = 64 << 20
TOO_LONG = "a line is longer than 64 MiB"


class LineSplitter:
    r"""Split bytes into complete lines as they arrive; the rest waits for its line end.

    Attributes
    ----------
    bytes : int
        Length of the returned lines, with their line ends.
    last : bytes
        The last bytes of the returned lines, as written.
    too_long : list of bytes
        Beginnings of lines of more than 64 MiB, which are dropped. The caller clears the list.

    Examples
    --------
    >>> lines = LineSplitter()
    >>> lines.add(b"one\ntw"), lines.add(b"o\n"), lines.bytes
    ([b'one'], [b'two'], 8)
    """

    def __init__(self) -> None:
        self.bytes, self.last = 0, b""
        self.too_long: list[bytes] = []
        self._begun: list[bytes] = []  # the last line, of which nothing is kept once it is too long
        self._begun_bytes = 0
        self._begun_last = b""

    def add(self, text: bytes) -> list[bytes]:
        """Return complete lines without empty ones, and without a byte order mark."""
        ended = text.rfind(b"\n") + 1
        found = self._ended(text[:ended]) if ended else []
        self._begin(text[ended:])
        return found

    def end(self) -> list[bytes]:
        """Return the rest as the last line."""
        return self._ended(b"")

    def _ended(self, text: bytes) -> list[bytes]:
        first = self.bytes == 0
        self.bytes += self._begun_bytes + len(text)
        self.last = (self.last + self._begun_last + text[-_LAST_BYTES:])[-_LAST_BYTES:]
        too_long = self._begun_bytes > MAX_LINE_BYTES
        lines = (text if too_long else b"".join((*self._begun, text))).split(b"\n")
        if too_long:
            lines[0] = b""
        elif first:
            lines[0] = lines[0].removeprefix(BOM_UTF8)
        self._begun, self._begun_bytes, self._begun_last = [], 0, b""
        return [line for line in (each.removesuffix(b"\r") for each in lines) if line]

    def _begin(self, text: bytes) -> None:
        if not text:
            return
        before, self._begun_bytes = self._begun_bytes, self._begun_bytes + len(text)
        self._begun_last = (self._begun_last + text[-_LAST_BYTES:])[-_LAST_BYTES:]
        if self._begun_bytes <= MAX_LINE_BYTES:
            self._begun.append(text)
        elif before <= MAX_LINE_BYTES:
            self.too_long.append(b"".join((*self._begun, text))[:_LAST_BYTES])
            self._begun = []
