"""Largest and median relative error of an estimate."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan
from typing import Final

import numpy as np

from whimbrel.progressive import Estimate
from whimbrel_workbench.frames.arrow_values import floats
from whimbrel_workbench.frames.estimate_quality import Ends

Bounds = Mapping[str, tuple[float, float, int]]
"""By value, of the estimates with a relative error below 100%: the largest error, the median error of those that are
not exact, and how many there are."""

UNKNOWN: Final = (nan, nan, 0)


def bounds_of(answer: Estimate) -> Bounds:
    """The bounds of every value of an answer that can have intervals."""
    table = answer.table.slice(answer.settled)
    found = {}
    for name in answer.table.column_names:
        if f"{name}_low" not in table.column_names or not answer.bounded(name):
            continue
        now, low, high = (floats(table.column(each)) for each in (name, f"{name}_low", f"{name}_high"))
        with np.errstate(divide="ignore", invalid="ignore"):
            away = np.maximum(high - now, now - low)
            share = np.where(away == 0, 0.0, away / np.abs(now))
        known = share[share < 1]
        half = float(np.median(known[known > 0])) if known.any() else 0.0
        found[name] = (float(known.max()), half, len(known)) if len(known) else UNKNOWN
    return found


def ends_of(answer: Estimate, value: str) -> Ends:
    """Which ends of intervals are known of a value, or will be."""
    if answer.bounded(value):
        return "both"
    table = answer.table.slice(answer.settled)
    there = [f"{value}_{end}" in table.column_names and table.column(f"{value}_{end}").null_count < len(table)
             for end in ("low", "high")]
    return "low" if there[0] else "high" if there[1] else "none"
