"""Aggregates of moments, counts of pairs, and ``timezone``: equal to DuckDB's."""

from __future__ import annotations

import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.sql.logs import sql
from tests.engine.sql.test_tables import duck

X, Y = [1.5, 2.0, 9.0, 4.0, None, 4.5, 7.0], [1, None, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 7])
def test_the_answer_is_duckdbs(rows: int) -> None:
    table = pa.table({"time": list(range(rows)), "x": X[:rows], "y": Y[:rows]})
    log = wb.from_arrow(table, time="time", name="log")
    text = ("SELECT skewness(x) AS a, kurtosis(x) AS b, kurtosis_pop(x) AS c, regr_count(x, y) AS d, "
            "skewness(x) FILTER (WHERE y > 2) AS e FROM log")
    query = wb.sql(f"{text} GROUP BY time/100", log=log)
    [ours], [theirs] = query.collect().drop(["start", "end"]).to_pylist(), duck(text, {"log": table})
    assert ours == pytest.approx(theirs)
    assert wb.sql(query.sql(), log=log).explain() == query.explain()


def test_a_function_of_two_values_takes_two() -> None:
    with pytest.raises(wb.SqlError, match=r"kurtosis_pop\(\) takes other arguments"):
        sql("SELECT kurtosis_pop(len, protocol) FROM TCP GROUP BY time/60")


def test_a_time_zone_may_stand_first() -> None:
    texts = "timezone('Asia/Tokyo', ts)", "ts AT TIME ZONE 'Asia/Tokyo'"
    both = [sql(f"SELECT {text} AS x FROM bids") for text in texts]
    assert both[0].explain() == both[1].explain()
