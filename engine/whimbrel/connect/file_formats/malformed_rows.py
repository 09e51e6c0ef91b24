"""Dead letters of files: the malformed lines, as a bounded source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Field, Schema
from whimbrel.connect.file_formats.files_source import FilesSource
from whimbrel.plan.source import OrderingSpec, Source

_MAX_BYTES = 4096


class MalformedRows(Source):
    """The malformed lines of files, with the columns file, line, reason, message and size.

    Reading it reads the files. The event time is the number of the line among the malformed ones, from 0.

    Parameters
    ----------
    source : FilesSource
    """

    time = "number"

    def __init__(self, source: FilesSource) -> None:
        self.name = f"dead letters of {source.name}"
        self.schema = Schema((Field("number", pa.int64()), Field("file", pa.string()), Field("line", pa.int64()),
                              Field("reason", pa.string()), Field("message", pa.binary()), Field("size", pa.int64())),
                             None)
        self.disorder = OrderingSpec()
        self.longest = 1
        self._source = source

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        self.schema.select(columns)
        return self._read(columns, offset)

    def _read(self, columns: Sequence[str], offset: int) -> Iterator[Batch | None]:
        number = 0
        with closing(self._source.malformed_lines()) as found:
            for file, lines in found:
                first, number = number, number + len(lines)
                left = lines[max(offset - first, 0):]
                if not left:
                    continue
                at = np.arange(number - len(left), number)
                yield Batch(self.schema, at, 1, (
                    Column(pa.int64(), at),
                    Column(pa.string(), pa.array([str(file)] * len(left), pa.string())),
                    Column(pa.int64(), np.array([each.line for each in left], np.int64)),
                    Column(pa.string(), pa.array([each.reason for each in left], pa.string())),
                    Column(pa.binary(), pa.array([each.text[:_MAX_BYTES] for each in left], pa.binary())),
                    Column(pa.int64(), np.array([len(each.text) for each in left], np.int64)))).select(columns)
