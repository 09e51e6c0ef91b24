"""Record the files of settled rows, and check them on resume."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from pyarrow import parquet

from whimbrel.connect.sinks.committed_files import damage, pages_are_whole
from whimbrel.errors import SinkError
from whimbrel.spark.sink import BATCH

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MAX_NAMED: Final = 3


class SinkFiles:
    """A note of the files of each micro-batch, with its checkpoint: Spark names them by chance.

    Files are looked at where this process can: in a folder of its own file system, also that of a Parquet table.

    Parameters
    ----------
    note : Path
        One line for each micro-batch; of those that were written again the last one counts.
    folder : Path, callable or None
        The answer; None where it is elsewhere. That of a table is known after its first rows are written.
    where : str
        The user's call, for errors.
    """

    def __init__(self, note: Path, folder: Path | Callable[[], Path | None] | None, where: str = "") -> None:
        self._note, self._given, self._where = note, folder, where

    def add(self, number: int) -> None:
        """Note the files of a micro-batch, which are all in their place."""
        folder = self._folder
        if folder is None:
            return
        files = sorted((folder / f"{BATCH}={number}").glob("*.parquet"))
        found = {str(file.relative_to(folder)): (parquet.read_metadata(file).num_rows, file.stat().st_mtime_ns)
                 for file in files}
        with self._note.open("a", encoding="utf-8") as note:
            note.write("\n" + json.dumps([number, found, str(folder)]))  # the line before may be incomplete
            note.flush()
            os.fsync(note.fileno())

    def check(self, last: int) -> None:
        """Refuse an answer some of whose files, up to this micro-batch, are missing or not whole.

        Raises
        ------
        SinkError
            It names the files, their micro-batches and how many rows they had.
        """
        if self._given is None or not self._note.exists():
            return
        lost = []
        for number, (files, folder) in sorted(self._noted().items()):
            for name, (rows, written) in files.items() if number <= last else ():
                file = folder / name
                why = _damage(file, rows, written) if file.exists() else "is gone"
                if why:
                    lost.append(f"{name} of {rows:,} rows {why}")
        if not lost:
            return
        more = f"; and {len(lost) - _MAX_NAMED:,} more" if len(lost) > _MAX_NAMED else ""
        raise SinkError(f"Files that the query wrote are missing: {'; '.join(lost[:_MAX_NAMED])}{more}.",
                        where=self._where,
                        hint="Restore these files from a copy, or start again with an empty target and another "
                             "checkpoint.")

    @cached_property
    def _folder(self) -> Path | None:
        return self._given() if callable(self._given) else self._given

    def _noted(self) -> dict[int, tuple[dict[str, tuple[int, int]], Path]]:
        """By micro-batch, its files and their folder; a line that is not whole counts for none.

        Of each file these are its rows, and when it was written.
        """
        noted = {}
        for line in self._note.read_text(encoding="utf-8").splitlines():
            try:
                number, files, folder = json.loads(line)
            except ValueError:
                continue
            files = {name: (known, 0) if isinstance(known, int) else tuple(known) for name, known in files.items()}
            noted[number] = files, self._given if isinstance(self._given, Path) else Path(folder)
        return noted


def _damage(file: Path, rows: int, written: int) -> str:
    """Damage of a file; if it was changed or copied since, its pages are read and compared with their checksums."""
    why = damage(file, rows)
    changed = written and file.stat().st_mtime_ns != written
    return why or ("was changed" if changed and not pages_are_whole(file) else "")


def table_folder(table: str, spark: SparkSession) -> Path | None:
    """Where the Parquet files of a table are in this file system; None for other tables."""
    known = {row[0]: row[1] for row in spark.sql(f"describe table extended {table}").collect()}
    if str(known.get("Provider", "")).lower() != "parquet":
        return None
    return local_folder(known.get("Location"), spark)


def local_folder(path: str | None, spark: SparkSession) -> Path | None:
    """Where a path of Spark's is in this file system; None where it is in another."""
    if path is None:
        return None

    from py4j.protocol import Py4JError

    java, settings = spark.sparkContext._jvm, spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001 - as Spark does
    try:
        hadoop_path = java.org.apache.hadoop.fs.Path(path)
        whole = hadoop_path.getFileSystem(settings).makeQualified(hadoop_path)
    except Py4JError:
        return None  # Spark says what is the matter with it when it writes
    address = urlsplit(str(whole.toUri().toString()))
    return Path(unquote(address.path)) if address.scheme == "file" else None
