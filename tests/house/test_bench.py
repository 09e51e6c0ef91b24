"""Benchmarks can be imported, time no query against itself, and write the rows that they promise."""

from __future__ import annotations

import importlib
import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from bench import __main__ as command
from bench.compare import Row, compare, same_rows, taken, warm
from bench.sides import Ours, collected, ready
from bench.sorted_runs import runs_over_time
from whimbrel import Stream, col
from whimbrel.kernels import Compiled, tier, wait_for_compiler

ROOT = Path(__file__).parents[2]
BENCH = ROOT / "bench"
FIELDS = ["workload", "case", "metric", "ours", "peer", "peer_value", "ratio", "ratio_min", "ratio_max",
          "roof_fraction", "rss_mb", "verified"]
SHORT = ("B", "K")
"""Workloads whose quick run takes some seconds."""
TABLE = pa.table({"at": [3, 1, 2, 5, 4], "seen": range(5), "x": range(5)})


@pytest.mark.parametrize("name", sorted(file.stem for file in BENCH.glob("*.py") if file.stem != "__main__"))
def test_it_is_there(name: str) -> None:
    assert importlib.import_module(f"bench.{name}").__doc__


def log() -> Stream:
    return wb.from_arrow(TABLE, time="at", arrival="seen")


def positive() -> Stream:
    return log().where(col.x > 0)


def at_the_source(query: Stream) -> pa.Table:
    with mock.patch("whimbrel.optimize.sort_as_needed", lambda plan: plan):
        return query.collect()


def compared(ours: Any, peer: Any) -> list[Row]:
    return list(compare("T", "case", 5, ours, {"peer": peer}, same_rows("start", "x")))


