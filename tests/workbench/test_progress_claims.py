"""Claims about rows of early answers: of whichever keys, and of rows that may be gone again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from tests.workbench.test_progress_steered import waiting
from whimbrel import col
from whimbrel.errors import PlanError

ROWS = 6_000
ODD = np.random.default_rng(4).random(ROWS) < 0.5
LOG = wb.from_arrow(pa.table({
    "at": np.arange(ROWS), "flag": ODD, "gap": pa.array([1 if each else None for each in ODD.tolist()]),
    "word": np.where(ODD, "", "b"), "x": 1.0 + ODD + np.random.default_rng(2).random(ROWS)}), time="at")


@pytest.mark.parametrize(("key", "names"), (("flag", ("true", "false")), ("gap", ("1", "(null)")),
                                            ("word", ("(empty)", "b"))), ids=("flag", "gap", "word"))
def test_an_overturned_claim_is_flagged_at_its_rows_whatever_their_keys_are(key: str, names: tuple[str, str]) -> None:
    run = waiting(LOG.group_by(key).tumbling_window(ROWS).aggregate(m=wb.mean(col.x)), updates=30)
    run.add_claim(*names, "m")
    claim = run.query.claims[0].claim
    run.query.added_claims[:] = [replace(claim, difference=-claim.difference)]  # as a sample may mislead
    run.finish()
    assert run.wait(10)
    assert [verdict.verdict for verdict in run.quality("m").pinned] == ["overturned"]
    assert run.current_result("m")[1].flagged == {0, 1}


def test_a_claim_of_a_row_that_is_gone_is_refused_in_words() -> None:
    run = waiting(LOG.group_by("flag").tumbling_window(ROWS).aggregate(m=wb.mean(col.x)).where(col.m > 2), updates=30)
    with pytest.raises(PlanError, match="no row false"):
        run.add_claim("false", "true", "m")
    run.stop()
