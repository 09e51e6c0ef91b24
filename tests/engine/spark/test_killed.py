"""Queries on Spark that are killed, for real, and started again: every settled row is there once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.dataset as ds
import pytest

import whimbrel as wb
from tests.engine.spark import follower
from tests.engine.spark.test_streaming_query import files, on_time, rows_of, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.long]

ROOT = Path(__file__).parents[3]


def killed(folder: Path) -> None:
    """Let a process of its own follow until it dies; its Java dies with it."""
    program = [sys.executable, "-m", "tests.engine.spark.follower", str(folder)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "engine")])}
    process = subprocess.Popen(program, cwd=ROOT, env=environment, start_new_session=True, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    try:
        _, output = process.communicate(timeout=250)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL, output


def test_each_settled_row_is_written_once(spark: SparkSession, tmp_path: Path) -> None:
    files(tmp_path / "log", table())
    killed(tmp_path)
    for run in follower.started(spark, tmp_path):
        assert run.wait(200)
        run.finish()
    kept = wb.from_arrow(on_time(table()).sort_by("at"), time="at", name="log")
    for name, query in (("sessions", follower.query), ("matches", follower.matches)):
        answer = ds.dataset(tmp_path / name / "answer", partitioning="hive").to_table()
        assert rows_of(answer) == rows_of(query(kept).collect()), name
