"""Schema of a folder for a result without rows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
from pyarrow import ipc

from whimbrel.connect.files.paths import FilePath

_ENDING = ".schema"
"""Ends the name of the hidden file, which no pattern of the folder's files fits: ``.parquet.schema``."""


def write_schema(folder: Path, schema: pa.Schema, ending: str) -> None:
    """Note the columns of a folder's files in a hidden file.

    Raises
    ------
    OSError
    """
    (folder / f"{ending}{_ENDING}").write_bytes(schema.serialize().to_pybytes())


def written_schema(path: FilePath, endings: Sequence[str]) -> pa.Schema | None:
    """Columns of the files of a folder that a sink writes; None for other paths, and where the hidden file was cut.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_schema(folder, pa.schema({"x": pa.int64()}), ".csv")
    >>> written_schema(folder, [".csv"]).names, written_schema(folder, [".parquet"])
    (['x'], None)
    """
    for ending in endings:
        with suppress(OSError, pa.ArrowInvalid):
            return ipc.read_schema(pa.py_buffer((Path(path).expanduser() / f"{ending}{_ENDING}").read_bytes()))
    return None
