"""Pages are drawn on threads of their own, beside whatever a cell does."""

from __future__ import annotations

import subprocess
import sys

IMPORTING_WHILE_DRAWING = """
import importlib.abc, sys, threading, time
import panel as pn
from pyviz_comms import Comm
from whimbrel_workbench.page import one_message

class Slow(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "holoviews.core.data" and threading.current_thread() is not drawing:
            halfway.set()
            time.sleep(1)

words = pn.widgets.TextInput()
words.jscallback(value="1")
box = pn.Column(words)
box.get_root(comm=Comm())

def draw():
    halfway.wait()
    with one_message(box):
        box[:] = [words, pn.pane.HTML("drawn")]
    print("drawn")

halfway = threading.Event()
drawing = threading.Thread(target=draw)
sys.meta_path.insert(0, Slow())
drawing.start()
import holoviews
drawing.join()
print(holoviews.Curve([]))
"""


def test_a_cell_imports_holoviews_while_a_view_is_drawn() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTING_WHILE_DRAWING], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["drawn", ":Curve   [x]   (y)"], done.stderr[-2000:]
