"""How a feed is read: its waits and its limits, as the user told them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from whimbrel.connect.feeds.runtime.overload import Overload
from whimbrel.connect.validation import checked_seconds, is_seconds, is_whole
from whimbrel.errors import PlanError


@dataclass(frozen=True)
class ReadOptions:
    """How a feed is read.

    Parameters
    ----------
    idle_after_s : float or None
    queue_rows, queue_bytes : int
    overload : Overload or None
    retry_backoff_s : (float, float)
    schema_sample_s : float
    """

    idle_after_s: float | None
    queue_rows: int
    queue_bytes: int
    overload: Overload | None
    retry_backoff_s: tuple[float, float]
    schema_sample_s: float

    @staticmethod
    def of(options: Mapping[str, Any], where: str) -> ReadOptions:
        """What the user told, or the usual.

        Raises
        ------
        PlanError
            When one of them cannot be.
        """
        idle = options.get("idle_timeout")
        idle_s = None if idle is None else checked_seconds("idle_timeout", idle, where=where)
        made = ReadOptions(idle_s, options.get("queue_rows", 1 << 18), options.get("queue_bytes", 64 << 20),
                           options.get("overload"), options.get("retry_backoff_s", (0.25, 5.0)),
                           options.get("schema_sample_s", 5.0))
        retry = made.retry_backoff_s
        for name, value, fine, hint in (
                ("queue_rows", made.queue_rows, is_whole(made.queue_rows) and made.queue_rows >= 1,
                 "a whole number of rows, 1 or more"),
                ("queue_bytes", made.queue_bytes, is_whole(made.queue_bytes) and made.queue_bytes >= 1,
                 "a whole number of bytes, 1 or more"),
                ("overload", made.overload, made.overload is None or isinstance(made.overload, Overload),
                 'a rule, such as wb.feeds.Sample(0.1) or wb.feeds.Conflate("key")'),
                ("retry_backoff_s", retry, isinstance(retry, tuple | list) and len(retry) == 2
                 and all(map(is_seconds, retry)) and retry[0] <= retry[1],
                 "the first wait and the longest in seconds, such as (0.25, 5.0)"),
                ("schema_sample_s", made.schema_sample_s, is_seconds(made.schema_sample_s), "seconds, such as 5.0")):
            if not fine:
                raise PlanError(f"{name}={value!r} cannot be.", where=where, hint=hint)
        return made
