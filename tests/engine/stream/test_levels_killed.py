"""Levels of a query in processes that are killed: settled rows are those of one process, each once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from socket import socket
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.engine.stream import levels_killed


def free_ports(count: int) -> list[int]:
    with ExitStack() as opened:
        sockets = [opened.enter_context(socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def counted(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(repr(row) for row in rows)


@pytest.mark.long
@pytest.mark.parametrize(("victims", "kills", "speed"), [
    ([0], 20, 1.0), (["high"], 8, 0.05), ([0, 1, "high"], 12, 0.1)])
def test_killed_at_any_moment_settled_rows_are_those_of_one_process(tmp_path: Path, victims: list[Any], kills: int,
                                                                    speed: float) -> None:
    """While a high level is killed, sources must take longer: it would end before it was killed often enough."""
    lows = 2 if 1 in victims else 1
    options = {"folder": str(tmp_path), "ports": free_ports(lows), "victims": victims, "kills": kills,
               "speed": speed, "seed": 3}
    done = subprocess.run([sys.executable, levels_killed.__file__, json.dumps(options)], capture_output=True, text=True,
                          check=False, timeout=400)
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout) == {"killed": kills, "went_on": pytest.approx(0.75 * kills, abs=0.25 * kills)}
    first, *others = [levels_killed.source(number, kills) for number in range(lows)]
    whole = levels_killed.query(first.union(*others) if others else first).collect().to_pylist()
    files = sorted((tmp_path / "out").glob("rows-*.parquet"))
    settled = [row for file in files for row in pq.read_table(file).to_pylist()]
    assert counted(settled) == counted(whole)
    assert len(whole) > 40 * kills
