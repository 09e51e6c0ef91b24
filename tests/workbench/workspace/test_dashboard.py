"""What an author says of a dashboard, and what it makes of that."""

from __future__ import annotations

from pathlib import Path

import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import PlanError
from whimbrel_workbench import Dashboard
from whimbrel_workbench.workspace import Layout, gathered

LOG = wb.from_arrow({"at": [1, 4, 12], "k": ["a", "b", "a"], "x": [1, 2, 3]}, time="at")
COUNTS = LOG.group_by("k").tumbling_window(10).aggregate(n=wb.count())
SUM = LOG.tumbling_window(10).aggregate(total=wb.sum(col.x))


def test_views_without_names_are_called_after_their_columns() -> None:
    made = Dashboard("All", [COUNTS, SUM, COUNTS.view(kind="table")])
    assert list(made.views) == ["n by k", "total", "n by k (2)"]
    assert made.layout.rows == (("n by k",), ("total", "n by k (2)"))
    assert made.views["n by k (2)"].options.kind == "table"


def test_a_layout_is_written_down_and_read_again(tmp_path: Path) -> None:
    file = tmp_path / "layout.json"
    rows = [["sum", "counts"], ["später"]]
    views = {"counts": COUNTS, "sum": SUM, "später": COUNTS}
    Dashboard("All", views, rows=rows).save(file)
    assert Dashboard("All", views, rows=file).layout == Layout.of(list(views), rows)
    with pytest.raises(PlanError, match="Unknown view in rows: 'später'"):
        Dashboard("All", {"counts": COUNTS, "sum": SUM}, rows=str(file))


@pytest.mark.parametrize("text", ("", "[]", "{}", '{"rows": 7}', '{"rows": [7]}'))
def test_a_file_that_is_no_layout_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "layout.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(PlanError, match=r"layout\.json"):
        Dashboard("All", {"counts": COUNTS}, rows=file)


@pytest.mark.parametrize(
    ("rows", "what"), (([["count"]], "Unknown view in rows: 'count'"), (["counts", "counts"], "'counts' 2 times")))
def test_rows_name_each_view_once(rows: list, what: str) -> None:
    with pytest.raises(PlanError, match=what):
        Dashboard("All", {"counts": COUNTS}, rows=rows)


@pytest.mark.parametrize("views", ([], {}, {"counts": 7}, ["counts"]))
def test_views_are_queries(views: object) -> None:
    with pytest.raises(PlanError, match=r"at least one view|must be a query"):
        Dashboard("All", views)


def test_a_view_that_no_row_names_is_not_computed() -> None:
    assert list(Dashboard("All", {"counts": COUNTS, "sum": SUM}, rows=["sum"]).shared_run().feeds) == ["sum"]


def test_what_cells_show_becomes_one_dashboard_under_their_headings() -> None:
    board = Dashboard("Inner", {"counts": COUNTS, "sum": SUM}, rows=[["counts", "sum"]])
    alone = gathered("Outer", [("Heading", board)])
    assert alone is board
    both = gathered("Outer", [("counts", COUNTS.view()), ("", SUM.view()), ("Heading", board)])
    assert both.title == "Outer"
    assert both.layout.rows == (("counts",), ("total",), ("counts (2)", "sum"))
