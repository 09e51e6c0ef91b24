"""Pages are drawn on threads of their own, while a cell does anything else."""

from __future__ import annotations

import subprocess
import sys

import pytest

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

DRAWING_WHILE_IMPORTED = """
import sys, threading, time
import panel as pn
from pyviz_comms import Comm
from whimbrel_workbench.page import one_message

words = pn.widgets.TextInput()
words.jscallback(value="1")
box = pn.Column(words)
box.get_root(comm=Comm())
begun = threading.Event()

def draw():
    with one_message(box):
        begun.set()
        time.sleep(1)
        print("holoviews" in sys.modules)
        box[:] = [words, pn.pane.HTML("drawn")]
    print("drawn")

import importlib.util
assert importlib.util.find_spec("holoviews")
with one_message(box):  # who only asks whether it is there has nobody else import it
    print("holoviews" in sys.modules)
drawing = threading.Thread(target=draw)
drawing.start()
begun.wait()
import holoviews
drawing.join()
print(holoviews.Curve([]))
"""


def test_an_import_begins_when_what_is_drawn_is_done() -> None:
    done = subprocess.run([sys.executable, "-c", DRAWING_WHILE_IMPORTED], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["False", "False", "drawn", ":Curve   [x]   (y)"], done.stderr[-2000:]


@pytest.mark.long
def test_a_cell_imports_holoviews_while_a_view_is_drawn() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTING_WHILE_DRAWING], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["drawn", ":Curve   [x]   (y)"], done.stderr[-2000:]
