"""A figure without a peer."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Figure:
    """One figure with its limit, or with what to compare it with."""

    workload: str
    case: str
    metric: str
    value: float
    limit: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.workload:<12}{self.case:<34}{self.value:9.1f} {self.metric:<10}{self.limit}"
