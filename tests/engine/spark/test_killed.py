"""A query on Spark that is killed, for real, and started again: every settled row is there once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.dataset as ds
import pytest

import whimbrel as wb
from tests.engine.spark import follower
from tests.engine.spark.test_follow import files, on_time, rows_of, table

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[3]


def run(folder: Path, moment: str, batch: int) -> int:
    """The exit code of a process of its own; its Java dies with it."""
    program = [sys.executable, "-m", "tests.engine.spark.follower", str(folder), moment, str(batch)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "engine")])}
    process = subprocess.Popen(program, cwd=ROOT, env=environment, start_new_session=True, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    try:
        _, told = process.communicate(timeout=250)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode in (0, -signal.SIGKILL), told
    return process.returncode


def test_each_settled_row_is_written_once(tmp_path: Path) -> None:
    files(tmp_path / "log", table())
    assert run(tmp_path, "answered", 2) == -signal.SIGKILL
    assert run(tmp_path, "booked", 4) == -signal.SIGKILL
    assert run(tmp_path, "never", -1) == 0
    kept = wb.from_arrow(on_time(table()).sort_by("at"), time="at", name="log")
    for name, query in (("sessions", follower.query), ("matches", follower.matches)):
        answer = ds.dataset(tmp_path / name / "answer", partitioning="hive").to_table()
        assert rows_of(answer) == rows_of(query(kept).collect()), name
