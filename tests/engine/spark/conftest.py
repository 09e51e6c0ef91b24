from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import pytest

from whimbrel.spark import local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "4",
}
"""For logs of a thousand rows Java compiles longer than it computes: half the time of these tests."""


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    # A test that was killed leaves the files of its table, and the next one could not make it again.
    start_small({"spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse"))})
    session = quiet_session("2,3")  # a task may fail twice
    yield session
    session.stop()


def small_session(cores: str) -> SparkSession:
    """A local session for little data, in a process that a test starts."""
    start_small()
    return quiet_session(cores)


def quiet_session(cores: str) -> SparkSession:
    session = local_session(cores)
    session.sparkContext.setLogLevel("OFF")
    return session


def start_small(more: Mapping[str, str] = {}) -> None:
    """Let Java start as suits little data, with more settings."""
    options = " ".join(f'--conf "{name}={value}"' for name, value in {**SMALL, **more}.items())
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"{options} pyspark-shell"