ONE = positive()
"""A query that several sides use."""
REFUSED: dict[str, tuple[Any, Any, str]] = {
    "the plan that is kept on a node, under another optimizer":
        (ONE.collect, lambda: at_the_source(ONE), "declare both sides"),
    "a peer that is not declared": (collected(positive), lambda: at_the_source(positive()), "declare both sides"),
    "our side is not declared": (positive().collect, Ours(positive, at_the_source), "declare both sides"),
    "one query for both sides": (collected(lambda: ONE), Ours(lambda: ONE, at_the_source), "fresh query"),
    "one source for both sides": (
        collected(lambda: ONE.where(col.x > 1)), Ours(lambda: ONE.where(col.x > 1), at_the_source), "fresh query"),
    "fresh queries that run alike": (collected(positive), collected(positive), "same plan"),
    "a rule that finds nothing to do": (collected(log), Ours(log, at_the_source), "same plan"),
    "the same setting on both sides": (collected(positive, "1 thread"), collected(positive, "1 thread"), "same plan"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_query_is_not_timed_against_itself(case: str) -> None:
    ours, peer, reason = REFUSED[case]
    with pytest.raises(AssertionError, match=reason):
        compared(ours, peer)


@pytest.mark.parametrize("peer", [
    Ours(positive, at_the_source), Ours(positive, lambda query: query.collect(threads=2), "2 threads"),
    collected(lambda: log().select("x").where(col.x > 0)), lambda: pa.table({"start": [1, 2, 4, 5], "x": [1, 2, 4, 3]}),
], ids=["another rule", "another setting", "another plan", "no plan of ours"])
def test_what_differs_is_compared(peer: Any) -> None:
    row, = compared(collected(positive), peer)
    assert row.verified
    assert list(row.as_dict()) == FIELDS
    assert row.ratio_min <= row.ratio <= row.ratio_max


def test_another_answer_gives_no_time() -> None:
    with pytest.raises(AssertionError, match="another answer"):
        compared(collected(positive), collected(log))


def test_a_figure_taken_elsewhere_is_checked_too() -> None:
    ours, same, other = (ready(side) for side in (collected(positive), collected(positive), collected(log)))
    for run, ran in (ours, same, other):
        warm(run, ran)
    assert taken("T", "case", [1.0], "peer", [2.0], ran=(ours[1], other[1])).ratio == 2
    with pytest.raises(AssertionError, match="same plan"):
        taken("T", "case", [1.0], "peer", [2.0], ran=(ours[1], same[1]))


def test_nothing_is_compiled_inside_the_times() -> None:
    with (mock.patch("bench.compare.finish_compiling", side_effect=itertools.count()),
          pytest.raises(AssertionError, match="compiled inside the times")):
        compared(collected(positive), collected(lambda: log().select("x").where(col.x > 0)))


@pytest.mark.parametrize("rows", [5, 1_500, 5_000])
def test_few_rows_are_compiled_for_too(rows: int) -> None:
    """A run of fewer than 2,000 rows asks for no compiler: its times would be those of interpreted kernels."""
    table = pa.table({"at": range(rows), "x": range(rows)})
    measures = {f"m{at}": wb.sum(col.x + rows + at) for at in range(rows % 7 + 5)}  # a kernel that no other query has
    query = wb.from_arrow(table, time="at").group_by("x").tumbling_window(rows).aggregate(**measures)
    interpreted: list[str] = []
    run = Compiled.interpreted

    def noting(kernel: Compiled, *arguments: Any) -> Any:
        interpreted.append(kernel.function.__name__)
        return run(kernel, *arguments)

    warm(query.collect, ready(query.collect)[1])
    with mock.patch.object(Compiled, "interpreted", noting):
        query.collect()
    assert interpreted == []


def test_figures_of_interpreted_kernels_say_so() -> None:
    assert command.kernels() == "kernels compiled before the times"
    with tier("interpreted"):
        assert command.kernels().startswith("kernels interpreted")


def test_times_are_taken_again_when_something_was_compiled() -> None:
    runs: list[int] = []

    def run(query: Stream) -> pa.Table:
        runs.append(1)
        return query.collect()

    with mock.patch("bench.compare.finish_compiling", side_effect=[0, 1, 1, 1]):
        assert len(compared(Ours(positive, run), lambda: positive_rows)) == 1
    assert len(runs) == 1 + 2 * 5


positive_rows = pa.table({"start": [1, 2, 4, 5], "x": [1, 2, 4, 3]})


def one_row(*, quick: bool) -> Iterator[Row]:
    assert quick
    yield from compared(collected(positive), lambda: positive_rows)


def test_the_command_writes_rows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                                 capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(command, "WORKLOADS", {"T": "a module of this test"})
    monkeypatch.setattr(command.importlib, "import_module", lambda _: SimpleNamespace(run=one_row))
    monkeypatch.setattr(sys, "argv", ["bench", "T", "--quick", "--json", str(tmp_path / "rows.json")])
    command.main()
    written = json.loads((tmp_path / "rows.json").read_text())
    assert written["command"] == "python -m bench T --quick"
    row, = written["rows"]
    assert list(row) == FIELDS
    assert "ratio" in capsys.readouterr().out


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=pytest.mark.long if name in SHORT else pytest.mark.soak)
    for name in sorted(set(command.WORKLOADS) - {"I"})])
def test_answers_of_a_quick_run_are_verified(name: str, tmp_path: Path) -> None:
    """Workload I needs seconds of watching for each of its figures."""
    rows = tmp_path / "rows.json"
    subprocess.run([sys.executable, "-m", "bench", name, "--quick", "--json", str(rows)], cwd=ROOT, check=True)
    written = json.loads(rows.read_text())["rows"]
    assert written
    assert all(list(row) == FIELDS or "limit" in row for row in written)
    assert all(row["verified"] for row in written if "verified" in row)


def test_runs_are_counted_with_and_without_what_punctuations_take_out() -> None:
    times = np.array([10, 20, 30, 1, 2, 3, 40, 50, 60], np.int64)
    with wait_for_compiler():
        assert runs_over_time(times, every=3, latency=0, cuts=False).tolist() == [1, 2, 2]
        assert runs_over_time(times, every=3, latency=15, cuts=True).tolist() == [1, 1, 1]
        assert runs_over_time(np.arange(5)[::-1].copy(), every=5, latency=0, cuts=False).tolist() == [5]
