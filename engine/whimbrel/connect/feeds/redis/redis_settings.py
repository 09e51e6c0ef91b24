"""Settings of a Redis feed that its clients need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RedisSettings:
    """A Redis feed as its clients see it.

    Attributes
    ----------
    library : module
        ``redis``.
    stream, url : str
    start_from : {"earliest", "latest"}
    group : str or None
    consumer : str
        Name of this reader in the group.
    claim_after_s : float or None
        Idle time after which entries of another consumer are claimed.
    field : str or None
        Field with the whole row. None: each field is a column.
    metadata_columns : tuple of str
        Columns to add to each entry.
    call : str
        The user's call, for errors.
    """

    library: Any
    stream: str
    url: str
    start_from: str
    group: str | None
    consumer: str
    claim_after_s: float | None
    field: str | None
    metadata_columns: tuple[str, ...]
    call: str
