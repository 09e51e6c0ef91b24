"""Directory of Parquet files with blocks of samples as a sink."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from whimbrel.clock import Rate
from whimbrel.connect.files.paths import FilePath
from whimbrel.connect.sinks.committed_files import damage
from whimbrel.connect.sinks.folder_sink import BufferedFolderSink
from whimbrel.connect.sinks.sample_numbers import SampleNumbers
from whimbrel.connect.validation import is_whole
from whimbrel.errors import PlanError, SinkError
from whimbrel.plan.sink import Token

SAMPLES, BLOCK = b"whimbrel.samples", b"whimbrel.block"
"""Keys of a file's metadata: how many samples it has, and how many a block has at most."""


class BlocksSink(BufferedFolderSink):
    """Sink of samples in Parquet files, with a row for each block.

    Columns are start, the time of the first sample, and a list of samples for each channel. A gap ends a block, so that
    gaps are kept. ``wb.read_parquet(folder, time="start", samples=[...], rate=...)`` reads the same stream. Integers
    are delta-packed and files compressed with zstd. Files appear as with :class:`ParquetSink`, exactly once.

    Parameters
    ----------
    folder : str or path
        The folder, which is created if it does not exist. A new run needs a folder without rows.
    rate : int, float, str, Fraction or Decimal
        Samples per second.
    block : int
        Most samples of a block. Blocks are shorter before a gap, and where a checkpoint is written.
    """

    def __init__(self, folder: FilePath, *, rate: Rate, block: int = 16_384) -> None:
        super().__init__(folder, "sinks.blocks")
        if not is_whole(block) or block < 1:
            raise PlanError(f"block must be an integer of at least 1, got {block!r}.", where=self.where,
                            hint="Use for example block=16_384.")
        self.rate, self.block = rate, block

    def open(self, schema: pa.Schema, rows: int, token: Token) -> None:
        self._numbers = SampleNumbers(schema, self.rate, self.where)
        self._channels = [name for name in schema.names if name not in ("start", "end")]
        for name in self._channels:
            type_ = schema.field(name).type
            if not (pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_boolean(type_)):
                raise SinkError(f"Channels must be numbers, but {name!r} is {type_}.", where=self.where,
                                hint="Use .select(...) with the channels.")
        super().open(pa.schema([schema.field("start"), *(pa.field(name, pa.list_(schema.field(name).type))
                                                         for name in self._channels)]), rows, token)

    def write_file(self, path: Path, rows: pa.Table) -> None:
        metadata = {SAMPLES: str(rows.num_rows), BLOCK: str(self.block)}
        blocks = self._blocks(rows.combine_chunks().to_batches()[0])
        with path.open("wb") as file:
            parquet.write_table(pa.Table.from_batches([blocks]).replace_schema_metadata(metadata), file,
                                compression="zstd", use_dictionary=False, column_encoding=self._encodings())
            file.flush()
            os.fsync(file.fileno())

    def _blocks(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """A row for each block; values are not copied."""
        first = [row for begin, count, _ in self._numbers.runs(rows.column("start"))
                 for row in range(begin, begin + count, self.block)]
        offsets = pa.array(np.array([*first, rows.num_rows], np.int32))
        lists = [pa.ListArray.from_arrays(offsets, rows.column(name)) for name in self._channels]
        starts = rows.column("start").take(pa.array(first, pa.int64()))
        return pa.RecordBatch.from_arrays([starts, *lists], schema=self._schema)

    def _encodings(self) -> dict[str, str]:
        packed: dict[str, str] = {"start": "DELTA_BINARY_PACKED"}
        for name in self._channels:
            item: Any = self._schema.field(name).type.value_type
            if pa.types.is_integer(item):
                packed[f"{name}.list.element"] = "DELTA_BINARY_PACKED"
            elif item in (pa.float32(), pa.float64()):
                packed[f"{name}.list.element"] = "BYTE_STREAM_SPLIT"
        return packed

    def damage(self, path: Path, rows: int) -> str:
        try:
            footer = parquet.read_metadata(path)
        except (pa.ArrowInvalid, OSError):
            return "cannot be read as Parquet"
        known = int((footer.metadata or {}).get(SAMPLES, b"0"))
        if known != rows:
            return f"has {known:,} samples"
        why = damage(path, footer.num_rows)
        return why or ("has other columns" if parquet.read_schema(path).names != self._schema.names else "")
