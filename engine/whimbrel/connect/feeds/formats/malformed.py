"""Error of formats for a message that does not fit the schema."""

from __future__ import annotations


class UnreadableError(ValueError):
    """A malformed message. Its text has no values of the message, so that dead letters share it."""
