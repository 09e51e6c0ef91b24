"""Record the files of settled rows, and check them on resume."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from pyarrow import parquet

from whimbrel.connect.sinks.committed_files import damage
from whimbrel.errors import SinkError
from whimbrel.spark.sink import BATCH

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MAX_NAMED: Final = 3


class SinkFiles:
    """A note of the files of each micro-batch, with its checkpoint: Spark names them by chance.

    Files are looked at where this process can: in a folder of its own file system.

    Parameters
    ----------
    note : Path
        One line for each micro-batch; of those that were written again the last one counts.
    folder : Path or None
        The answer; None where it is elsewhere.
    """

    def __init__(self, note: Path, folder: Path | None) -> None:
        self._note, self._folder = note, folder

    def add(self, number: int) -> None:
        """Note the files of a micro-batch, which are all in their place."""
        if self._folder is None:
            return
        files = sorted((self._folder / f"{BATCH}={number}").glob("*.parquet"))
        rows = {str(file.relative_to(self._folder)): parquet.read_metadata(file).num_rows for file in files}
        with self._note.open("a", encoding="utf-8") as note:
            note.write("\n" + json.dumps([number, rows]))  # the line before may be incomplete
            note.flush()
            os.fsync(note.fileno())

    def check(self, last: int) -> None:
        """Refuse an answer some of whose files, up to this micro-batch, are missing or not whole.

        Raises
        ------
        SinkError
            It names the files, their micro-batches and how many rows they had.
        """
        if self._folder is None or not self._note.exists():
            return
        lost = []
        for number, files in sorted(self._noted().items()):
            for name, rows in files.items() if number <= last else ():
                file = self._folder / name
                why = damage(file, rows) if file.exists() else "is gone"
                if why:
                    lost.append(f"{name} of {rows:,} rows {why}")
        if not lost:
            return
        more = f"; and {len(lost) - _MAX_NAMED:,} more" if len(lost) > _MAX_NAMED else ""
        raise SinkError(f"Files that the query wrote are missing: {'; '.join(lost[:_MAX_NAMED])}{more}.",
                        where=f"start_on_spark(path={str(self._folder)!r})",
                        hint="Restore these files from a copy, or start again with an empty folder and another "
                             "checkpoint.")

    def _noted(self) -> dict[int, dict[str, int]]:
        """By micro-batch, its files and their rows; a line that was not written to its end is of none that counts."""
        noted = {}
        for line in self._note.read_text(encoding="utf-8").splitlines():
            try:
                number, files = json.loads(line)
            except ValueError:
                continue
            noted[number] = files
        return noted


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
