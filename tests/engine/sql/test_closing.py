"""CLOSING_WHEN and running aggregates: the corner cases."""

from __future__ import annotations

from typing import Any

import whimbrel as wb

LOG = wb.from_arrow({
    "time": [0, 10, 30, 70, 75, 200, 260], "ip": ["a", "a", "b", "a", "a", "a", "b"],
    "seq": [1, 2, 1, 2, 3, 9, 9], "fin": [False, False, False, True, False, None, True]}, time="time", name="LOG")


def answer(text: str, **options: Any) -> list[tuple[Any, ...]]:
    found = wb.sql(text, LOG=LOG, **options).collect().drop(["start", "end"]).to_pylist()
    return sorted(tuple(row.values()) for row in found)


def test_ordinary_aggregates_are_of_the_epoch_and_running_ones_of_all_rows_since_the_group_opened() -> None:
    assert answer("""SELECT ip, tb, count(*), sum_of_dups(seq), running(count(*)) FROM LOG
                     GROUP BY time/60 AS tb, ip CLOSING_WHEN or_aggr(fin) OR count(*) = 0""") == [
        ("a", 0, 2, 0, 2), ("a", 1, 2, 1, 4), ("a", 3, 1, 0, 1), ("a", 4, 0, 0, 1),
        ("b", 0, 1, 0, 1), ("b", 1, 0, 0, 1), ("b", 4, 1, 0, 1)]


def test_having_decides_the_row_and_then_the_group_closes() -> None:
    text = """SELECT ip, tb, running(count(*)) FROM LOG GROUP BY time/60 AS tb, ip {}"""
    having, closing = "HAVING count(*) > 1", "CLOSING_WHEN running(count(*)) >= 4"
    rows = [("a", 0, 2), ("a", 1, 4)]
    assert answer(text.format(f"{having} {closing}")) == rows
    assert answer(text.format(f"{closing} {having}")) == rows


def test_groups_that_never_close_have_a_row_in_each_epoch_up_to_the_last_row_of_the_stream() -> None:
    rows = answer("SELECT ip, tb, running(sum(seq)) FROM LOG GROUP BY time/60 AS tb, ip CLOSING_WHEN FALSE")
    assert [row[:2] for row in rows] == [(ip, tb) for ip in "ab" for tb in range(5)]
    assert [row[2] for row in rows] == [3, 8, 8, 17, 17, 1, 1, 1, 1, 10]


def test_a_sum_of_an_epoch_without_rows_is_null() -> None:
    rows = answer("SELECT ip, tb, sum(seq), running(max(seq)) FROM LOG WHERE ip = 'b' GROUP BY time/60 AS tb, ip "
                  "CLOSING_WHEN tb = 2")
    assert rows == [("b", 0, 1, 1), ("b", 1, None, 1), ("b", 2, None, 1), ("b", 4, 9, 9)]


def test_an_aggregate_of_users_runs_on() -> None:
    largest_gap = wb.aggregate(init=(0, 0), accumulate=lambda s, x: (max(s[0], x - s[1]), x), result=lambda s: s[0],
                               name="largest_gap")
    assert answer("SELECT tb, running(largest_gap(seq)) FROM LOG WHERE ip = 'a' GROUP BY time/60 AS tb "
                  "CLOSING_WHEN FALSE", functions={"largest_gap": largest_gap}) == [(0, 1), (1, 1), (2, 1), (3, 6)]


def test_results_of_epochs_are_ordered() -> None:
    text = """SELECT hour, max(dups) FROM (
                SELECT tb, ip, sum_of_dups(seq) AS dups FROM LOG GROUP BY time/60 AS tb, ip CLOSING_WHEN count(*) = 0)
              GROUP BY tb/2 AS hour"""
    assert answer(text) == [(0, 1), (1, 1), (2, 0)]
