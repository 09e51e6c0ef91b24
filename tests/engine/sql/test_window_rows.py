"""Rows in several windows, without GROUP BY: each stands in each of its windows, with their bounds."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.sql.test_tables import duck, multiset

DRAW = random.Random(7)
LOG = pa.table({"time": sorted(DRAW.sample(range(-40, 90), 25)), "x": [DRAW.randrange(9) for _ in range(25)],
                "k": [DRAW.choice(["a", "b", None]) for _ in range(25)]})
STREAM = wb.from_arrow(LOG, time="time", name="log")

HOP = ("(SELECT log.*, w - {1} AS window_start, w AS window_end FROM log JOIN "
       "(SELECT unnest(range({2} - 200, 200, {0})) AS w) ON time >= w - {1} AND time < w)")
PARTIAL = ("(SELECT t.*, window_start + e AS window_end FROM (SELECT *, time - mod(mod(time - {2}, {1}) + {1}, {1}) AS "
           "window_start FROM log) t JOIN (SELECT unnest(range({0}, {1} + 1, {0})) AS e) ON time < window_start + e)")
SESSIONS = ("(SELECT * EXCLUDE (first, s), min(time) OVER (PARTITION BY {0} s) AS window_start, max(time) OVER "
            "(PARTITION BY {0} s) + {1} AS window_end FROM (SELECT *, sum(first) OVER (PARTITION BY {0} 1 ORDER BY "
            "time) AS s FROM (SELECT *, CASE WHEN time - lag(time) OVER (PARTITION BY {0} 1 ORDER BY time) < {1} THEN "
            "0 ELSE 1 END AS first FROM log)))")
WINDOWS = {
    "HOP(log, time, 5, 20)": HOP.format(5, 20, 0), "HOP(log, time, 7, 20)": HOP.format(7, 20, 4),
    "HOP(log, time, 5, 20, 3)": HOP.format(5, 20, 3), "CUMULATE(log, time, 5, 20)": PARTIAL.format(5, 20, 0),
    "CUMULATE(log, time, 5, 20, 7)": PARTIAL.format(5, 20, 7), "SESSION(log, 6)": SESSIONS.format("", 6),
    "SESSION(TABLE log PARTITION BY k, DESCRIPTOR(time), 9)": SESSIONS.format("k,", 9),
}
QUERIES = [
    "SELECT * FROM {}", "SELECT k, window_end FROM {} w WHERE x > 3 AND window_start < 50",
    "SELECT k, window_start, count(*) AS n FROM {} WHERE x > 3 GROUP BY k, window_start, window_end",
    "SELECT window_start, window_end, k, count(*) AS n, sum(x) AS s FROM (SELECT * FROM {}) GROUP BY ALL",
    ("SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY k, window_start, window_end ORDER BY time DESC) AS rn "
     "FROM {}) WHERE rn <= 2"),
]


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("window", WINDOWS)
def test_rows_are_those_of_the_definition(window: str, text: str) -> None:
    query = wb.sql(text.replace("{}", window), log=STREAM)
    theirs = duck(text.replace("{}", WINDOWS[window]), {"log": LOG})
    assert multiset(query.collect().drop(["start", "end"]).to_pylist()) == multiset(theirs)
    assert wb.sql(query.sql(), log=STREAM).explain() == query.explain()


@pytest.mark.parametrize("window", WINDOWS)
def test_rows_of_equal_windows_meet(window: str) -> None:
    text = "SELECT a.x, b.x AS y FROM {} a JOIN {} b USING (k, window_start, window_end)"
    query = wb.sql(text.replace("{}", window), log=STREAM)
    theirs = duck(text.replace("{}", WINDOWS[window]), {"log": LOG})
    assert multiset(query.collect().drop(["start", "end"]).to_pylist()) == multiset(theirs)


@pytest.mark.parametrize("window", WINDOWS)
def test_groups_of_a_window_are_those_of_its_rows(window: str) -> None:
    """The bounds of CUMULATE did not know its offset."""
    keys = "k, window_start, window_end"
    direct = wb.sql(f"SELECT {keys}, count(*) AS n FROM {window} GROUP BY {keys}", log=STREAM)
    of_rows = wb.sql(f"SELECT {keys}, count(*) AS n FROM (SELECT * FROM {window}) GROUP BY {keys}", log=STREAM)
    sides = [multiset(query.collect().drop(["start", "end"]).to_pylist()) for query in (direct, of_rows)]
    assert sides[0] == sides[1]


GROUPS = "(SELECT window_start, window_end, max(x) AS most FROM {} GROUP BY window_start, window_end)"
WITHIN = [
    "l.time BETWEEN m.window_start AND m.window_end", "l.time >= m.window_start AND l.time < m.window_end",
    "m.window_start <= l.time + 3 AND l.time - 15 <= m.window_start",
    "l.time > m.window_end - 7 AND l.time < m.window_end",
]
SIZED = ["HOP(log, time, 5, 20)", "HOP(log, time, 7, 20)", "TUMBLE(log, time, 10)", "HOP(log, time, 5, 20, 3)"]
TUMBLE = HOP.format(10, 10, 0)


@pytest.mark.parametrize("condition", WITHIN)
@pytest.mark.parametrize("window", SIZED)
def test_rows_meet_results_within_their_bounds(window: str, condition: str) -> None:
    text = f"SELECT l.time, l.k, m.most, m.window_start FROM log l JOIN {GROUPS} m ON l.x = m.most AND {condition}"
    query = wb.sql(text.replace("{}", window), log=STREAM)
    theirs = duck(text.replace("{}", WINDOWS.get(window, TUMBLE)), {"log": LOG})
    assert multiset(query.collect().drop(["start", "end"]).to_pylist()) == multiset(theirs)


def test_windows_meet_longer_ones_within_their_bounds() -> None:
    text = (f"SELECT a.most, b.most AS all FROM {GROUPS} a JOIN {GROUPS.replace('{}', '[]')} b "
            "ON a.window_end BETWEEN b.window_start AND b.window_end")
    query = wb.sql(text.replace("{}", SIZED[2]).replace("[]", SIZED[0]), log=STREAM)
    theirs = duck(text.replace("{}", TUMBLE).replace("[]", WINDOWS[SIZED[0]]), {"log": LOG})
    assert multiset(query.collect().drop(["start", "end"]).to_pylist()) == multiset(theirs)


def test_bounds_between_times_may_stand_in_where() -> None:
    text = "SELECT a.x, b.x AS y FROM log a JOIN log b ON a.k = b.k {} a.time BETWEEN b.time - 9 AND b.time"
    assert wb.sql(text.format("WHERE"), log=STREAM).explain() == wb.sql(text.format("AND"), log=STREAM).explain()


def test_windows_of_two_sizes_meet_at_equal_bounds() -> None:
    """They were refused: their results hold for other times."""
    text = "SELECT a.x, b.x AS y FROM {} a JOIN [] b ON a.k = b.k AND a.window_start = b.window_start"
    query = wb.sql(text.replace("{}", SIZED[2]).replace("[]", SIZED[0]), log=STREAM)
    theirs = duck(text.replace("{}", TUMBLE).replace("[]", WINDOWS[SIZED[0]]), {"log": LOG})
    assert multiset(query.collect().drop(["start", "end"]).to_pylist()) == multiset(theirs)


def test_a_start_is_no_end() -> None:
    """Windows next to each other share a bound, and their lifetimes do not overlap: no row was found."""
    text = "SELECT a.x, b.x AS y FROM {} a JOIN {} b ON a.window_start = b.window_end"
    query = wb.sql(text.replace("{}", SIZED[2]), log=STREAM)
    theirs = duck(text.replace("{}", TUMBLE), {"log": LOG})
    assert multiset(query.collect().drop(["start", "end"]).to_pylist()) == multiset(theirs)


def test_windows_without_a_fixed_size_have_no_fixed_bounds() -> None:
    with pytest.raises(wb.SqlError, match="Results of a window would be used before the window has closed"):
        wb.sql(f"SELECT * FROM log l JOIN {GROUPS.format('SESSION(log, 5)')} m ON l.time >= m.window_start", log=STREAM)
