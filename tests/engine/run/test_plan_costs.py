"""What explain() says of a run: rows and time of each step, and of the two levels."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import Stream, WhimbrelError, col

ROWS = 250_000
MEASURED = re.compile(r"measured: ([\d,]+) rows in, ([\d,]+) out, [\d,.]+ ns a row in")


def log(keys: int = 50) -> Stream:
    random = np.random.default_rng(3)
    table = pa.table({"at": np.arange(ROWS) - random.integers(0, 30, ROWS), "k": random.integers(0, keys, ROWS),
                      "x": random.integers(0, 9, ROWS)})
    return wb.from_arrow(table, time="at", name="log", reorder_latency=30, late="drop")


def two_levels(keys: int = 50) -> Stream:
    return log(keys).where(col.x > 3).group_by("k").tumbling_window(50_000).aggregate(n=wb.count(), s=wb.sum(col.x))


def rows_of(text: str) -> list[tuple[int, int]]:
    """Rows in and out, from the result to the source."""
    return [(int(one.replace(",", "")), int(two.replace(",", ""))) for one, two in MEASURED.findall(text)]


def test_a_plan_with_two_levels_names_them() -> None:
    text = two_levels().explain()
    assert text.count("low level: this step and the steps below it") == 1
    assert "measured" not in text
    assert "low level" not in log().where(col.x > 3).explain()


def test_steps_are_measured() -> None:
    query = two_levels()
    text = query.explain(measure=True)
    finish, merge, low, source = rows_of(text.split("runs as\n")[1])
    assert source == (ROWS, ROWS)
    assert low[0] == ROWS
    assert finish == (merge[1], query.collect().num_rows)
    assert re.search(r"^low level: [\d,.]+ ns a row of its source$", text, re.MULTILINE)
    assert re.search(r"^high level: [\d,.]+ ns a row of that$", text, re.MULTILINE)


def test_what_the_table_saves_is_measured() -> None:
    few, many = (re.search(r"measured: ([\d.]+)% of the rows leave a table of [\d,]+ slots early",
                           two_levels(keys).explain(measure=True)) for keys in (50, 10**9))
    assert few is not None
    assert many is not None
    assert float(few[1]) < 1
    assert float(many[1]) > 30


def test_a_run_says_what_its_steps_cost() -> None:
    query = two_levels()
    with query.start() as run:
        run.wait()
        text = run.explain()
    assert [rows for rows, _ in rows_of(text)][-2:] == [ROWS, ROWS]
    assert "high level: " in text


def test_a_run_among_others_explains_its_own_steps() -> None:
    source = log()
    first, second = wb.start(source.where(col.x > 3), source.where(col.x > 5))
    first.wait()
    second.wait()
    assert "where(col.x > 5)" not in first.explain()
    assert rows_of(second.explain())[0] == (ROWS, source.where(col.x > 5).collect().num_rows)


def test_a_feed_is_not_read_to_explain() -> None:
    feed = wb.feeds.synthetic(rate=100, rows=10, speed=float("inf"))
    with pytest.raises(WhimbrelError, match=r"explain\(measure=True\) cannot read a feed"):
        feed.explain(measure=True)
