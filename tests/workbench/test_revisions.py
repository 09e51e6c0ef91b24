"""Each revised value is shown with the value of the earliest result."""

from __future__ import annotations

import pyarrow as pa
import pytest

import whimbrel as wb
from tests.workbench.results import hourly
from tests.workbench.test_latency_run import COUNTS
from whimbrel_workbench.frames import FrameBuilder, Options, Result, Stages
from whimbrel_workbench.sessions import LatencyRun
from whimbrel_workbench.sessions.revisions import FIRST, first_answers


def band(**columns: list[object]) -> pa.Table:
    rows = len(columns["n"])
    return pa.table({"start": list(range(rows)), **columns, "n_before": pa.array(columns.pop("n_before"), pa.int64())})


def test_the_first_answer_comes_through_bands_that_left_it_as_it_was() -> None:
    one = band(n=[1, 5, 7], change=["insert"] * 3, n_before=[None] * 3)
    two = band(n=[2, 5, 7], change=["update", "unchanged", "unchanged"], n_before=[1, 5, 7])
    three = band(n=[2, 6, 7], change=["unchanged", "update", "unchanged"], n_before=[2, 5, 7])
    assert [table[FIRST + "n"].to_pylist() for table in first_answers([one, two, three], [])] == [
        [None, None, None], [1, None, None], [1, 5, None]]


def test_a_value_that_came_back_is_not_revised() -> None:
    one = band(n=[1], change=["insert"], n_before=[None])
    two = band(n=[2], change=["update"], n_before=[1])
    three = band(n=[1], change=["update"], n_before=[2])
    assert first_answers([one, two, three], [])[-1][FIRST + "n"].to_pylist() == [None]


def test_keys_are_distinguished() -> None:
    one = band(k=["a"], n=[1], change=["insert"], n_before=[None])
    two = band(k=["a"], n=[2], change=["update"], n_before=[1])
    other = band(k=["b"], n=[2], change=["unchanged"], n_before=[2])
    assert first_answers([one, two, other], ["k"])[-1][FIRST + "n"].to_pylist() == [None]


def test_a_run_at_several_latencies_gives_stages_and_first_answers() -> None:
    run = LatencyRun(bands := COUNTS.at_latencies(0, 100), bands.start())
    assert run.wait(10)
    snapshot, result = run.current_result()
    assert result.stages == Stages(("0", "100"))
    assert result.reached == (100, 100)
    early = dict(zip(bands[0].collect()["start"].to_pylist(), bands[0].collect()["n"].to_pylist(), strict=True))
    for row, before in zip(snapshot.table.to_pylist(), result.before["n"].to_pylist(), strict=True):
        assert before == (None if early[row["start"]] == row["n"] else early[row["start"]])
    assert 0 < len(result.before["n"].drop_null()) < 100


def test_raw_events_at_several_latencies_have_nothing_to_revise() -> None:
    log = wb.from_arrow(pa.table({"at": [1, 5, 3], "seen": [1, 5, 6]}), time="at", arrival="seen", name="log")
    run = LatencyRun(bands := log.at_latencies(0, 10), bands.start())
    assert run.wait(10)
    assert len(run.current_result()[1].table) == 3


@pytest.mark.parametrize("kind", ("line", "bar", "heatmap", "number", "table"))
def test_pictures_know_what_was_revised(kind: str) -> None:
    table = hourly(JFK=[4, 9])
    before = pa.table({"flights": pa.array([None, 6.0])})
    picture = FrameBuilder(Options(kind=kind)).picture(Result(table, (2, 1), Stages(("1m", "1h")), before))
    match kind:
        case "line":
            assert [line.before[line.revised].tolist() for line in picture] == [[6.0]]
        case "bar":
            assert picture.bars[0].before == 6.0
        case "heatmap":
            assert picture.before[1] == 6.0
        case "number":
            assert picture.figures[0].revised == "6"
        case "table":
            assert [row.before[-1] for row in picture.table] == ["6", ""]
