"""Error of formats for a message that does not fit the schema."""

from __future__ import annotations

import re

import pyarrow as pa

_TEXT = re.compile(r"'(.*)' as a scalar", re.DOTALL)


class UnreadableError(ValueError):
    """A malformed message. Its text has no values of the message, so that dead letters share it."""


def misfit(name: str, type_: str, error: Exception) -> str:
    """Why a value of a column is not of its type, from an error of Arrow; without the value.

    >>> misfit("at", "timestamp[us]", ValueError("Failed to parse string: expected no zone offset"))
    "'at' has a zone, which timestamp[us] has not"
    """
    if "invalid UTF8" in str(error):
        return f"{name!r} is not UTF-8"
    if "expected no zone offset" in str(error):
        return f"{name!r} has a zone, which {type_} has not"
    if "expected a zone offset" in str(error) and ((text := _TEXT.search(str(error))) is None or _is_time(text[1])):
        return f"{name!r} has no zone, which {type_} needs"
    return f"{name!r} must be {type_}"


def _is_time(text: str) -> bool:
    try:
        pa.scalar(text).cast(pa.timestamp("us"))
    except pa.ArrowInvalid:  # Arrow misses a zone in any text
        return False
    return True
