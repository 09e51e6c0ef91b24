"""Verification of a run's result files, whose names have row ranges."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyarrow import parquet

from whimbrel.errors import SinkError

_NAME = re.compile(r"rows-(\d+)-(\d+)\.\w+")
_MAX_NAMED = 3
_WRITTEN = b"whimbrel.written_ns"
_TICK_NS = 2_000_000_000
_ENDING_BYTES = 8  # the length of the footer, and PAR1


class RowsFile(NamedTuple):
    """A file of rows ``[first, stop)``, counted from 0."""

    first: int
    stop: int
    path: Path


def file_name(first: int, stop: int, ending: str = ".parquet") -> str:
    """Name of the file of a row range.

    >>> file_name(0, 30)
    'rows-000000000000000-000000000000030.parquet'
    """
    return f"rows-{first:015}-{stop:015}{ending}"


def rows_files(folder: Path, ending: str = ".parquet") -> list[RowsFile]:
    """Visible files of rows, in order; files with other names are ignored."""
    named = ((_NAME.fullmatch(path.name), path) for path in folder.glob(f"rows-*{ending}"))
    return sorted(RowsFile(int(name[1]), int(name[2]), path) for name, path in named if name is not None)


def write_rows(path: Path, table: pa.Table) -> None:
    """Write a durable file with page checksums, whose footer has its own time of modification.

    A resumed run compares the two times. If they differ, it reads the pages. The time is a whole number of even
    seconds, which every file system keeps, and which no later write has by chance.
    """
    written = time.time_ns() // _TICK_NS * _TICK_NS
    with path.open("wb") as file:
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), _WRITTEN: str(written)})
        parquet.write_table(table, file, compression="zstd", write_page_checksum=True)
        file.flush()
        os.utime(path, ns=(written, written))
        os.fsync(file.fileno())


def check_kept(folder: Path, rows: int, damage: Callable[[Path, int], str], *, ending: str = ".parquet",
               call: str = "sinks.parquet") -> None:
    """Refuse a folder in which some of the first `rows` rows are missing or damaged.

    Only headers and footers are read, and all pages of Parquet files that were changed or copied since they were
    written.

    Parameters
    ----------
    folder : path
    rows : int
        Number of rows that the run has written, from its checkpoint.
    damage : callable
        The damage of a file that should have so many rows; empty if it is complete.
    ending : str
        Ending of the files.
    call : str
        The user's call, for errors.

    Raises
    ------
    SinkError
        It names the rows and their files.
    """
    lost = list(_lost(rows_files(folder, ending), rows, damage))
    if not lost:
        return
    named = "; ".join(f"rows {first:,} to {stop - 1:,} ({why})" for first, stop, why in lost[:_MAX_NAMED])
    more = f"; and {len(lost) - _MAX_NAMED:,} more" if len(lost) > _MAX_NAMED else ""
    raise SinkError(f"The run wrote {rows:,} rows, and some are missing: {named}{more}.",
                    where=f"{call}({str(folder)!r})",
                    hint="Restore these files from a copy, or start with an empty folder and new checkpoints.")


def _lost(files: list[RowsFile], rows: int, damage: Callable[[Path, int], str]) -> Iterator[tuple[int, int, str]]:
    """Row ranges that cannot be read, with reasons; rows count from 0."""
    reached = 0
    for first, stop, path in files:
        if reached >= rows:
            return
        if first > reached:
            yield reached, min(first, rows), "no file"
        if first < reached:
            yield first, min(reached, stop), f"twice, also in {path.name}"
        if why := damage(path, stop - first):
            yield first, stop, f"{path.name} {why}"
        reached = max(reached, stop)
    if reached < rows:
        yield reached, rows, "no file"


def damage(path: Path, rows: int) -> str:
    """Damage of a file: truncated, not Parquet, or other rows; empty if it is complete."""
    try:
        footer = parquet.read_metadata(path)
    except (pa.ArrowInvalid, OSError):
        return "cannot be read as Parquet"
    if footer.num_rows != rows:
        return f"has {footer.num_rows:,} rows"
    if _changed(path, footer) and not pages_are_whole(path):
        return "was changed"
    chunks = (footer.row_group(group).column(column)
              for group in range(footer.num_row_groups) for column in range(footer.num_columns))
    end = max((_begin(chunk) + chunk.total_compressed_size for chunk in chunks), default=0)
    return "was cut" if end + footer.serialized_size + _ENDING_BYTES > path.stat().st_size else ""


def _changed(path: Path, footer: parquet.FileMetaData) -> bool:
    """Whether the file was modified at another time than its footer says; without such a time it is unchanged."""
    written = (footer.metadata or {}).get(_WRITTEN)
    return written is not None and written != str(path.stat().st_mtime_ns).encode()


def pages_are_whole(path: Path) -> bool:
    """Whether all pages have their checksums, as far as they were written with any."""
    try:
        with parquet.ParquetFile(path, page_checksum_verification=True) as file:
            for _ in file.iter_batches():
                pass
    except (pa.ArrowException, OSError):
        return False
    return True


def _begin(chunk: parquet.ColumnChunkMetaData) -> int:
    pages = [chunk.data_page_offset]
    return int(min([*pages, chunk.dictionary_page_offset] if chunk.has_dictionary_page else pages))
