"""`import whimbrel` is light: what is heavy or optional is imported when it is first needed."""

from __future__ import annotations

import json
import subprocess
import sys

HEAVY = {"numba", "pandas", "pyspark", "panel", "holoviews", "bokeh", "IPython", "hypothesis", "pyarrow.dataset",
         "scipy", "pywt"}
PROGRAM = """
import json, sys, time
began = time.perf_counter()
import whimbrel
print(json.dumps({"seconds": time.perf_counter() - began, "modules": list(sys.modules)}))
"""


def test_import_takes_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    seen = json.loads(done.stdout)
    print(f"import whimbrel took {seen['seconds']:.2f} s")
    assert set(seen["modules"]) & HEAVY == set()
