"""MATCH_RECOGNIZE against a matcher that tries one way after the other, as SQL defines it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.kernels import tier

Row = dict[str, Any]
Matched = list[tuple[str, Row]]
Test = Callable[[Row, Matched], bool]


def last(matched: Matched, name: str, column: str) -> Any:
    found = [row[column] for variable, row in matched if variable == name]
    return found[-1] if found else None


def less(x: Any, y: Any) -> bool:
    return x is not None and y is not None and x < y


Part = Any
"""A variable, or ("then", parts...), ("or", parts...) or ("times", part, minimum, maximum, reluctant)."""

SHAPES: dict[str, tuple[str, str, Part, dict[str, Test]]] = {
    "a fixed sequence": ("A B C", "B AS x > LAST(A.x), C AS x > B.x", ("then", "A", "B", "C"), {
        "B": lambda row, seen: less(last(seen, "A", "x"), row["x"]),
        "C": lambda row, seen: less(last(seen, "B", "x"), row["x"])}),
    "down and up": ("A B+ C+", "B AS x < PREV(x), C AS x > PREV(x)",
                    ("then", "A", ("times", "B", 1, None, False), ("times", "C", 1, None, False)), {
        "B": lambda row, seen: less(row["x"], seen[-1][1]["x"]),
        "C": lambda row, seen: less(seen[-1][1]["x"], row["x"])}),
    "an earlier row": ("A B+", "B AS x > A.x AND k = A.k", ("then", "A", ("times", "B", 1, None, False)), {
        "B": lambda row, seen: less(last(seen, "A", "x"), row["x"]) and row["k"] == last(seen, "A", "k")}),
}
WITHIN = 8
TESTS: dict[str, Test] = {"A": lambda row, _: less(1, row["x"]), "B": lambda *_: True,
                          "C": lambda row, _: less(row["x"], 3),
                          "D": lambda row, seen: less(last(seen, "A", "x"), row["x"])}
DEFINE = "A AS x >= 2, C AS x < 3, D AS x > A.x"


def matches(rows: list[Row], pattern: Part, tests: dict[str, Test], *, overlapping: bool) -> list[Matched]:
    """The match of each row that backtracking finds first, and where to try next."""
    def attempt(part: Part, at: int, seen: Matched, then: Callable[[int, Matched], Matched | None]) -> Matched | None:
        if isinstance(part, str):
            within = at < len(rows) and (not seen or rows[at]["time"] < seen[0][1]["time"] + WITHIN)
            fits = within and tests.get(part, lambda *_: True)(rows[at], seen)
            return then(at + 1, [*seen, (part, rows[at])]) if fits else None
        word, *parts = part
        if word == "or":
            return next(filter(None, (attempt(each, at, seen, then) for each in parts)), None)
        if word == "then":
            first, *others = parts
            return attempt(first, at, seen, lambda at, seen: attempt(("then", *others), at, seen, then)
                           if others else then(at, seen))
        inner, minimum, maximum, reluctant = parts

        def once(at: int, seen: Matched) -> Matched | None:
            begin = at
            fewer = ("times", inner, max(minimum - 1, 0), maximum and maximum - 1, reluctant)
            return attempt(inner, at, seen, lambda at, seen: then(at, seen) if at == begin and not minimum
                           else attempt(fewer, at, seen, then))  # a repetition of no rows is the last one

        if minimum:
            return once(at, seen)
        more = (lambda: None) if maximum == 0 else lambda: once(at, seen)
        return (then(at, seen) or more()) if reluctant else (more() or then(at, seen))

    found, at = [], 0
    while at < len(rows):
        match = attempt(pattern, at, [], lambda _, seen: seen or None)
        if match:
            found.append(match)
        at += 1 if not match or overlapping else len(match)
    return found


def rows_of(draw: random.Random) -> pa.Table:
    times = sorted(draw.sample(range(40), draw.choice([0, 4, 15, 30])))
    return pa.table({"time": pa.array(times, pa.int64()),
                     "k": pa.array([draw.choice(["a", "a", "b"]) for _ in times], pa.string()),
                     "x": pa.array([draw.choice([0, 1, 2, 3, 4, None]) for _ in times], pa.int64())})


def compare(table: pa.Table, text: str, define: str, pattern: Part, tests: dict[str, Test], skip: str) -> None:
    """SQL and the matcher give the same rows."""
    names = [name for name in "ABCD" if name in text]
    past = skip == "PAST LAST ROW"
    found = wb.sql(f"""
        SELECT * FROM log MATCH_RECOGNIZE (
            PARTITION BY k ORDER BY time
            MEASURES FIRST(time) AS began, {', '.join(f'LAST({name}.time) AS {name}_time' for name in names)},
                count(*) AS n, sum(A.x) AS total, max(x) AS most, count(A.x) AS here, CLASSIFIER() AS final, x AS x
                {', MATCH_NUMBER() AS number' if past else ''}
            ONE ROW PER MATCH AFTER MATCH SKIP {skip}
            PATTERN ({text}) WITHIN {WITHIN} DEFINE {define}) AS m
    """, log=wb.from_arrow(table, time="time", name="log")).collect().to_pylist()
    expected = []
    for key in ("a", "b"):
        mine = [row for row in table.to_pylist() if row["k"] == key]
        for number, match in enumerate(matches(mine, pattern, tests, overlapping=not past), 1):
            begins = [row["x"] for name, row in match if name == "A" and row["x"] is not None]
            every = [row["x"] for _, row in match if row["x"] is not None]
            end = match[-1][1]["time"]
            expected.append((end, end + 1, key, match[0][1]["time"], *(last(match, name, "time") for name in names),
                             len(match), sum(begins) if begins else None, max(every, default=None), len(begins),
                             *match[-1][:1], match[-1][1]["x"], *([number] if past else [])))
    assert sorted((tuple(row.values()) for row in found), key=str) == sorted(expected, key=str), text


@pytest.mark.parametrize("skip", ["PAST LAST ROW", "TO NEXT ROW"])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_matches_are_those_of_sql(shape: str, skip: str) -> None:
    pattern, define, part, tests = SHAPES[shape]
    for seed in range(15):
        compare(rows_of(random.Random(seed)), pattern, define, part, tests, skip)


def part_of(draw: random.Random, depth: int) -> tuple[str, Part]:
    """A random pattern as text and as a tree."""
    kind = draw.choice(["then", "or", "times"]) if depth else "variable"
    if kind == "times":
        text, inner = part_of(draw, depth - 1)
        word, bounds = draw.choice([("?", (0, 1)), ("*", (0, None)), ("+", (1, None)), ("{2}", (2, 2)),
                                    ("{1,2}", (1, 2)), ("{,2}", (0, 2)), ("{2,}", (2, None))])
        reluctant = draw.random() < 0.4
        return f"({text}){word}{'?' * reluctant}", ("times", inner, *bounds, reluctant)
    if kind == "variable":
        name = draw.choice("ABCD")
        return name, name
    texts, parts = zip(*(part_of(draw, depth - 1) for _ in range(draw.choice([2, 2, 3]))), strict=True)
    return f"({(' ' if kind == 'then' else ' | ').join(texts)})", (kind, *parts)


@pytest.mark.parametrize("seeds", [range(40), pytest.param(range(40, 600), marks=pytest.mark.long)],
                         ids=["few", "many"])
def test_random_patterns_are_those_of_backtracking(seeds: range) -> None:
    with tier("interpreted"):
        for seed in seeds:
            draw = random.Random(seed)
            text, part = part_of(draw, draw.choice([1, 2, 2, 3]))
            text, part = f"A {text} {text[-1] if text[-1].isalpha() else 'B'}", (
                "then", "A", part, text[-1] if text[-1].isalpha() else "B")
            define = ", ".join(each for each in DEFINE.split(", ") if each[0] in text)
            compare(rows_of(draw), text, define, part, TESTS, draw.choice(["PAST LAST ROW", "TO NEXT ROW"]))


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
