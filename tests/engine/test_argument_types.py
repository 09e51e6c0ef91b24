"""Arguments of a wrong type raise an error in the user's words."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import ExpressionError, PlanError

LOG = wb.from_arrow({"at": [1, 5], "n": [1, 2]}, time="at", name="log")

MISTAKES: dict[str, tuple[Callable[[], object], type[wb.WhimbrelError], str, str]] = {
    "suffix": (lambda: LOG.join(LOG, on="n", suffix=3),  # type: ignore[arg-type]
        PlanError, "suffix must be a string, got 3.", "join(on=['n'])"),
    "key of a join": (lambda: LOG.join(LOG, on=3),  # type: ignore[arg-type]
        PlanError, "on must name one or several columns, got 3.", "join(on=...)"),
    "rename": (lambda: LOG.rename(a=3),  # type: ignore[arg-type]
        PlanError, "a must be the name of a column, got 3.", "rename(a=3)"),
    "is_in": (lambda: LOG.where(col.n.is_in(3)),  # type: ignore[arg-type]
        ExpressionError, "is_in needs a list, got 3.", "col.n"),
    "keep_rows": (lambda: LOG.start(keep_rows=-1),
        PlanError, "keep_rows must be an integer of at least 0, got -1.", "start(...)"),
    "folder of a sink": (lambda: wb.sinks.parquet(3),  # type: ignore[arg-type]
        PlanError, "folder must be a string or a Path, got 3.", "sinks.parquet(...)"),
    "folder of checkpoints": (lambda: wb.Checkpoints(3),  # type: ignore[arg-type]
        PlanError, "folder must be a string or a Path, got 3.", "Checkpoints(...)"),
    "path of a feed": (lambda: wb.feeds.tail(3, time="at"),  # type: ignore[arg-type]
        PlanError, "path must be a string or a Path, got 3.", "feeds.tail(...)"),
    "headers": (lambda: wb.feeds.http("http://host", time="at", headers="a"),  # type: ignore[arg-type]
        PlanError, "headers must be a mapping, got str.", "feeds.http('http://host')"),
    "order of the file": (lambda: wb.feeds.http("http://host", time="at", arrival=wb.FILE_ORDER),
        PlanError, "wb.FILE_ORDER is for logs in files and tables; rows of a feed are in arrival order.",
        "feeds.http("),
    "column of arrival": (lambda: wb.feeds.http("http://host", time="at", arrival_column=3),  # type: ignore[arg-type]
        PlanError, "arrival_column must be a non-empty string, got 3.", "feeds.http("),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_type_is_reported_with_its_location_and_a_hint(mistake: str) -> None:
    action, kind, what, where = MISTAKES[mistake]
    with pytest.raises(kind) as caught:
        action()
    error = caught.value
    assert error.what == what
    assert error.where.startswith(where)
    assert error.hint
