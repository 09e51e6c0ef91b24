"""Live views of queries, in notebooks and in served dashboards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from whimbrel_workbench.workspace import Dashboard

__all__ = ["Dashboard"]


def __getattr__(name: str) -> Any:
    """Plotting libraries are imported when something is drawn, not when the entry point is found."""
    if name != "Dashboard":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from whimbrel_workbench.workspace import Dashboard

    return Dashboard


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Load the ``%%whimbrel`` magic, on ``%load_ext whimbrel_workbench``.

    Views need no such line.
    """
    from whimbrel_workbench import magics

    magics.load_ipython_extension(shell)
