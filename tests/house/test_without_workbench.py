"""The engine alone is installed with the files of its views, but without what they draw with."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys

sys.modules["{absent}"] = None  # as Python notes what cannot be found

import pyarrow as pa
import whimbrel as wb

query = wb.from_arrow(pa.table({{"at": [0, 1]}}), time="at").tumbling_window(2).aggregate(n=wb.count())
bundle, _ = query._repr_mimebundle_()
assert list(bundle) == ["text/plain"], bundle
print(bundle["text/plain"])
try:
    query.view.bar(y="n")
except wb.WhimbrelError as error:
    print(error)
"""


@pytest.mark.parametrize("absent", ["IPython", "panel"])
def test_a_query_shows_as_text_and_says_what_a_view_needs(absent: str) -> None:
    program = PROGRAM.format(absent=absent)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "aggregate(n=count())" in done.stdout
    assert "For a live view: pip install 'whimbrel[workbench]'" in done.stdout
    assert "A live view needs panel, which is not installed.\n  hint:  pip install 'whimbrel[workbench]'" in done.stdout
