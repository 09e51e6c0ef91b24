"""Compare the values of two rows of an estimate, with a confidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from whimbrel.errors import PlanError
from whimbrel.progressive.estimation.block_sample import BlockSample

Array = np.ndarray[Any, Any]

_MAX_CONFIDENCE = 0.9999
_MIN_ALPHA = 1e-4


class NoSuchRowError(PlanError):
    """No row with these keys was read."""


class SeveralRowsError(PlanError):
    """Several rows have these keys."""


@dataclass(frozen=True)
class Comparison:
    """Comparison of the values of two rows.

    It says which row has the larger value.

    Attributes
    ----------
    value : str
    left, right : mapping
        The keys of the rows.
    difference : float
        The left value minus the right one, as estimated; NaN if a row is missing.
    confidence : float
        Of the sign of the difference, valid at every update; 1 if both values are exact.
    """

    value: str
    left: Mapping[str, Any]
    right: Mapping[str, Any]
    difference: float
    confidence: float

    @property
    def summary(self) -> str:
        """Summary, such as ``JFK > LGA, 97%``."""
        there = not math.isnan(self.difference)
        sign = "?" if not there else ">" if self.difference > 0 else "<" if self.difference < 0 else "="
        if self.confidence == 1:
            sure = "exactly" if there else "no such value"
        elif self.confidence > 0.99:
            sure = f"{self.confidence:.2%}"
        else:
            sure = f"{self.confidence:.0%}" if self.confidence >= 0.5 else "undecided"
        return f"{_name(self.left)} {sign} {_name(self.right)} ({self.value}), {sure}"

    def __repr__(self) -> str:
        return self.summary

    def unknown(self, *, certain: bool = False) -> Comparison:
        """The same comparison, undecided; or certainly without such a row."""
        return replace(self, difference=math.nan, confidence=float(certain))


@dataclass(frozen=True)
class Verdict:
    """A claim and its state: holds, undecided or overturned.

    Attributes
    ----------
    claim, now : Comparison
        As it was when it was added, and now.
    """

    claim: Comparison
    now: Comparison

    @property
    def holds(self) -> bool:
        """True unless the claim is overturned.

        The difference has the same sign as in the claim, or is undecided.
        """
        unknown = math.isnan(self.now.difference) and self.now.confidence < 1
        return unknown or bool(np.sign(self.claim.difference) == np.sign(self.now.difference))

    @property
    def summary(self) -> str:
        """The claim, and its state: holds, undecided or overturned."""
        found = "holds" if not math.isnan(self.now.difference) else "undecided"
        return f"{self.claim.summary}: {found if self.holds else f'overturned, {self.now.summary}'}"

    def __repr__(self) -> str:
        return self.summary


def compared(sample: BlockSample, name: str, value: int, left: Mapping[str, Any], right: Mapping[str, Any], *,
             numbers: Array, whole: Array | None, exact: Array,
             ends: Callable[[float], tuple[Array, Array]]) -> Comparison:
    """Compare a value of two rows: each of the two intervals has half of alpha.

    `numbers` and `ends` are by value and row of the sample, `exact` and `whole` by row. `whole` has the value itself if
    it is an integer, because floats cannot distinguish large integers.
    """
    for row in (left, right):
        if not isinstance(row, Mapping):
            raise PlanError(f"A row must be a mapping of keys to values, got {row!r}.", where="compare(...)",
                            hint='Name the keys, as in compare({"k": "a"}, {"k": "b"}).')
    left, right = ({name: key.item() if isinstance(key, np.generic) else key for name, key in row.items()}
                   for row in (left, right))
    places = [_find(sample, row) for row in (left, right)]
    difference = float(numbers[value, places[0]] - numbers[value, places[1]])
    if bool(exact[places].all()):
        if whole is not None and not math.isnan(difference):
            difference = float(int(whole[places[0]]) - int(whole[places[1]]))
        return Comparison(name, left, right, difference, 1.0)
    low, high = _MIN_ALPHA, 1.0  # bisection for the smallest alpha whose intervals do not overlap
    if difference == 0 or not sample.two_ended[value]:
        return Comparison(name, left, right, difference, 0.0)

    def apart(alpha: float) -> bool:
        low, high = (end[value, places] for end in ends(alpha / 2))
        return bool(low[0] > high[1] if difference > 0 else low[1] > high[0])

    if not apart(0.999):
        return Comparison(name, left, right, difference, 0.0)
    if apart(_MIN_ALPHA):
        return Comparison(name, left, right, difference, _MAX_CONFIDENCE)
    for _ in range(12):
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if apart(middle) else (middle, high)
    return Comparison(name, left, right, difference, max(0.0, 1 - high))


def _find(sample: BlockSample, row: Mapping[str, Any]) -> int:
    batch = sample.values.answer
    found = np.ones(len(batch), np.bool_)
    names = [field.name for field in sample.split.key_fields]
    where = f"compare({dict(row)!r})"
    for name, wanted in row.items():
        if name == "start":
            found &= sample.state.starts == wanted
        elif name in names:
            found &= np.array([value == wanted for value in batch.column(name).to_arrow().to_pylist()], np.bool_)
        else:
            raise PlanError(f"There is no key {name!r}.", where=where,
                            hint=f"Use {', '.join([*names, 'start (in ticks)'])}.")
    places = np.flatnonzero(found)
    if len(places) > 1:
        raise SeveralRowsError(f"{dict(row)!r} matches {len(places)} rows, not one.", where=where,
                               hint="Give every key, and start if there are several windows.")
    if not len(places):
        raise NoSuchRowError(f"{dict(row)!r} matches no row that was read.", where=where,
                             hint=_of_another_type(sample, row) or "Read on, or correct the keys.")
    return int(places[0])


def _of_another_type(sample: BlockSample, row: Mapping[str, Any]) -> str:
    """A hint that names the keys of a wrong type; empty if there are none."""
    batch = sample.values.answer
    columns = {"start": sample.state.keys[0], **{name: batch.column(name) for name in row if name != "start"}}
    kinds = {name: {type(key) for key in columns[name].to_arrow().to_pylist()} for name in row}
    wrong = "; ".join(f"{name} is {columns[name].type}, and {key!r} is {type(key).__name__}"
                      for name, key in row.items() if key is not None and type(key) not in kinds[name])
    return wrong and f"Use the types of the keys: {wrong}."


def _name(row: Mapping[str, Any]) -> str:
    return ", ".join(str(value) for value in row.values())
