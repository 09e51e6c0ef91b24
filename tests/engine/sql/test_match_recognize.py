"""MATCH_RECOGNIZE against a matcher that tries one way after the other, as SQL defines it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col

Row = dict[str, Any]
Matched = list[tuple[str, Row]]
Test = Callable[[Row, Matched], bool]


def last(matched: Matched, name: str, column: str) -> Any:
    found = [row[column] for variable, row in matched if variable == name]
    return found[-1] if found else None


def less(x: Any, y: Any) -> bool:
    return x is not None and y is not None and x < y


SHAPES: dict[str, tuple[str, str, list[tuple[str, int, int | None]], dict[str, Test]]] = {
    "a fixed sequence": ("A B C", "B AS x > LAST(A.x), C AS x > B.x", [("A", 1, 1), ("B", 1, 1), ("C", 1, 1)], {
        "B": lambda row, seen: less(last(seen, "A", "x"), row["x"]),
        "C": lambda row, seen: less(last(seen, "B", "x"), row["x"])}),
    "one that varies": ("A B* C", "A AS x >= 2, C AS x < 3", [("A", 1, 1), ("B", 0, None), ("C", 1, 1)], {
        "A": lambda row, _: less(1, row["x"]), "C": lambda row, _: less(row["x"], 3)}),
    "down and up": ("A B+ C+", "B AS x < PREV(x), C AS x > PREV(x)", [("A", 1, 1), ("B", 1, None), ("C", 1, None)], {
        "B": lambda row, seen: less(row["x"], seen[-1][1]["x"]),
        "C": lambda row, seen: less(seen[-1][1]["x"], row["x"])}),
    "counts": ("A{1,2} B? C{1,2}", "A AS x > 2, B AS x = 2, C AS x < 2", [("A", 1, 2), ("B", 0, 1), ("C", 1, 2)], {
        "A": lambda row, _: less(2, row["x"]), "B": lambda row, _: row["x"] == 2,
        "C": lambda row, _: less(row["x"], 2)}),
    "a tail": ("A B{0,2}", "A AS x = 1, B AS NOT x = 1", [("A", 1, 1), ("B", 0, 2)], {
        "A": lambda row, _: row["x"] == 1, "B": lambda row, _: row["x"] not in (1, None)}),
    "an earlier row": ("A B+", "B AS x > A.x AND k = A.k", [("A", 1, 1), ("B", 1, None)], {
        "B": lambda row, seen: less(last(seen, "A", "x"), row["x"]) and row["k"] == last(seen, "A", "k")}),
}
WITHIN = 8


def matches(rows: list[Row], elements: list[tuple[str, int, int | None]], tests: dict[str, Test],
            *, overlapping: bool) -> list[Matched]:
    """The preferred match of each row, and where to try next: quantifiers take as much as they can."""
    def attempt(number: int, count: int, at: int, matched: Matched) -> Matched | None:
        if number == len(elements):
            return matched or None
        name, minimum, maximum = elements[number]
        within = at < len(rows) and (not matched or rows[at]["time"] < matched[0][1]["time"] + WITHIN)
        if within and (maximum is None or count < maximum) and tests.get(name, lambda *_: True)(rows[at], matched):
            found = attempt(number, count + 1, at + 1, [*matched, (name, rows[at])])
            if found is not None:
                return found
        return attempt(number + 1, 0, at, matched) if count >= minimum else None

    found, at = [], 0
    while at < len(rows):
        match = attempt(0, 0, at, [])
        if match is not None:
            found.append(match)
        at += 1 if match is None or overlapping else len(match)
    return found


@pytest.mark.parametrize("skip", ["PAST LAST ROW", "TO NEXT ROW"])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_matches_are_those_of_sql(shape: str, skip: str) -> None:
    pattern, define, elements, tests = SHAPES[shape]
    names = [name for name, _, _ in elements]
    for seed in range(25):
        draw = random.Random(seed)
        times = sorted(draw.sample(range(40), draw.choice([0, 4, 15, 30])))
        table = pa.table({"time": pa.array(times, pa.int64()),
                          "k": pa.array([draw.choice(["a", "a", "b"]) for _ in times], pa.string()),
                          "x": pa.array([draw.choice([0, 1, 2, 3, 4, None]) for _ in times], pa.int64())})
        found = wb.sql(f"""
            SELECT * FROM log MATCH_RECOGNIZE (
                PARTITION BY k ORDER BY time
                MEASURES FIRST(A.time) AS began, {', '.join(f'LAST({name}.time) AS {name}_time' for name in names)},
                    count(*) AS n, sum(A.x) AS total, max(x) AS most, count(A.x) AS here
                ONE ROW PER MATCH AFTER MATCH SKIP {skip}
                PATTERN ({pattern}) WITHIN {WITHIN} DEFINE {define}) AS m
        """, log=wb.from_arrow(table, time="time", name="log")).collect().to_pylist()
        expected = []
        for key in ("a", "b"):
            mine = [row for row in table.to_pylist() if row["k"] == key]
            for match in matches(mine, elements, tests, overlapping=skip == "TO NEXT ROW"):
                begins = [row["x"] for name, row in match if name == "A" and row["x"] is not None]
                every = [row["x"] for _, row in match if row["x"] is not None]
                end = match[-1][1]["time"]
                expected.append((end, end + 1, key, match[0][1]["time"], *(last(match, name, "time") for name in names),
                                 len(match), sum(begins) if begins else None, max(every, default=None), len(begins)))
        assert sorted((tuple(row.values()) for row in found), key=str) == sorted(expected, key=str), seed


TICKS = wb.from_arrow({"time": [1, 2, 3, 4, 5, 6], "k": list("aaabbb"), "x": [3, 1, 2, 5, 4, 9]}, time="time",
                      name="TICKS")


def test_the_plan_is_that_of_detect() -> None:
    found = wb.sql("SELECT k, high FROM TICKS MATCH_RECOGNIZE (PARTITION BY k ORDER BY time MEASURES LAST(B.x) AS high "
                   "PATTERN (A B+) WITHIN 10 DEFINE A AS x < 4, B AS x > A.x)", TICKS=TICKS)
    pattern = wb.sequence(A=col.x < 4).then(wb.sequence(B=wb.event(col.x > wb.last_of("A").x).repeat()))
    python = TICKS.group_by("k").detect(pattern, within=10, greedy=True, overlapping=False,
                                        output={"high": wb.last_of("B").x}).set_duration(1).select("k", "high")
    assert found.explain() == python.explain()


def test_matches_can_be_grouped_by_an_epoch_of_their_last_row() -> None:
    text = ("SELECT h, count(*) AS n FROM (SELECT * FROM TICKS WHERE x > 1) MATCH_RECOGNIZE (ORDER BY time MEASURES "
            "B.time AS at AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) WITHIN 5 DEFINE B AS B.x > A.x) "
            "GROUP BY at/6 AS h")
    assert wb.sql(text, TICKS=TICKS).collect().to_pylist() == [
        {"start": 0, "end": 6, "h": 0, "n": 1}, {"start": 6, "end": 12, "h": 1, "n": 1}]


def test_simultaneous_rows_match_nothing() -> None:
    log = wb.from_arrow({"time": [1, 2, 2, 3, 4], "x": [1, 2, 3, 4, 5]}, time="time", name="log")
    found = wb.sql("SELECT b FROM log MATCH_RECOGNIZE (ORDER BY time MEASURES B.x AS b PATTERN (A B) WITHIN 5)",
                   log=log)
    assert found.collect()["b"].to_pylist() == [5]
