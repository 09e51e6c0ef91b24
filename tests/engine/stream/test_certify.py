"""A backtest and a live run give the same result, or the certificate names the rows that were late."""

from __future__ import annotations

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import Stream, col
from whimbrel.errors import PlanError, SchemaError

ROWS = {"at": [1, 5, 3, 9, 2, 14], "seen": [1, 5, 6, 9, 9, 14], "k": [0, 1, 0, 1, 0, 1], "x": [1.5, 2, 3, 4, 5, 6]}


def history(rows: dict[str, list[float]] | None = None) -> Stream:
    return wb.from_arrow(rows or ROWS, time="at", arrival="seen", name="log")


def came(late: str = "drop", latency: int = 2) -> Stream:
    return wb.from_arrow(ROWS, time="at", arrival="seen", reorder_latency=latency, late=late, name="log")


def query(log: Stream) -> Stream:
    return log.group_by("k").tumbling_window(4).aggregate(n=wb.count(), total=wb.sum(col.x))


def test_nothing_was_late() -> None:
    certificate = query(history()).certify(history(), came(latency=7))
    assert (certificate.ok, certificate.late_rows, certificate.differences.num_rows) == (True, 0, 0)
    assert repr(certificate) == "certified: 4 rows, the same on 2 threads, the log in arrival order"


@pytest.mark.parametrize("late", ["drop", "adjust", "side_output"])
def test_late_rows_explain_what_differs(late: str) -> None:
    certificate = query(history()).certify(history(), came(late))
    assert certificate.ok
    assert certificate.late_rows == 1
    assert set(certificate.differences["reason"].to_pylist()) == {"late rows"}
    missing = certificate.differences.filter(pa.array([
        found == "missing" for found in certificate.differences["found"].to_pylist()]))
    assert "start=0, end=4, k=0, n=3, total=9.5" in missing["row"].to_pylist()


def test_another_history_is_not_explained_by_late_rows() -> None:
    other = history(ROWS | {"x": [1.5, 2, 3, 4, 5, 7]})
    certificate = query(history()).certify(other, came(latency=7))
    assert not certificate.ok
    assert repr(certificate).splitlines()[0] == (
        "NOT certified: 4 rows, asked on 2 threads, the log in arrival order")
    assert "live: missing start=12, end=16, k=1, n=1, total=7.0" in repr(certificate)


def test_another_history_is_not_mistaken_for_late_rows() -> None:
    """A row was late, and one was wrong: only what lies in reach of the late one may be its doing."""
    other = history(ROWS | {"x": [1.5, 2, 3, 4, 5, 7]})
    certificate = query(history()).certify(other, came())
    assert not certificate.ok
    unexplained = [row["row"] for row in certificate.differences.to_pylist() if row["reason"] == "unexplained"]
    assert sorted(unexplained) == ["start=12, end=16, k=1, n=1, total=6.0", "start=12, end=16, k=1, n=1, total=7.0"]


def test_rounding_is_no_difference() -> None:
    certificate = query(history()).certify(history(ROWS | {"x": [1.5 + 1e-12, 2, 3, 4, 5, 6]}), came(latency=7))
    assert certificate.ok


def test_what_is_no_live_log() -> None:
    for log, message in ((history(), "has no reorder latency"), (query(history()), "live_log must be a source"),
                         (wb.replay(came(), speed=float("inf")), "must hold point events or intervals")):
        with pytest.raises(PlanError, match=message):
            query(history()).certify(history(), log)


def test_results_with_different_columns_are_refused_by_name() -> None:
    """Every column of a source is in the result of a filter; zip() complained about lengths."""
    more = wb.from_arrow({**ROWS, "z": ROWS["k"], "y": ROWS["k"]}, time="at", arrival="seen", reorder_latency=2,
                         late="drop", name="log")
    asked = history().where(col.x > 1)
    with pytest.raises(SchemaError, match="only the live log has 'z', 'y'"):
        asked.certify(history(), more)
    with pytest.raises(SchemaError, match="only history has 'z'"):
        asked.certify(wb.from_arrow({**ROWS, "z": ROWS["k"]}, time="at", arrival="seen", name="log"), came())
    assert asked.select("k", "x").certify(history(), more).ok


def test_a_log_that_is_its_own_history_has_all_rows_there() -> None:
    """The late rows that it drops were missing in the history, too, and differed for an unknown reason."""
    for log in (came(), wb.from_arrow(ROWS, time="at", arrival=wb.FILE_ORDER, reorder_latency=2, late="drop")):
        certificate = query(log).certify(log, log)
        assert certificate.ok
        assert set(certificate.differences["reason"].to_pylist()) == {"late rows"}
