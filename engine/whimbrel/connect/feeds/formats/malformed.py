"""What formats raise for a message that they understand, and that is not what its schema says."""

from __future__ import annotations


class UnreadableError(ValueError):
    """A message is not what a format reads; what it says is of the format, and of no single message."""
