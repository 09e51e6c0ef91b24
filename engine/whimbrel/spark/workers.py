"""Check that Spark's workers have the Python packages that tasks need."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from whimbrel.errors import SourceError

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_NEEDED: Final = ("numpy", "pyarrow", "whimbrel")
_TIMEOUT_S: Final = 60
_PROBE: Final = """
import importlib.util, sys
print(*sys.version_info[:2], sep=".")
print(*(name for name in sys.argv[1:] if importlib.util.find_spec(name) is None))
"""

_LOCAL_HINT: Final = 'Before the session starts, run: import os, sys; os.environ["PYSPARK_PYTHON"] = sys.executable'
_CLUSTER_HINT: Final = ('Before the session starts, run: import os; os.environ["PYSPARK_PYTHON"] = '
                        f'"/path/on/each/worker/python{sys.version_info.major}.{sys.version_info.minor}"')

_NOT_STARTED: Final = re.compile(r"Cannot run program|Error from python worker")
_OTHER_VERSION: Final = re.compile(r"Python in worker has different version: (\d+\.\d+)")

_looked: WeakKeyDictionary[SparkContext, tuple[str, str]] = WeakKeyDictionary()
"""What was found of the workers' Python of each session, and which one that was."""


def check_workers(spark: SparkSession, where: str, needed: Sequence[str] = _NEEDED) -> None:
    """Refuse a session whose workers run a Python that cannot do the work.

    Looked for once in each session: here, where workers are on this machine, else by a task that tells.

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
    python, local = str(context.pythonExec), (context.master or "").startswith("local")
    found = _looked.get(context)
    if found is None or found[0] != python:
        found = _looked[context] = python, _against(python) if local else _against_task(context)
    lacking = found[1]
    if lacking.startswith("lacks ") and not set(lacking.removeprefix("lacks ").split(", ")) & set(needed):
        return
    if lacking:
        raise SourceError(f"Spark's workers use another Python, {python!r}, which {lacking}.", where=where,
                          hint=_LOCAL_HINT if local else _CLUSTER_HINT)


def _against_task(context: SparkContext) -> str:
    """The same of a cluster, as one of its workers says; empty where no worker got as far as to say anything."""
    def tell(_: Iterator[int]) -> Iterator[str]:  # of this function alone: a worker may lack all else
        import importlib.util
        import sys

        yield ".".join(map(str, sys.version_info[:2]))
        yield from (name for name in needed if importlib.util.find_spec(name) is None)

    needed, here = _NEEDED, f"{sys.version_info.major}.{sys.version_info.minor}"
    try:
        version, *lacking = context.parallelize([0], 1).mapPartitions(tell).collect()
    except Exception as error:  # noqa: BLE001 - the job itself says what else is the matter
        if _NOT_STARTED.search(str(error)):
            return "does not start on a worker"
        other = _OTHER_VERSION.search(str(error))
        return f"has version {other[1]}, where this one has {here}" if other else ""
    if version != here:
        return f"has version {version}, where this one has {here}"
    return f"lacks {', '.join(lacking)}" if lacking else ""


def _against(python: str) -> str:
    """Why workers with this Python could not do what this process asks of them; empty if they can."""
    path = shutil.which(python)
    if path is None:
        return "is not there"
    if os.path.abspath(path) == os.path.abspath(sys.executable):  # noqa: PTH100 - a link of a venv must not be followed
        return ""
    try:
        said = subprocess.run([path, "-c", _PROBE, *_NEEDED], capture_output=True, text=True,  # noqa: S603 - Spark's own
                              check=True, timeout=_TIMEOUT_S).stdout.splitlines()
    except (OSError, subprocess.SubprocessError):
        return "does not start"
    version, lacking = said[0], said[1].split()
    if version != f"{sys.version_info.major}.{sys.version_info.minor}":
        return f"has version {version}, where this one has {sys.version_info.major}.{sys.version_info.minor}"
    return f"lacks {', '.join(lacking)}" if lacking else ""
