"""Close the runs of a cell when it runs again."""

from __future__ import annotations

import atexit
import threading
from typing import Protocol


class Closable(Protocol):
    """Anything that can be closed."""

    def close(self) -> None: ...


class CellOwnership:
    """Owners (such as notebook cells) and what each keeps open since its last turn (such as an execution).

    Examples
    --------
    >>> class Door:
    ...     def close(self): print("closed")
    >>> owners = CellOwnership()
    >>> owners.give("cell 1", Door(), turn="first")
    >>> owners.give("cell 1", Door(), turn="first")
    >>> owners.give("cell 1", Door(), turn="second")
    closed
    closed
    >>> owners.close_all()
    closed
    """

    def __init__(self) -> None:
        self._held: dict[str, tuple[str, list[Closable]]] = {}
        self._lock = threading.Lock()
        atexit.register(self.close_all)

    def give(self, owner: str, item: Closable, turn: str) -> None:
        """Let ``owner`` keep ``item``; what it was given in a turn before is closed."""
        with self._lock:
            last, kept = self._held.get(owner, (turn, []))
            before = [] if last == turn else kept
            self._held[owner] = turn, [item] if before else [*kept, item]
        for each in before:
            each.close()

    def before(self, owner: str, turn: str) -> list[Closable]:
        """What an owner still keeps of a turn before, which the next thing it is given will close."""
        with self._lock:
            last, kept = self._held.get(owner, (turn, []))
            return [] if last == turn else list(kept)

    def forget(self, item: Closable) -> None:
        """Let go of a thing that is over."""
        with self._lock:
            left = {owner: (turn, [each for each in kept if each is not item])
                    for owner, (turn, kept) in self._held.items()}
            self._held = {owner: (turn, kept) for owner, (turn, kept) in left.items() if kept}

    def close_all(self) -> None:
        """Close everything that is still kept."""
        with self._lock:
            held, self._held = [item for _, kept in self._held.values() for item in kept], {}
        for item in held:
            item.close()
