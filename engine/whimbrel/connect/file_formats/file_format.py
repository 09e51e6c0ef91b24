"""Contract of file formats, and what changes with a file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from whimbrel.connect.feeds.formats.malformed import UnreadableError
from whimbrel.connect.files.data_file import DataFile, written
from whimbrel.connect.tables.lifetime_columns import Timeline
from whimbrel.errors import SourceError


@dataclass(frozen=True, slots=True)
class MalformedLine:
    """A line of a file that is no row of its columns.

    Attributes
    ----------
    line : int
        Its number, from 1.
    reason : str
        Why it is malformed, without its values, so that lines can be counted by reason.
    text : bytes
        The line.
    """

    line: int
    reason: str
    text: bytes


class HintedError(UnreadableError):
    """A file that cannot be read, with what to do.

    Parameters
    ----------
    what : str
    hint : str
    """

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.hint = hint


Report = Callable[[MalformedLine], None]
"""Takes a malformed line."""


class FileFormat(ABC):
    """A format of files with rows."""

    title: ClassVar[str]
    endings: ClassVar[tuple[str, ...]]
    text_for_all: ClassVar[bool] = False
    """Whether values of all types can be read as text."""
    has_malformed_lines: ClassVar[bool] = True
    """Whether single rows can be malformed."""
    has_open_columns: ClassVar[bool] = False
    """Whether later rows may have columns that the first rows lack."""

    given: pa.Schema = pa.schema([])
    """Types of some columns of the files, instead of those of the first rows."""

    @abstractmethod
    def schema(self, file: DataFile, times: Collection[str]) -> pa.Schema:
        """Columns of a file, from its first rows; of type null if those are empty.

        The columns `times` have times.
        """

    @abstractmethod
    def batches(self, file: DataFile, fields: pa.Schema, timeline: Timeline,
                report: Report) -> Iterator[pa.RecordBatch]:
        """Rows of a file with these columns, all of which it has, in order.

        A line without an event time is malformed, and so is one that does not end after it starts.
        """

    def why_without_values(self, file: DataFile, name: str) -> HintedError | None:
        """Why the first rows of a file give a column of times no value; None if there is nothing special."""
        del file, name
        return None

    @property
    def stated_time_type(self) -> pa.DataType | None:
        """The type of times without values, if options say that they are times."""
        return None

    def time_hint(self, name: str) -> str:
        """What to do if a column of times has another type; empty if there is nothing special."""
        del name
        return ""


COMPRESSED = ("", ".gz", ".zst", ".bz2", ".lz4", ".br")
"""Endings of compressed files; Arrow chooses the codec by them."""


def checked_unchanged(file: DataFile, before: tuple[int, int] | None, where: str) -> None:
    """Refuse a file that changed after its columns were read."""
    if written(file) not in (None, before):  # what was removed while it is open stays as it was
        raise SourceError(f"{str(file)!r} changed after it was opened.", where=where,
                          hint=f"Use {where.partition('(')[0]} again, and write new data to new files.")
