"""Fields of a case's steps, with a record of unread ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class Fields(Mapping[str, Any]):
    """A step and everything in it, with a record of the fields that were read.

    A step with a field that nobody reads is answered as if the field were not there. So a difference may be the
    runner's, and not the engine's.

    Parameters
    ----------
    fields : mapping
        As the case's file has it.

    Examples
    --------
    >>> step = Fields({"op": "join", "right": {"from": "in2", "steps": []}, "speed": 3})
    >>> step["right"]["from"], "steps" in step["right"], step["op"]
    ('in2', True, 'join')
    >>> step.unread()
    ['join(speed=)']
    """

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields: dict[str, Any] = {name: _recorded(value) for name, value in fields.items()}
        self._read: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        value = self._fields[name]
        self._read.add(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def also(self, **more: Any) -> Fields:
        """With further fields, or others in their place; what is read of it is recorded here too."""
        wider = Fields({})
        wider._fields, wider._read = self._fields | more, self._read
        return wider

    def unread(self) -> list[str]:
        """The fields of steps that were not read, as options of the step."""
        kind = self._fields.get("op")
        mine = [] if not isinstance(kind, str) else [
            f"{kind}({name}=)" for name in self._fields if name not in self._read]
        return mine + [name for value in self._fields.values() for name in _unread(value)]


def _recorded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return value if isinstance(value, Fields) else Fields(value)
    return [_recorded(item) for item in value] if isinstance(value, list) else value


def _unread(value: Any) -> list[str]:
    if isinstance(value, Fields):
        return value.unread()
    return [name for item in value for name in _unread(item)] if isinstance(value, list) else []
