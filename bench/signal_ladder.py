"""Forms of samples (XStream, figure 8): rows, lists, columns without times, segments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa

import whimbrel as wb
from bench.compare import Row, compare
from bench.sides import collected
from bench.signal_filters import LOUD, WINDOW
from bench.signal_sides import Array
from whimbrel import Stream, col


def ladder(samples: Array) -> Iterator[Row]:
    """How many windows are loud; ratios are of segments to the other forms."""
    forms: dict[str, Callable[[Array], Stream]] = {
        "(time, value) rows": of_rows, "columns, no times": of_columns, "lists": of_lists}
    yield from compare("F forms", "segments", len(samples), collected(partial(of_segments, samples)),
                       {name: collected(partial(form, samples)) for name, form in forms.items()},
                       lambda ours, theirs: ours.num_rows == theirs.num_rows > 0)


def of_rows(samples: Array) -> Stream:
    rows = wb.from_arrow({"at": np.arange(len(samples)), "x": samples}, time="at", name="rows")
    return _loud(rows)


def of_columns(samples: Array) -> Stream:
    return _loud(_periodic(samples))


def of_lists(samples: Array) -> Stream:
    """A row for each window, whose samples become rows without times."""
    lists = pa.FixedSizeListArray.from_arrays(pa.array(samples), WINDOW)
    at = (np.arange(len(lists)) * WINDOW * 1_000_000).astype("datetime64[ns]")
    table = pa.table({"at": at, "x": lists})
    return _loud(wb.from_arrow(table, time="at", samples="x", rate=1_000, name="lists"), "4096ms")


def of_segments(samples: Array) -> Stream:
    return _periodic(samples).rewindow(WINDOW).where(col.x.seg.std() > LOUD).select(s=col.x.seg.std())


def _periodic(samples: Array) -> Stream:
    rows = wb.from_arrow({"at": np.arange(len(samples)), "x": samples}, time="at", name="rows")
    return rows.assume(periodic=1).select("x")


def _loud(rows: Stream, size: int | str = WINDOW) -> Stream:
    return rows.tumbling_window(size).aggregate(s=wb.std(col.x)).where(col.s > LOUD)
