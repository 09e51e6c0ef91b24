"""Cheap conditions before expensive ones."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel.errors import KernelError, PlanError
from whimbrel.operators.rows.where import CostlyWhereKernel, WhereKernel

col = wb.col
SLOW = col.url.str.contains("q=[0-9]*[13]$", regex=True)
COLUMNS: dict[str, Any] = {"at": list(range(40)), "port": [row % 4 for row in range(40)],
                           "url": [f"a?q={row}" for row in range(40)]}


def made() -> wb.Stream:
    return wb.from_arrow(COLUMNS, time="at", name="log")


def wanted() -> list[int]:
    return [row for row in range(40) if row % 4 == 3 and row % 10 in (1, 3)]


@pytest.mark.parametrize("query", [
    lambda s: s.where(SLOW & (col.port == 3)), lambda s: s.where(SLOW, col.port == 3),
    lambda s: s.where(SLOW).where(col.port == 3), lambda s: s.where(col.port == 3, cost="expensive").where(SLOW),
    lambda s: s.where(SLOW & (col.port == 3), cost="cheap"),
    lambda s: s.where(SLOW).where(col.port > 2).where(col.port < 4),
])
def test_the_order_of_conditions_changes_no_result(query: Any) -> None:
    assert query(made()).collect()["at"].to_pylist() == wanted()
    counted = query(made()).tumbling_window(40).aggregate(n=wb.count())
    assert counted.collect()["n"].to_pylist() == [len(wanted())]


def test_an_expensive_condition_sees_the_rows_that_pass_the_cheap_ones() -> None:
    seen: list[str] = []

    def fits(e: Any) -> Any:
        seen.append(str(e.url))
        return len(e.url) == 6 and e.url[-1] in "13"

    for query in (made().where(fits, col.port == 3), made().where(fits).where(col.port == 3)):
        seen.clear()
        assert query.collect()["at"].to_pylist() == [row for row in wanted() if row >= 10]
        asked = [url for url in seen if url.startswith("a?q=")]
        assert asked == [url for row, url in enumerate(COLUMNS["url"]) if row % 4 == 3]


def test_a_cheap_filter_that_can_fail_stays_above() -> None:
    fails = col.at * 2**58 > 3
    with pytest.raises(KernelError):
        made().where(SLOW & fails).collect()
    after = made().where(SLOW).where(col.at < 20).where(fails)
    steps = [line for line in after.explain().split("runs as")[1].splitlines() if "where(" in line]
    assert ["url" in line for line in steps] == [False, True, False]
    assert after.collect()["at"].to_pylist() == [1, 3, 11, 13]


def test_expensive_conditions_are_ordered_by_what_was_measured() -> None:
    fast, slow = col.url.str.contains("x", regex=True), col.url.str.contains("q=.*9", regex=True)
    kernel = CostlyWhereKernel(slow & fast & (col.port == 3), None)
    assert kernel.first is not None
    assert kernel.first.show() == "col.port == 3"
    one, two = kernel.ordered
    one.rows, one.rows_kept, one.ns = 1000, 900, 500_000
    two.rows, two.rows_kept, two.ns = 1000, 999, 1_000
    assert sorted(kernel.ordered, key=lambda part: part.ns_per_dropped_row) == [two, one]
    two.rows_kept = 1000
    assert two.ns_per_dropped_row < one.ns_per_dropped_row
    two.ns = 50_000_000
    assert sorted(kernel.ordered, key=lambda part: part.ns_per_dropped_row) == [one, two]
    node = made().where(slow & fast).node
    assert isinstance(node.op, wb.operators.Where)
    running = node.op.kernel(node.inputs[0].schema)
    assert isinstance(running, CostlyWhereKernel)
    marked = made().where(slow & fast, cost="cheap").node
    assert isinstance(marked.op, wb.operators.Where)
    assert type(marked.op.kernel(node.inputs[0].schema)) is WhereKernel


def test_explain_shows_marks_and_measurements() -> None:
    query = made().where(SLOW).where(col.port == 3, cost="cheap").tumbling_window(40).aggregate(n=wb.count())
    text = query.explain(measure=True)
    written, run = text.split("runs as")
    assert "where(col.port == 3, cost='cheap')" in written
    assert "note: expensive, because of a regular expression" in run
    assert "keeps 40.0% of 10" in run
    marked = made().where(col.port == 3, cost="expensive").explain()
    assert "where(col.port == 3, cost='expensive')" in marked
    assert "note: expensive" not in marked


def test_a_wrong_mark_is_refused() -> None:
    with pytest.raises(PlanError, match="cost must be"):
        made().where(col.port == 3, cost="free")  # type: ignore[arg-type]


def test_a_shared_expensive_filter_runs_once() -> None:
    log = wb.from_arrow(pa.table(COLUMNS), time="at", name="log")
    slow = log.where(SLOW)
    both = slow.where(col.port == 3).union(slow.where(col.port == 1))
    assert both.explain().split("runs as")[1].count("where(col.url") == 1
    assert sorted(both.collect()["at"].to_pylist()) == sorted({1, 3, 11, 13, 21, 23, 31, 33})


@wb.function(cost="cheap")
def odd(at: Any) -> bool:
    return int(at) % 2 == 1


MARKED = wb.function(lambda url: url.str.contains("q=[0-9]*[13]$", regex=True), cost="cheap")
DEAR = wb.function(lambda port: port == 3, cost="expensive")


@pytest.mark.parametrize(("condition", "text", "absorbed", "note"), [
    (SLOW, "regexp_matches(url, 'q=[0-9]*[13]$')", False, "expensive, because of a regular expression"),
    (MARKED(col.url), "marked(url)", True, "() is marked as cheap"),
    (MARKED(col.url) & (col.at * 2 > -1), "marked(url) AND at * 2 > -1", False, "() is marked as cheap"),
    (DEAR(col.port) | MARKED(col.url), "dear(port) OR marked(url)", False,
     "(), which is marked so"),
    (odd(col.at), "odd(at)", False, "odd() is marked as cheap"),
    (wb.function(odd.function)(col.at), "plain(at)", False, "expensive, because of a Python function"),
])
def test_a_mark_of_a_function_places_its_conditions(condition: Any, text: str, absorbed: bool, note: str) -> None:
    """Partial and shared aggregates take only conditions that are cheap and cannot fail."""
    log = made()
    functions = {"marked": MARKED, "dear": DEAR, "odd": odd, "plain": wb.function(odd.function)}
    counts = log.where(condition).tumbling_window(20).aggregate(n=wb.count())
    rows = wb.sql(f"SELECT * FROM log WHERE {text}", log=log, functions=functions)
    desk = wb.desk(log)
    for name, query in (("python", counts), ("sql", rows.tumbling_window(20).aggregate(n=wb.count()))):
        written = query.explain().split("runs as")[0]
        assert note in written
        assert "function()" not in written or name == "python"
        assert ("where(" not in query.low().explain().split("runs as")[1]) == absorbed
        desk.add(name, query)
    assert ("shared aggregate" in desk.explain()) == absorbed
    desk.run()
    passed = [row["at"] // 20 for row in rows.collect().to_pylist()]
    assert len(passed) >= len(wanted())
    for found in (desk["python"], desk["sql"]):
        assert found.table["n"].to_pylist() == [passed.count(0), passed.count(1)]


def test_a_cheap_python_function_comes_before_expensive_conditions_and_after_the_other_cheap_ones() -> None:
    seen: list[tuple[str, int]] = []

    def noting(name: str, cost: Any) -> Any:
        def note(at: Any) -> bool:
            seen.append((name, int(at)))
            return bool(at % 10 == 1)

        return wb.function(note, cost=cost)(col.at)

    rows = made().where(noting("dear", None), noting("cheap", "cheap"), col.port == 3).collect()
    assert rows["at"].to_pylist() == [11, 31]
    rows_seen = {name: [at for each, at in seen[-12:] if each == name] for name in ("cheap", "dear")}
    assert rows_seen == {"cheap": list(range(3, 40, 4)), "dear": [11, 31]}
