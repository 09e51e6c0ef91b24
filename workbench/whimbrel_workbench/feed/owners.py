"""Who shows which run: a cell that runs again ends what it ran before, and a kernel that ends ends everything."""

from __future__ import annotations

import atexit
import threading
from typing import Protocol


class Closable(Protocol):
    """Anything that can be closed."""

    def close(self) -> None: ...


class Owners:
    """Owners (such as notebook cells) and the one thing that each keeps open.

    Examples
    --------
    >>> class Door:
    ...     def close(self): print("closed")
    >>> owners = Owners()
    >>> owners.give("cell 1", Door())
    >>> owners.give("cell 1", Door())
    closed
    >>> owners.close_all()
    closed
    """

    def __init__(self) -> None:
        self._held: dict[str, Closable] = {}
        self._lock = threading.Lock()
        atexit.register(self.close_all)

    def give(self, owner: str, thing: Closable) -> None:
        """Let ``owner`` keep ``thing``; what it kept before is closed."""
        with self._lock:
            before = self._held.get(owner)
            self._held[owner] = thing
        if before is not None and before is not thing:
            before.close()

    def forget(self, thing: Closable) -> None:
        """Let go of a thing that is over."""
        with self._lock:
            self._held = {owner: held for owner, held in self._held.items() if held is not thing}

    def close_all(self) -> None:
        """Close everything that is still kept."""
        with self._lock:
            held, self._held = list(self._held.values()), {}
        for thing in held:
            thing.close()
