"""Run a notebook from top to bottom without a browser and print what its last cell printed."""

from __future__ import annotations

import sys
from pathlib import Path

import jupytext
from nbclient import NotebookClient

SECONDS_PER_CELL = 300


def main(path: Path) -> None:
    """Execute, then print the last cell's outputs."""
    notebook = jupytext.read(path)
    NotebookClient(notebook, timeout=SECONDS_PER_CELL, resources={"metadata": {"path": path.parent}}).execute()
    for output in notebook.cells[-1].outputs:
        print(output.get("text") or output["data"]["text/plain"], end="")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
