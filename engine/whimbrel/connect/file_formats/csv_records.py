"""Records of CSV text, whose values in quotes may have line ends."""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_RECORD_BYTES = 1 << 20
"""Longest record of several lines; a quote that is open for longer is an error of its line."""


class Record(NamedTuple):
    """A record, without its line end.

    Attributes
    ----------
    line : int
        Number of its first line in the text, from 0.
    text : bytes
    """

    line: int
    text: bytes


class RecordSplitter:
    r"""Splits text into records.

    A quote at the beginning of a value opens it, and its lines belong together up to the closing quote. Lines belong
    together only if they are a record with the right number of values, and no quote is followed by text. Otherwise a
    stray quote would take in the lines after it.

    Parameters
    ----------
    delimiter : str
    values : int
        Number of values of a record.

    Examples
    --------
    >>> splitter = RecordSplitter(",", 2)
    >>> splitter.split(b'1,"a\nb"\n2,c\n', ends=True)
    ([Record(line=0, text=b'1,"a\nb"'), Record(line=2, text=b'2,c')], 12)
    >>> splitter.split(b'1,a\n2,"b\n', ends=False)
    ([Record(line=0, text=b'1,a')], 4)
    """

    def __init__(self, delimiter: str, values: int) -> None:
        mark = re.escape(delimiter.encode())
        bare, quoted = rb'[^"%b\n][^%b\n]*+|' % (mark, mark), rb'"(?:[^"]++|"")*+"'
        value, strict = b"(?>%b[^%b\\n]*+|%b)" % (quoted, mark, bare), b"(?>%b|%b)" % (quoted, bare)
        self._record = re.compile(b"%b(?:%b%b)*+\\n" % (value, mark, value))
        self._closed = re.compile(b"%b(?:%b%b)*+\\r?\\n" % (strict, mark, strict))
        self._whole = re.compile(b"%b(?:%b%b){%d}\\r?\\n" % (strict, mark, strict, values - 1))

    def is_whole(self, record: bytes) -> bool:
        """Whether it has the right number of values, and no quote is open or followed by text."""
        return self._whole.fullmatch(record + b"\n") is not None

    def is_closed(self, record: bytes) -> bool:
        """Whether no quote is open or followed by text, and no CR outside of quotes would end it."""
        return b"\r" not in record if b'"' not in record else self._closed.fullmatch(record + b"\n") is not None

    def split(self, text: bytes, *, ends: bool) -> tuple[list[Record], int]:
        """Records of complete lines, without empty lines, and the number of bytes that they take.

        Parameters
        ----------
        text : bytes
            It ends with a line end.
        ends : bool
            Whether no more text follows. Otherwise a record that is open at the end is left for the next text.
        """
        found: list[Record] = []
        begin = line = 0
        while begin < len(text):
            stop = text.index(b"\n", begin) + 1
            if text.find(b'"', begin, stop) >= 0 and not self._record.fullmatch(text, begin, stop):
                limit = begin + MAX_RECORD_BYTES
                closed = self._record.match(text, begin, limit)
                if closed is None and not ends and len(text) < limit:
                    return found, begin
                if closed is not None and self._whole.fullmatch(text, begin, closed.end()):
                    stop = closed.end()
            record = text[begin : stop - 1].removesuffix(b"\r")
            if record.strip():
                found.append(Record(line, record))
            line += text.count(b"\n", begin, stop)
            begin = stop
        return found, len(text)
