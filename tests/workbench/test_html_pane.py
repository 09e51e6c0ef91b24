"""The messages that a page receives when a text changes."""

from __future__ import annotations

import panel as pn
from bokeh.document import Document
from pyviz_comms import Comm

from whimbrel_workbench.html_pane import Text
from whimbrel_workbench.page.scripts import with_styles


def test_a_page_receives_only_the_new_text() -> None:
    """Panel sent its style sheets with the first of them, as links to a server on the internet."""
    document, words = Document(), Text("before", stylesheets=[":host { color: red }"])
    box = pn.Column(words)
    root = box.get_root(document, Comm())
    with_styles(box, root, box, None)
    document.add_root(root)
    document.hold()
    with pn.io.notebook.block_comm():
        words.object = "<b>after</b>"
    sent = [(event.attr, event.new) for event in document.callbacks._held_events]
    assert sent == [("text", "&lt;b&gt;after&lt;/b&gt;")]
