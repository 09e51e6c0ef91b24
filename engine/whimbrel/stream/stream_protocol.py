"""The protocol of streams for modules below :class:`whimbrel.Stream`."""

from __future__ import annotations

from typing import Protocol

from whimbrel.plan import Node


class StreamLike(Protocol):
    """Anything with a query, as :class:`whimbrel.Stream` is."""

    @property
    def node(self) -> Node:
        """The query."""
