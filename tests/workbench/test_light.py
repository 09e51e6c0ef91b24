"""The first picture waits for no library that it does not need."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys, time
import pyarrow.parquet as pq
import whimbrel as wb
from whimbrel import col
from whimbrel_workbench.sessions import LiveSession
from whimbrel_workbench.frames import Options
from whimbrel_workbench.view_panel import ViewPanel

log = wb.read_parquet({file!r}, time="at", name="log")
query = log.group_by("k").tumbling_window("10s").aggregate(n=wb.count(), m=wb.mean(col.x))
frames = []
feed = LiveSession(query, Options(kind={kind!r}), lambda frame: frames.append(frame) or True)
feed.start()
feed.run.wait(60)
feed.refresh()
assert frames[-1].picture is not None, frames[-1].status
ViewPanel().draw(frames[-1])
print(*sorted({{"pandas", "holoviews", "datashader", "pyspark"}} & set(sys.modules)))
"""


@pytest.mark.share(4)
@pytest.mark.parametrize("kind", ("lines", "bars", "table", "number"))
def test_a_picture_loads_neither_pandas_nor_holoviews(tmp_path, kind: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = tmp_path / "log.parquet"
    times = pa.array([1, 4, 12, 30], pa.timestamp("s"))
    pq.write_table(pa.table({"at": times, "k": ["a", "b", None, "a"], "x": [1.0, None, 3.0, 4.0]}), file)
    done = subprocess.run([sys.executable, "-c", PROGRAM.format(file=str(file), kind=kind)], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ""
