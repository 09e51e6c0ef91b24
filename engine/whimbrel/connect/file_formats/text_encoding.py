"""Encodings of text files, which are read as UTF-8."""

from __future__ import annotations

import codecs
from typing import Protocol

from whimbrel.connect.feeds.formats.malformed import UnreadableError
from whimbrel.connect.file_formats.file_format import HintedError

UTF_8 = "utf-8"
_MARKS = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32", codecs.BOM_UTF16_LE: "utf-16",
          codecs.BOM_UTF16_BE: "utf-16"}
"""Byte order marks; that of UTF-16 is the beginning of that of UTF-32."""
_WIDE = {"1000": "utf-32-le", "0001": "utf-32-be", "1010": "utf-16-le", "0101": "utf-16-be"}
"""Encodings by which of four bytes of a text of Latin letters are 0."""
_FIRST_BYTES = 400


class EncodingError(HintedError):
    """A file has another encoding than it was read with.

    Parameters
    ----------
    what : str
    encoding : str
        The encoding that it seems to have.
    """

    def __init__(self, what: str, encoding: str) -> None:
        others = ', "cp1252" or the one that the file has' if encoding == "latin-1" else ""
        super().__init__(what, f'Use encoding="{encoding}"{others}.')


class ByteStream(Protocol):
    """Where bytes are read from."""

    def read(self, nbytes: int, /) -> bytes: ...


class Utf8Stream:
    r"""Text in another encoding as UTF-8.

    Bytes that are no text become a sequence that UTF-8 does not have, so that their line is malformed.

    Parameters
    ----------
    stream : ByteStream
    encoding : str

    Examples
    --------
    >>> import io
    >>> Utf8Stream(io.BytesIO("a,ö\n".encode("utf-16")), "utf-16").read(100)
    b'a,\xc3\xb6\n'
    """

    def __init__(self, stream: ByteStream, encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)(_BROKEN)
        self._ends = False

    def read(self, bytes_: int) -> bytes:
        """The next text, and nothing at the end."""
        found = ""
        while not found and not self._ends:
            data = self._stream.read(bytes_)
            self._ends = not data
            found = self._decoder.decode(data, self._ends)
        return found.encode(UTF_8, "surrogatepass")


_BROKEN = "whimbrel_broken"
codecs.register_error(_BROKEN, lambda error: ("\udcff", error.end))  # type: ignore[attr-defined]


def is_utf8(text: bytes) -> bool:
    """Whether bytes are text in UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def check_encoding(text: bytes, encoding: str = UTF_8) -> None:
    r"""Refuse the beginning of a file in another encoding than it was read with.

    Raises
    ------
    EncodingError
        If several lines, at least 1 of 100, are not UTF-8, and fewer others have letters beyond ASCII; or if no line is
        UTF-8. Fewer lines are malformed.

    Examples
    --------
    >>> check_encoding(b"a\nb\nc\xff\n")
    >>> check_encoding("ä\nb\nö\n".encode("latin-1"))
    Traceback (most recent call last):
    whimbrel.connect.file_formats.text_encoding.EncodingError: it is not UTF-8, for the first time in line 1
    """
    for mark, wide in _MARKS.items():
        if text.startswith(mark):
            raise EncodingError(f"it begins with the byte order mark of {wide.upper()}", wide)
    if b"\0" in text and not text.strip(b"\0\r\n\t "):
        raise UnreadableError("all of its first bytes are 0")
    parts = [text[at:_FIRST_BYTES:4] for at in range(4)]
    zeros = "".join("0" if 2 * part.count(0) > len(part) else "1" for part in parts)
    if zeros in _WIDE:
        raise EncodingError(f"it seems to be {_WIDE[zeros].upper()}", _WIDE[zeros])
    if is_utf8(text):
        return
    lines = text.split(b"\n")
    broken = [number for number, line in enumerate(lines, 1) if not is_utf8(line)]
    others = sum(not line.isascii() for line in lines) - len(broken)
    several = len(broken) > max(1, others) and 100 * len(broken) >= len(lines)
    if several or len(broken) == sum(bool(line.strip()) for line in lines):
        raise EncodingError(f"it is not {encoding.upper()}, for the first time in line {broken[0]}", "latin-1")


def utf8_lines(text: bytes) -> bytes:
    r"""The lines that are UTF-8.

    >>> utf8_lines(b"a\nb\xff\nc\n")
    b'a\nc\n'
    """
    return text if is_utf8(text) else b"\n".join([line for line in text.split(b"\n") if is_utf8(line)])
