"""Ordered columns: declared, checked under each late policy, carried by operators, and made the event time."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import KernelError, PlanError

ROWS = {"at": [0, 5, 10, 10, 12], "seq": [3, 7, 6, 9, 8]}


def log(late: Any = "raise", **rows: list[Any]) -> wb.Stream:
    return wb.from_arrow({**ROWS, **rows}, time="at", late=late, name="log")


def values(stream: wb.Stream) -> list[Any]:
    return stream.collect()["seq"].to_pylist()


@pytest.mark.parametrize(("late", "left"), [("drop", [3, 7, 9]), ("side_output", [3, 7, 9]),
                                            ("adjust", [3, 7, 7, 9, 9])])
def test_a_row_against_the_order_is_late(late: str, left: list[int]) -> None:
    assert values(log(late).assume(increasing="seq")) == left


@pytest.mark.parametrize(("late", "counts"), [("drop", (3, 0)), ("adjust", (1, 2))])
def test_rows_against_the_order_count_as_late(late: str, counts: tuple[int, int]) -> None:
    query = log(late, seq=[3, 7, 6, None, 5]).assume(increasing="seq").retime(col.seq).aggregate(n=wb.count()).start()
    query.wait()
    found = query.metrics
    assert (found.late_dropped, found.late_adjusted) == counts


def test_a_row_against_the_order_is_an_error_by_default() -> None:
    with pytest.raises(KernelError) as raised:
        log().assume(increasing="seq").collect()
    assert str(raised.value) == (
        "An event at 10 has a seq of 6 after one of 7.\n  where: assume(increasing='seq')\n"
        '  hint:  Allow more with band=, fix the data, or use late="drop" at the source.')


def test_a_band_allows_for_it_and_rows_of_one_time_are_in_no_order() -> None:
    assert values(log().assume(increasing="seq", band=1)) == ROWS["seq"]
    assert values(log(at=[0, 5, 5, 6, 6], seq=[3, 7, 4, 9, 7]).assume(increasing="seq")) == [3, 7, 4, 9, 7]


def test_a_decreasing_column_turns() -> None:
    falling = log("adjust", seq=[-3, -7, -6, -9, 2**63 - 1])
    assert values(falling.assume(decreasing="seq")) == [-3, -7, -7, -9, -9]
    assert values(log("drop", seq=[9, 7, 8, -(2**63), 3]).assume(decreasing="seq")) == [9, 7, -(2**63)]


def test_a_null_is_in_no_order() -> None:
    with pytest.raises(KernelError, match="An event at 5 has a null in seq, which is in no order"):
        log(seq=[1, None, 2, 3, 4]).assume(increasing="seq").collect()
    for late in ("drop", "adjust"):
        assert values(log(late, seq=[1, None, 2, 0, 4]).assume(increasing="seq"))[0:2] == [1, 2]


def test_a_band_of_timestamps_is_a_duration() -> None:
    times = pa.array([0, 5, 3], pa.timestamp("s"))
    rows = wb.from_arrow({"at": [0, 1, 2], "ts": times}, time="at", name="log")
    assert rows.assume(increasing="ts", band="2s").retime(col.ts).collect()["start"].to_pylist() == sorted(
        times.to_pylist())
    with pytest.raises(KernelError, match="has a ts of 1970-01-01 00:00:03 after one of 1970-01-01 00:00:05"):
        rows.assume(increasing="ts", band="1s").collect()


def test_the_policy_is_that_of_the_stream_on_which_a_query_runs() -> None:
    query = log().assume(increasing="seq")
    assert values(query.on(log("drop"))) == [3, 7, 9]


def test_random_rows_in_batches_are_judged_like_one_after_the_other() -> None:
    draw = random.Random(7)
    for _ in range(40):
        at = sorted(draw.choices(range(9), k=12))
        seq = [2 * time + draw.randrange(5) for time in at]
        band = draw.randrange(4)
        expected = []
        for time, value in zip(at, seq, strict=True):
            before = [v for t, v in zip(at, seq, strict=True) if t < time]
            if not before or value >= max(before) - band:
                expected.append(value)
        batches = [{"at": at[n:n + 5], "seq": seq[n:n + 5]} for n in range(0, 12, 5)]
        table = pa.concat_tables([pa.table(batch) for batch in batches])
        rows = wb.from_arrow(table, time="at", late="drop", name="log").assume(increasing="seq", band=band)
        assert values(rows) == expected
        moved = rows.retime(col.seq).aggregate(n=wb.count()).collect()
        assert moved["start"].to_pylist() == sorted(set(expected))


def test_operators_carry_what_is_known() -> None:
    numbered = log().assume(increasing="seq", band=8)

    def known(stream: wb.Stream) -> str:
        return ", ".join(each.show() for each in stream.node.properties.ordered)

    assert known(numbered) == "seq increasing banded 8"
    assert known(numbered.where(col.seq > 1).select(block=-(col.seq // 4), odd=col.seq % 2)) == (
        "block decreasing banded 2")
    assert known(numbered.tumbling_window(5).group_by(b=col.seq // 4).aggregate(n=wb.count())) == (
        "b increasing banded 2")
    assert known(numbered.set_duration(5).group_by(b=col.seq // 4).aggregate(n=wb.count())) == ""
    assert known(numbered.retime(col.seq // 4).group_by("seq").aggregate(n=wb.count())) == "seq increasing"
    assert known(numbered.union(numbered)) == ""
    assert known(numbered.join(log().select(at2=col.at, key=col.seq), {"at": "at2"})) == "seq increasing banded 8"
    assert known(numbered.set_duration(3).join(log().select(at2=col.at), {"at": "at2"})) == ""
    assert "[intervals, ordered: seq increasing banded 8]" in numbered.explain()


def test_an_own_clock_joins_another_one_but_no_event_time() -> None:
    left, right = (log().assume(increasing="seq", band=9).select("seq") for _ in range(2))
    both = left.retime(col.seq // 2).join(right.retime(col.seq + 1), on="seq")
    assert both.collect().num_rows == 0  # halves meet numbers plus one, of which none has the same seq
    with pytest.raises(PlanError, match="before their window has closed"):
        left.retime(col.seq // 2).join(right, on="seq")
    with pytest.raises(PlanError, match="before their window has closed"):
        left.retime(col.seq).tumbling_window(5).aggregate(n=wb.count()).cross_join(right.retime(col.seq))


REFUSED = {
    "no such column": (lambda: log().assume(increasing="sec"), "There is no column 'sec'"),
    "type": (lambda: log(seq=["a"] * 5).assume(increasing="seq"),
             "An ordered column must have integers or timestamps, got 'seq' of type string"),
    "twice": (lambda: log().assume(increasing="seq", decreasing="seq"),
              "'seq' must be increasing or decreasing, and is named twice"),
    "band alone": (lambda: log().assume(band=1), "band= needs increasing= or decreasing="),
    "negative band": (lambda: log().assume(increasing="seq", band=-1), "band must not be negative, got -1"),
    "keys": (lambda: log().assume(increasing="seq", per="at", duration=1),
             r"cannot combine per= and increasing= or decreasing="),
    "not declared": (lambda: log().retime(col.seq), "and col.seq is in no order"),
    "falling": (lambda: log().assume(decreasing="seq").retime(col.seq), "and this one falls"),
    "a float": (lambda: log().assume(increasing="seq").retime(col.seq / 2),
                "A time must be an integer or a timestamp, got col.seq / 2 of type double"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=list(REFUSED))
def test_what_cannot_be(case: tuple[Any, str]) -> None:
    make, words = case
    with pytest.raises(wb.WhimbrelError, match=words):
        make()
