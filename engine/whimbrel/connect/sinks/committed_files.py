"""Verification of a run's result files, whose names have row ranges."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyarrow import parquet

from whimbrel.errors import SinkError

_NAME = re.compile(r"rows-(\d+)-(\d+)\.\w+")
_MAX_NAMED = 3
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


def check_kept(folder: Path, rows: int, damage: Callable[[Path, int], str], *, ending: str = ".parquet",
               call: str = "sinks.parquet") -> None:
    """Refuse a folder in which some of the first `rows` rows are missing or damaged.

    Only headers and footers are read.

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
    chunks = (footer.row_group(group).column(column)
              for group in range(footer.num_row_groups) for column in range(footer.num_columns))
    end = max((_begin(chunk) + chunk.total_compressed_size for chunk in chunks), default=0)
    return "was cut" if end + footer.serialized_size + _ENDING_BYTES > path.stat().st_size else ""


def _begin(chunk: parquet.ColumnChunkMetaData) -> int:
    pages = [chunk.data_page_offset]
    return int(min([*pages, chunk.dictionary_page_offset] if chunk.has_dictionary_page else pages))
