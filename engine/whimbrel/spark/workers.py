"""Whether Spark's workers run a Python that has what tasks need: asked before the first job of a session."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from whimbrel.errors import SourceError

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_NEEDED: Final = ("numpy", "pyarrow", "whimbrel")
_PATIENCE_S: Final = 60
_PROBE: Final = """
import importlib.util, sys
print(*sys.version_info[:2], sep=".")
print(*(name for name in sys.argv[1:] if importlib.util.find_spec(name) is None))
"""

_looked: WeakKeyDictionary[SparkContext, tuple[str, str]] = WeakKeyDictionary()
"""What was found of the workers' Python of each session, and which one that was."""


def check_workers(spark: SparkSession, where: str, needed: Sequence[str] = _NEEDED) -> None:
    """Refuse a local session whose workers run a Python that cannot do the work.

    Looked for once in each session. Of a cluster, only its own machines know; there, the task that fails says it.

    Parameters
    ----------
    spark : pyspark.sql.SparkSession
    where : str
        The user's call, for errors.
    needed : sequence of str
        Packages that tasks import.

    Raises
    ------
    SourceError
        With the line that sets the Python.
    """
    context = spark.sparkContext
    if not (context.master or "").startswith("local"):
        return
    python = str(context.pythonExec)
    found = _looked.get(context)
    if found is None or found[0] != python:
        found = _looked[context] = python, _against(python)
    lacking = found[1]
    if lacking.startswith("lacks ") and not set(lacking.removeprefix("lacks ").split(", ")) & set(needed):
        return
    if lacking:
        raise SourceError(f"Spark's workers run another Python, {python!r}, which {lacking}.", where=where,
                          hint="before the session starts: import os, sys; "
                               'os.environ["PYSPARK_PYTHON"] = sys.executable')


def _against(python: str) -> str:
    """Why workers with this Python could not do what this process asks of them; empty if they can."""
    path = shutil.which(python)
    if path is None:
        return "is not there"
    if os.path.abspath(path) == os.path.abspath(sys.executable):  # noqa: PTH100 - a link of a venv must not be followed
        return ""
    try:
        said = subprocess.run([path, "-c", _PROBE, *_NEEDED], capture_output=True, text=True,  # noqa: S603 - Spark's own
                              check=True, timeout=_PATIENCE_S).stdout.splitlines()
    except (OSError, subprocess.SubprocessError):
        return "does not start"
    version, lacking = said[0], said[1].split()
    if version != f"{sys.version_info.major}.{sys.version_info.minor}":
        return f"has version {version}, where this one has {sys.version_info.major}.{sys.version_info.minor}"
    return f"lacks {', '.join(lacking)}" if lacking else ""
