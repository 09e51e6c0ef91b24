"""A lock between the import of HoloViews and drawing threads."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any, Final

_MAX_S: Final = 5.0


class _Gate(MetaPathFinder):
    """Lets an import of HoloViews begin between two changes of a view, and changes begin when it is over.

    Panel looks for its parts as soon as there is something of that name, and a package that two threads import from
    different ends is broken for both.
    """

    def __init__(self) -> None:
        self.changing = threading.RLock()
        self.begun = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Find it as others do: who only asks whether it is there does not begin an import."""
        found = PathFinder.find_spec(name, path, target) if name == "holoviews" else None
        if found is not None and found.loader is not None:
            found.loader.create_module = self._begin  # type: ignore[assignment, method-assign]
        return found

    def _begin(self, _spec: ModuleSpec) -> None:
        """The import starts when no view is being changed. It holds the module's own lock meanwhile."""
        self.begun = True
        if self.changing.acquire(timeout=_MAX_S):
            self.changing.release()


_gate: Final = _Gate()
sys.meta_path.insert(0, _gate)


@contextmanager
def apart_from_imports() -> Iterator[None]:
    """While a view is changed: what a cell imports is not looked into halfway."""
    wait_for_import()
    with _gate.changing:
        if not _gate.begun:
            yield
            return
    # It began when nothing was being changed yet, and nobody holds it up from here on.
    wait_for_import()
    with _gate.changing:
        yield


def wait_for_import() -> None:
    """Wait while a cell imports HoloViews."""
    if _gate.begun or "holoviews" in sys.modules:
        import holoviews as hv  # noqa: F401
