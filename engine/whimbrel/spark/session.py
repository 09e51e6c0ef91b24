"""Start a local Spark session, and check that one is running."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from whimbrel.errors import MissingExtraError, SourceError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOGGING: Final = Path(__file__).with_name("log4j2.properties")
"""Errors only: what else Spark says when it starts stands in red below the first cell of a notebook."""


def has_java() -> bool:
    """Check for a Java runtime: of ``JAVA_HOME``, else on the path."""
    home = os.environ.get("JAVA_HOME")
    return (Path(home) / "bin" / "java").exists() if home else shutil.which("java") is not None


def check_running(spark: SparkSession, where: str) -> None:
    """Refuse a session that has been stopped, before Spark trips over it.

    Raises
    ------
    SourceError
    """
    if spark.sparkContext._jsc is None:  # noqa: SLF001 - how Spark itself marks it
        raise SourceError("The Spark session has been stopped.", where=where,
                          hint="Start one with whimbrel.spark.local_session(), and create the DataFrame again.")


def local_session(cores: int | str = "*") -> SparkSession:
    """Return the running session, or start a local one.

    A local session needs no network. Its workers run the Python of this process.

    Parameters
    ----------
    cores : int or str
        Cores to use, as in Spark's ``local[...]``: "*" for all, "2,3" for two with three tries for each task.

    Raises
    ------
    MissingExtraError
        When pyspark is not installed.
    SourceError
        When there is no Java runtime.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError("pyspark", "spark", "local_session()") from None
    if not has_java():
        raise SourceError("Spark needs Java 17 or newer, and none was found.",
                          where="local_session()",
                          hint="Set JAVA_HOME, or run apt-get install openjdk-17-jre-headless, or use Homebrew.")
    # Tasks must find the packages of this process, not those of whatever "python3" is.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (SparkSession.builder.master(f"local[{cores}]").appName("whimbrel")
               .config("spark.pyspark.python", sys.executable)
               .config("spark.ui.enabled", "false")
               .config("spark.ui.showConsoleProgress", "false")
               .config("spark.driver.host", "127.0.0.1")
               .config("spark.driver.bindAddress", "127.0.0.1")
               .config("spark.sql.session.timeZone", "UTC")
               .config("spark.sql.execution.arrow.maxRecordsPerBatch", "65536")
               .config("spark.driver.defaultJavaOptions", f'"-Dlog4j2.configurationFile={_LOGGING}"')
               .getOrCreate())
    if (session.sparkContext.master or "").startswith("local"):  # one that runs already was perhaps started otherwise
        session.sparkContext.pythonExec = sys.executable
    return session
