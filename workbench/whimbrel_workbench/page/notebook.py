"""The kernel that runs the cells of a notebook."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from IPython import get_ipython

_executing: Final = threading.Event()
_collected: ContextVar[list[Any] | None] = ContextVar("whimbrel_collected", default=None)


def in_notebook() -> bool:
    """Whether somebody's page, and not just a terminal, will show outputs."""
    return getattr(get_ipython(), "kernel", None) is not None


def parent() -> dict[str, Any]:
    """The message that asked for the cell that is being executed."""
    kernel = getattr(get_ipython(), "kernel", None)
    return dict(kernel.get_parent()) if kernel is not None else {}


def cell() -> str:
    """Name of the cell that is being executed."""
    asked = parent()
    return str(asked.get("metadata", {}).get("cellId") or asked.get("header", {}).get("msg_id", "page"))


def execution() -> str:
    """Name of the current execution."""
    return str(parent().get("header", {}).get("msg_id", ""))


def soon(action: Callable[[], None]) -> None:
    """Do something on the kernel's own loop, between cells; at once where there is no kernel."""
    kernel = getattr(get_ipython(), "kernel", None)
    if kernel is None:
        action()
    else:
        kernel.io_loop.add_callback(action)


def executing() -> bool:
    """Whether a cell is being executed, during which a kernel may not hear the page."""
    return _executing.is_set()


def watch_cells() -> None:
    """Know when cells are executed, from the present one on."""
    shell = get_ipython()
    if shell is not None and not _executing.is_set() and _executing.set not in shell.events.callbacks["pre_execute"]:
        shell.events.register("pre_execute", _executing.set)
        shell.events.register("post_execute", _executing.clear)
        _executing.set()


@contextmanager
def collecting() -> Iterator[list[Any]]:
    """Keep what is shown meanwhile instead of showing it: a served page comes later."""
    kept: list[Any] = []
    before = _collected.set(kept)
    try:
        yield kept
    finally:
        _collected.reset(before)


def collect(shown: object) -> bool:
    """Keep what would be shown, if somebody collects it."""
    kept = _collected.get()
    if kept is None:
        return False
    kept.append(shown)
    return True
