from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from whimbrel.spark import local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = local_session("2,3")  # a task may fail twice
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
