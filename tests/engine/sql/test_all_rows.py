"""ALL ROWS PER MATCH against the matcher that tries one way after the other."""

from __future__ import annotations

import random

import pytest

import whimbrel as wb
from tests.engine.sql.test_match_recognize import TICKS, WITHIN, Test, last, matches, part_of, rows_of
from tests.engine.stream.printed import built_again
from whimbrel.kernels import tier

CONDITIONS: dict[str, tuple[str, Test]] = {
    "A": ("x > 3", lambda row, _: row["x"] is not None and row["x"] > 3),
    "B": ("x = 3", lambda row, _: row["x"] == 3),
    "C": ("x < 3 AND x > 0", lambda row, _: row["x"] in (1, 2)),
    "D": ("x = 0", lambda row, _: row["x"] == 0),
}
"""Each row has one variable, as ALL ROWS PER MATCH needs it."""


@pytest.mark.parametrize("seeds", [range(60), pytest.param(range(60, 800), marks=pytest.mark.long)],
                         ids=["few", "many"])
def test_the_rows_are_those_of_backtracking(seeds: range) -> None:
    shown = 0
    with tier("interpreted"):
        for seed in seeds:
            draw = random.Random(seed)
            text, part = part_of(draw, draw.choice([1, 2, 2, 3]))
            text, part = f"({text}) C", ("then", part, "C")
            define = ", ".join(f"{name} AS {condition}" for name, (condition, _) in CONDITIONS.items() if name in text)
            past, table = draw.random() < 0.5, rows_of(draw)
            found = wb.sql(f"""
                SELECT * FROM log MATCH_RECOGNIZE (
                    PARTITION BY k ORDER BY time
                    MEASURES CLASSIFIER() AS variable, count(*) AS so_far, FINAL count(*) AS n, sum(C.x) AS total,
                        FINAL LAST(C.x) AS final, LAST(C.x) AS here, k AS key
                        {', MATCH_NUMBER() AS number' if past else ''}
                    ALL ROWS PER MATCH AFTER MATCH SKIP {'PAST LAST' if past else 'TO NEXT'} ROW
                    PATTERN ({text}) WITHIN {WITHIN} DEFINE {define})
            """, log=wb.from_arrow(table, time="time", name="log")).collect().to_pylist()
            expected = []
            tests = {name: test for name, (_, test) in CONDITIONS.items()}
            for key in ("a", "b"):
                mine = [row for row in table.to_pylist() if row["k"] == key]
                for number, match in enumerate(matches(mine, part, tests, overlapping=not past), 1):
                    end = match[-1][1]["time"]
                    for place, (name, row) in enumerate(match, 1):
                        of_c = [each["x"] for variable, each in match[:place] if variable == "C"]
                        expected.append((
                            end, end + 1, key, name, place, len(match), sum(of_c) if of_c else None,
                            last(match, "C", "x"), last(match[:place], "C", "x"), key, *([number] if past else []),
                            row["time"], row["x"]))
            assert sorted((tuple(row.values()) for row in found), key=str) == sorted(expected, key=str), text
            shown += len(expected)
    assert shown > 50


def test_all_rows_can_be_grouped_by_an_epoch_of_their_last_row() -> None:
    text = """SELECT h, count(*) AS n FROM TICKS MATCH_RECOGNIZE (
                ORDER BY time MEASURES FINAL LAST(time) AS at ALL ROWS PER MATCH
                PATTERN (A B+) WITHIN 5 DEFINE A AS x < 3, B AS x >= 3) GROUP BY at/6 AS h"""
    query = wb.sql(text, TICKS=TICKS)
    assert built_again(query).explain() == query.explain()
    assert query.collect().to_pylist() == [{"start": 6, "end": 12, "h": 1, "n": 4}]
