"""Notebooks run from top to bottom, and what they say at their end is so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENDS = {
    "01_first_picture": "replay and back-test agree: True",
    "02_windows_and_lifetimes": "an instant with most events at once: {'start': 4, 'end': 7, 'n': 3, 'total': 60}",
    "03_late_data": "the last of three answers is the patient one: True",
    "04_back_test_then_live": "93 days live, 93 in the back-test; the same: True",
    "05_your_own_aggregate": "agrees with NumPy: True",
    "06_big_scatter_and_heat_map": "points: 2,000,000; means agree with NumPy: True",
    "07_inside": "as many as it says: True",
    "08_progressive_answers": "the last answer is the one answer: True",
    "09_spark": "389 rows settled live; late flights: 0; the same: True",
    "10_figures_of_late_data": "least ratio of throughput, three together to the largest latency alone: 1.2",
    "11_live_on_kafka": "74,542 rows settled, 18 of them live; killed 2 times; the same: True",
    "12_progressive_query_of_a_spark_table": "last answers, answers at once and Spark's are the same: True",
    "13_functions_of_time": "2,087 readings live, as in the backtest: True; means agree with pandas: True",
    "14_signals": "356 of 356 beats found; live as in history: True; 6 syllables; outer race within 1%: True",
    "16_messy_log": "18 broken lines, 612 duplicates, 10 months; as pandas: True",
    "17_packets_on_a_desk": "37,999 packets, 11 queries; 10 minutes of a scan; as alone: True",
    "15_stream_sql": "90 days live as SQL, 90 as Python; the same: True",
}


FIRST = ("01_first_picture", "04_back_test_then_live")
"""What a newcomer's change may break; the others run in `make long`."""


def marks(name: str) -> list[pytest.MarkDecorator]:
    return [*([] if name in FIRST else [pytest.mark.long]), *([pytest.mark.spark] if "spark" in name else [])]


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(name, marks=marks(name)) for name in ENDS])
def test_a_notebook_runs_and_agrees(name: str) -> None:
    program = [sys.executable, "scripts/run_notebook.py", f"notebooks/{name}.py"]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False,
                          env={**os.environ, "WHIMBREL_ROWS": "400000"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == ENDS[name]


def test_every_notebook_is_run_or_named() -> None:
    notebooks = {path.stem for path in (ROOT / "notebooks").glob("*.py")}
    assert notebooks == ENDS.keys()
    page = (ROOT / "docs" / "notebooks.md").read_text(encoding="utf-8")
    assert [name for name in sorted(notebooks) if f"../notebooks/{name}.py" not in page] == []
