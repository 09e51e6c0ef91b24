"""Claims: what is said early is held to what is known later, and outlives its session."""

from __future__ import annotations

from pathlib import Path

import nbformat
import numpy as np
import pyarrow as pa
import pytest
from IPython.core.formatters import DisplayFormatter

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import PlanError
from whimbrel.progressive.estimation.compare import Verdict
from whimbrel.progressive.estimation.notebook_claims import Verdicts

ROWS = 6_000
CHANCE = np.random.default_rng(3)
TABLE = pa.table({"at": np.sort(CHANCE.integers(0, 3_000, ROWS)), "i": CHANCE.integers(-50, 1_000, ROWS),
                  "k": [("a", "b", "c", None)[which] for which in CHANCE.choice(4, ROWS, p=[0.5, 0.3, 0.15, 0.05])]})


@pytest.fixture(scope="module")
def log() -> wb.Stream:
    return wb.from_arrow(TABLE, time="at", name="log")


@pytest.fixture(scope="module")
def asked(log: wb.Stream) -> wb.Stream:
    return log.group_by("k").tumbling_window(3_000).aggregate(n=wb.count())


def test_claims_are_remembered_and_verified(asked: wb.Stream) -> None:
    progress = asked.progressive(at=[0.3], block_rows=50)
    first = next(progress)
    right = progress.add_claim(first.compare({"k": "a"}, {"k": "b"}, "n"))
    assert right.confidence > 0.95
    assert right.summary.startswith("a > b (n), ")
    wrong = wb.Comparison("n", {"k": "c"}, {"k": "a"}, 5.0, 0.6)
    progress.add_claim(wrong)
    last = next(progress)
    assert [verdict.holds for verdict in progress.claims] == [True, False]
    assert last.overturned[0].left == {"k": "c"}
    assert last.compare({"k": "a"}, {"k": "b"}).confidence == 1


def test_claims_are_saved_with_the_notebook_that_shows_them(asked: wb.Stream, tmp_path: Path) -> None:
    progress = asked.progressive(at=[0.3, 0.6, 0.9], block_rows=50)
    claim = next(claim for claim in (answer.compare({"k": "a"}, {"k": None}, "n") for answer in progress)
                 if 0.5 < claim.confidence < 1)
    progress.add_claim(claim)
    data, metadata = DisplayFormatter().format(progress.claims)
    assert data["text/plain"] == f"[{claim.summary}: holds]"
    output = nbformat.v4.new_output("execute_result", data, metadata=metadata)
    cells = [nbformat.v4.new_code_cell(outputs=[output]) for _ in range(2)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "saved.ipynb")
    progress.save(tmp_path / "kept")
    for later in (asked.progressive(), asked.progressive(block_rows=50, resume=tmp_path / "kept")):
        if not later.claims:
            assert later.load_claims(tmp_path / "saved.ipynb") == [claim]
        later.finish()
        assert [verdict.summary for verdict in later.claims] == [f"{claim.summary}: holds"]
    nbformat.write(nbformat.v4.new_notebook(), tmp_path / "other.ipynb")
    for name in ("other.ipynb", "kept", "none"):
        with pytest.raises(PlanError, match="claims"):
            progress.load_claims(tmp_path / name)


def test_claims_of_rows_that_were_not_read_yet_are_open_and_of_those_that_never_come_are_overturned() -> None:
    """Reading ended with an error where a claim of an earlier session met a row that was not read yet."""
    rows, rare = 20_000, 100
    table = pa.table({"at": np.arange(rows), "k": (np.arange(rows) >= rows - rare).astype(int), "x": np.arange(rows)})
    query = wb.from_arrow(table, time="at").group_by("k").tumbling_window(rows).aggregate(n=wb.count())
    progress = query.progressive(every="5%").prioritize(between=(0, rows // 2))
    right = progress.add_claim(wb.Comparison("n", {"k": 0}, {"k": 1}, 5.0, 1.0))
    gone = progress.add_claim(wb.Comparison("n", {"k": 0}, {"k": 2}, 5.0, 0.97))
    assert [verdict.summary for verdict in progress.claims] == [
        "0 > 1 (n), exactly: undecided", "0 > 2 (n), 97%: undecided"]
    *early, last = progress
    assert [answer.overturned for answer in early] == [()] * len(early)
    assert [verdict.summary for verdict in progress.claims] == [
        "0 > 1 (n), exactly: holds", "0 > 2 (n), 97%: overturned, 0 ? 2 (n), no such value"]
    assert [claim.right for claim in last.overturned] == [gone.right]
    assert right.confidence == 1


def test_claims_without_a_window_are_not_known_where_there_are_several(log: wb.Stream) -> None:
    progress = log.group_by("k").tumbling_window(ROWS // 3).aggregate(n=wb.count()).progressive(every="5%")
    progress.add_claim(wb.Comparison("n", {"k": "a"}, {"k": "b"}, 5.0, 1.0))
    progress.finish()
    assert [verdict.summary for verdict in progress.claims] == ["a > b (n), exactly: undecided"]


def test_keys_of_numpy_are_written_down_as_any(log: wb.Stream, tmp_path: Path) -> None:
    query = log.select(k=col.i % 3).group_by("k").tumbling_window(ROWS).aggregate(n=wb.count())
    progress = query.progressive()
    *_, last = progress
    claim = progress.add_claim(last.compare({"k": np.int64(0)}, {"k": np.int32(2)}, "n"))
    progress.save(tmp_path / "kept")
    assert [kept.claim for kept in query.progressive(resume=tmp_path / "kept").claims] == [claim]


def test_claims_of_another_query_are_not_taken(asked: wb.Stream, log: wb.Stream, tmp_path: Path) -> None:
    mine, other = wb.Comparison("n", {"k": "a"}, {"k": "b"}, 5.0, 1.0), wb.Comparison("m", {"z": 1}, {"z": 2}, 5.0, 1.0)
    progress = asked.progressive()
    for claim in (other, wb.Comparison("n", {"z": 1}, {"z": 2}, 5.0, 1.0)):
        with pytest.raises(PlanError, match="no such values"):
            progress.add_claim(claim)
    with pytest.raises(PlanError, match="no such values"):
        log.progressive().add_claim(mine)
    for claims, found in (([mine, other], [mine]), ([other], None)):
        output = nbformat.v4.new_output("display_data", {}, metadata=Verdicts(
            Verdict(claim, claim) for claim in claims)._repr_mimebundle_()[1])
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(outputs=[output])])
        nbformat.write(notebook, tmp_path / "saved.ipynb")
        if found is None:
            with pytest.raises(PlanError, match="None of the claims"):
                progress.load_claims(tmp_path / "saved.ipynb")
        else:
            assert progress.load_claims(tmp_path / "saved.ipynb") == found
