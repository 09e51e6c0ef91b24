"""Workers that run another Python than this process: said before a job, with the line that sets it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import whimbrel as wb
from whimbrel.errors import SourceError
from whimbrel.spark import local_session
from whimbrel.spark.workers import _against_task

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def workers_of(spark: SparkSession, python: str) -> Iterator[wb.Stream]:
    """A log of a session whose workers run this Python."""
    before, spark.sparkContext.pythonExec = spark.sparkContext.pythonExec, python
    try:
        yield wb.from_spark(spark.range(10).withColumnRenamed("id", "at"), time="at")
    finally:
        spark.sparkContext.pythonExec = before


def script(folder: Path, text: str) -> str:
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("carried", [False, True])
@pytest.mark.parametrize(("text", "why"), [
    (f'exec {sys.executable} -I -S "$@"', "lacks .*pyarrow"), ("echo 2.7; echo", "has version 2.7"),
    ("exit 3", "does not start"), ("", "does not start")])
def test_another_python_is_refused_before_the_job(spark: SparkSession, tmp_path: Path, text: str, why: str,
                                                  carried: bool) -> None:
    python = script(tmp_path, text) if text else str(tmp_path / "none")
    with workers_of(spark, python) as log, pytest.raises(SourceError, match="workers use another Python") as refused:
        log.tumbling_window(5).aggregate(n=wb.count()).collect(on=spark if carried else None)
    message = str(refused.value)
    assert python in message
    assert 'os.environ["PYSPARK_PYTHON"] = sys.executable' in message
    assert len(message.splitlines()) <= 8
    if text:
        refused.match(why)
    else:
        refused.match("is not there")


def test_workers_are_looked_at_once(spark: SparkSession, tmp_path: Path) -> None:
    python = script(tmp_path, f'echo "$1" >> {tmp_path / "asked"}; exec {sys.executable} "$@"')
    with workers_of(spark, python) as log:
        for _ in range(2):
            assert log.collect().num_rows == 10
    starts = (tmp_path / "asked").read_text(encoding="utf-8").splitlines()
    assert starts[0] == "-c"  # before Spark starts any
    assert starts.count("-c") == 1


def test_a_local_session_has_workers_of_this_python(spark: SparkSession) -> None:
    with workers_of(spark, "/usr/bin/false") as log:
        assert local_session() is spark
        assert spark.sparkContext.pythonExec == sys.executable
        assert log.collect().num_rows == 10


@pytest.mark.parametrize(("text", "version", "why"), [
    (f'exec {sys.executable} -S "$@"', "", "lacks numpy, pyarrow"), (f'exec {sys.executable} "$@"', "", ""),
    (f'exec {sys.executable} "$@"', "3.1", "has version")])
def test_a_worker_of_a_cluster_tells_what_it_is(spark: SparkSession, tmp_path: Path, text: str, version: str, why: str,
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    context = spark.sparkContext
    with workers_of(spark, script(tmp_path, text)):
        monkeypatch.setattr(context, "pythonVer", version or context.pythonVer)
        found = _against_task(context)
    assert found.startswith(why) if why else not found


def test_a_cluster_is_refused_with_a_path_on_its_workers(
        spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The job ended with Java's "Cannot run program"; the Python of this process may be nowhere on a worker."""
    monkeypatch.setattr(spark.sparkContext, "master", "spark://master:7077")
    with workers_of(spark, str(tmp_path / "none")) as log, pytest.raises(SourceError) as refused:
        log.tumbling_window(5).aggregate(n=wb.count()).collect()
    refused.match("which does not start on a worker")
    refused.match('os.environ."PYSPARK_PYTHON". = "/path/on/each/worker/python3')
