"""Times by which users choose a version of a table."""

from __future__ import annotations

from datetime import UTC, datetime

from whimbrel.errors import PlanError


def moment_of(timestamp: str | datetime, where: str) -> datetime:
    """A time of ISO 8601 or of Python, in UTC unless it has a zone.

    Raises
    ------
    PlanError

    Examples
    --------
    >>> moment_of("2024-05-01", "read_delta(...)")
    datetime.datetime(2024, 5, 1, 0, 0, tzinfo=datetime.timezone.utc)
    """
    try:
        at = datetime.fromisoformat(timestamp) if isinstance(timestamp, str) else timestamp
        if isinstance(at, datetime):
            return at.replace(tzinfo=at.tzinfo or UTC)
    except ValueError:
        pass
    raise PlanError(f"timestamp must be a time in ISO 8601, got {timestamp!r}.", where=where,
                    hint='Use for example timestamp="2024-05-01T00:00:00Z".')
