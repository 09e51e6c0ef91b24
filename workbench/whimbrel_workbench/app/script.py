"""Run a script or notebook once and collect what its cells show."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import nbformat
from IPython.core.displayhook import DisplayHook
from IPython.core.formatters import format_display_data
from IPython.core.interactiveshell import InteractiveShell

from whimbrel.errors import WhimbrelError
from whimbrel_workbench import page
from whimbrel_workbench.desk_view import DeskView
from whimbrel_workbench.live_view import LiveView
from whimbrel_workbench.workspace import Dashboard, gathered

_CELL: Final = re.compile(r"^# ?%%(.*)$")
_HEADING: Final = re.compile(r"^(#{1,6})\s+(.+?)\s*#*$", re.MULTILINE)
_MARKUP: Final = re.compile(r"(?<![\w*_`])(\*{1,3}|_{1,3}|`+)(?=\S)(.+?)(?<=\S)\1(?!\w)")
"""Of words that are slanted, bold, or code."""


class ScriptError(WhimbrelError):
    """A script or notebook that cannot become a dashboard."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell, as it is written."""

    kind: Literal["code", "markdown"]
    text: str


def dashboard_of(path: Path) -> Dashboard:
    """Run a script or notebook; what it shows, with its title and its headings as names of views.

    A cell shows its last expression, and whatever it hands to ``display``: streams, views and dashboards. A script
    without cells is one cell.

    Parameters
    ----------
    path : Path
        A ``.ipynb``, or a ``.py``, whose cells may begin with ``# %%``.

    Raises
    ------
    ScriptError
        When it is no such file, fails, or shows nothing.
    """
    if path.suffix not in (".py", ".ipynb"):
        raise ScriptError(f"The file must be a .py script or an .ipynb notebook, got {path.name!r}.",
                          where=f"serve {path}", hint="Serve a .py or an .ipynb file.")
    if not path.is_file():
        raise ScriptError(f"File not found: {str(path)!r}.", where=f"serve {path}", hint="Check the path.")
    cells = notebook_cells(path) if path.suffix == ".ipynb" else script_cells(path.read_text(encoding="utf-8"))
    title, shown = _run(cells, path)
    if not shown:
        raise ScriptError(f"{path.name!r} must show a query, a view or a Dashboard, and shows none.",
                          where=f"serve {path}", hint="End a cell with one of them.")
    return gathered(title, shown)


def notebook_cells(path: Path) -> list[Cell]:
    """The cells of a notebook file."""
    try:
        notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    except (ValueError, AttributeError, nbformat.reader.NotJSONError, nbformat.ValidationError) as error:
        what = f"Cannot read {path.name!r} as a notebook: {str(error).splitlines()[0]}"
        raise ScriptError(what, where=f"serve {path}", hint="Save it again with Jupyter.") from error
    return [Cell(cell.cell_type, cell.source) for cell in notebook.cells if cell.cell_type in ("code", "markdown")]


def script_cells(text: str) -> list[Cell]:
    r"""The cells of a script: they begin with ``# %%``, those of words with ``# %% [markdown]``.

    >>> [cell.kind for cell in script_cells("# %% [markdown]\n# # Title\n# %%\n1 + 1\n")]
    ['markdown', 'code']
    """
    cells: list[Cell] = []
    kind: Literal["code", "markdown"] = "code"
    lines: list[str] = []
    for line in [*text.splitlines(), "# %%"]:
        begin = _CELL.match(line)
        if begin is None:
            lines.append(line.removeprefix("#").removeprefix(" ") if kind == "markdown" else line)
            continue
        if any(written.strip() for written in lines):
            cells.append(Cell(kind, "\n".join(lines)))
        kind = "markdown" if "[markdown]" in begin[1] or "[md]" in begin[1] else "code"
        lines = []
    return cells


class _Shown(DisplayHook):
    """Asks a cell's last expression to show itself, and prints nothing."""

    def __call__(self, result: Any = None) -> None:
        if result is not None:
            format_display_data(result)  # type: ignore[no-untyped-call]


def _run(cells: Iterable[Cell], path: Path) -> tuple[str, list[tuple[str, LiveView | DeskView | Dashboard]]]:
    """Title, and what was shown under which heading."""
    title, heading = path.stem, ""
    shown: list[tuple[str, LiveView | DeskView | Dashboard]] = []
    shell = InteractiveShell.instance(displayhook_class=_Shown, colors="nocolor")
    shell.user_ns |= {"__name__": "__main__", "__file__": str(path)}
    sys.path.insert(0, str(path.resolve().parent))
    before = Path.cwd()
    if path.suffix == ".ipynb":
        os.chdir(path.resolve().parent)
    try:
        for number, cell in enumerate(cells):
            if cell.kind == "markdown":
                for found in _HEADING.finditer(cell.text):
                    words = _MARKUP.sub(r"\2", found[2])
                    title, heading = (words, "") if len(found[1]) == 1 else (title, words)
                continue
            with page.collecting() as some:
                done = shell.run_cell(cell.text)  # type: ignore[no-untyped-call]
            if not done.success:
                raise ScriptError(f"{path.name!r} failed.", where=f"cell {number + 1}",
                                  hint="See the traceback above.")
            shown += [(heading, each) for each in some]
    finally:
        os.chdir(before)
        InteractiveShell.clear_instance()
    return title, shown
