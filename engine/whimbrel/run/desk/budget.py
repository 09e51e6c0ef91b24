"""Budgets of queries: how much of memory and time one may use."""

from __future__ import annotations

from dataclasses import dataclass, fields

from whimbrel.errors import PlanError


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Limits of one query of a desk.

    A query that exceeds one is stopped, and the others continue.

    Parameters
    ----------
    rows : int, optional
        Most rows that its operators buffer.
    bytes : int, optional
        Most bytes of buffered rows, and of settled result rows that are kept.
    seconds : float, optional
        Most seconds of work on its own steps. The time of a shared step is divided by the number of its queries.

    Examples
    --------
    >>> Budget(rows=1_000_000, seconds=60)
    Budget(rows=1000000, bytes=None, seconds=60)
    """

    rows: int | None = None
    bytes: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            limit = getattr(self, field.name)
            types, noun = (int | float, "number") if field.name == "seconds" else (int, "integer")
            if limit is not None and (not isinstance(limit, types) or isinstance(limit, bool) or not limit > 0):
                raise PlanError(f"{field.name} must be a positive {noun}, got {limit!r}.", where="Budget(...)",
                                hint="Use for example Budget(rows=1_000_000).")

    def exceeded(self, rows: int, size_bytes: int, seconds: float) -> str | None:
        """Limit that such numbers exceed, in words; None if none."""
        if self.rows is not None and rows > self.rows:
            return f"it buffers {rows:,} rows, and its budget is {self.rows:,}"
        if self.bytes is not None and size_bytes > self.bytes:
            return f"it holds {size_bytes:,} bytes, and its budget is {self.bytes:,}"
        if self.seconds is not None and seconds > self.seconds:
            return f"it has used {seconds:.3g} seconds, and its budget is {self.seconds:g}"
        return None
