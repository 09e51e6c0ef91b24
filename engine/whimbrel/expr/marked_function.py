"""A function of a user, with a cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol


class MarkedFunction(Protocol):
    """A function of a user, with what the user says of its cost."""

    @property
    def function(self) -> Callable[..., Any]: ...

    @property
    def name(self) -> str: ...

    @property
    def cost(self) -> Literal["cheap", "expensive"] | None: ...
