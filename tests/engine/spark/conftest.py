from __future__ import annotations

import os
from collections.abc import Iterator
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
def spark() -> Iterator[SparkSession]:
    session = small_session("2,3")  # a task may fail twice
    yield session
    session.stop()


def small_session(cores: str) -> SparkSession:
    """A local session for little data; also for the processes that tests start."""
    start_small()
    session = local_session(cores)
    session.sparkContext.setLogLevel("OFF")
    return session


def start_small() -> None:
    """Let Java start as suits little data."""
    options = " ".join(f'--conf "{name}={value}"' for name, value in SMALL.items())
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"{options} pyspark-shell"
