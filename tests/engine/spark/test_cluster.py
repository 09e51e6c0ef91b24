"""Two executors in processes of their own, one of them killed half way through a task: the answer is the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import whimbrel as wb
from tests.engine.spark import cluster

pytestmark = [pytest.mark.spark, pytest.mark.long]

ROOT = Path(__file__).parents[3]


def test_an_executor_is_killed(tmp_path: Path) -> None:
    """While Spark carries a query, and while it sends rows here."""
    pq.write_table(cluster.table(), tmp_path / "log.parquet")
    program = [sys.executable, "-m", "tests.engine.spark.cluster", str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "engine")])}
    process = subprocess.Popen(program, cwd=tmp_path, env=environment, start_new_session=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        _, output = process.communicate(timeout=250)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, output[-2_000:]
    here = cluster.query(wb.from_arrow(cluster.table(), time="at")).collect()
    assert here.num_rows > 100
    for route in ("carried", "loaded"):
        there = pq.read_table(tmp_path / f"{route}.parquet")
        assert sorted(map(repr, there.to_pylist())) == sorted(map(repr, here.to_pylist())), route
