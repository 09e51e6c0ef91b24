"""The notebook page: offline scripts, cells and saved frames."""

from __future__ import annotations

from whimbrel_workbench.page.notebook import cell, collect, collecting, executing, execution, in_notebook, soon
from whimbrel_workbench.page.output import Bundle, Output, Sign, one_message
from whimbrel_workbench.page.scripts import freezing

__all__ = [
    "Bundle", "Output", "Sign", "cell", "collect", "collecting", "executing", "execution", "freezing", "in_notebook",
    "one_message", "soon",
]
