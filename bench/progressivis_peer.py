"""ProgressiVis as a peer: in a process of its own that is started once, of whatever Python has it."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

PYTHON = "WHIMBREL_PROGRESSIVIS"
"""Names a Python that has ProgressiVis, where this one has not."""
MISSING = f"ProgressiVis is left out: pip install 'whimbrel[progressivis]', or name a Python that has it in {PYTHON}"


class ProgressiVis:
    """Answers searches, one run after the other, warm after the first."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def answered(self, file: Path, exact: dict[int, tuple[float, float]]) -> tuple[dict[str, float], pa.Table]:
        """Seconds to each error, by its name, and the last answer; errors are those of these totals and means."""
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        requests.write(json.dumps({"file": str(file), "exact": exact}) + "\n")
        requests.flush()
        line = answers.readline()
        if not line:
            raise RuntimeError(f"ProgressiVis ended with {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer["seconds"], pa.table(answer["answer"])


@contextmanager
def started() -> Iterator[ProgressiVis | None]:
    """A process that lasts as long as the block; None where no Python has ProgressiVis."""
    here = sys.executable if importlib.util.find_spec("progressivis") else None
    python = os.environ.get(PYTHON, here)
    if python is None:
        yield None
        return
    program = Path(__file__).with_name("progressivis_answers.py")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with subprocess.Popen([python, "-P", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True, env=environment) as process:
        try:
            yield ProgressiVis(process)
        finally:
            process.kill()
