"""Aggregate states with many values: multisets and sketches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa

from whimbrel.batch import Column, numpy_type

ListSummary = Callable[[Column, np.ndarray[Any, Any]], Column]
"""From the values of lists, one list after another, and where each ends: one result a list."""


@dataclass(frozen=True, slots=True)
class Multiset:
    """Every value of a group is kept, in order, until its row leaves.

    Parameters
    ----------
    choice : int
        What is shown of the values; see :mod:`whimbrel.kernels.primitives.aggregation.multisets`.
    numerator, whole : int
        Its arguments: how many values are shown, or ``numerator / whole`` of the way through them.
    timed : bool
        Whether values are ordered by the start of their rows, and only then by themselves.
    largest : bool, optional
        Given for pairs of a value and what orders it, then by start, then by value: whether the largest comes first.
    summary : ListSummary, optional
        What makes the result of all values in order; without it the result is their list.
    """

    choice: int
    numerator: int = 0
    whole: int = 1
    timed: bool = False
    largest: bool | None = None
    summary: ListSummary | None = None


def is_ordered(type_: pa.DataType | None) -> bool:
    """Whether values of a type can be kept in a bag: there is a smaller and a larger, and equal ones are the same."""
    if type_ is None:
        return False
    return numpy_type(type_) is not None or any(holds(type_) for holds in (
        pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary,
        pa.types.is_fixed_size_binary, pa.types.is_decimal))


class SketchState(ABC):
    """What a sketch knows of the values it was given: less than the values, and never more than a bounded size."""

    @abstractmethod
    def add(self, values: np.ndarray[Any, Any]) -> None:
        """Take in values, in this order."""

    @abstractmethod
    def result(self) -> Any:
        """The result for all values that were added; there was at least one."""

    @abstractmethod
    def merge(self, other: Self) -> None:
        """Take in what another one, of the same parameters, was given."""

    @abstractmethod
    def fork(self) -> Self:
        """An independent copy."""

    @abstractmethod
    def to_bytes(self) -> bytes:
        """For a checkpoint, or for another place that merges it."""


@dataclass(frozen=True, slots=True)
class Sketch:
    """Values are stored until there are many, then summarized with a bounded error. No row can be removed.

    Parameters
    ----------
    encode : callable
        A column -> one int64 or float64 a row, which is what is summed up.
    exact : callable
        (values ordered by group and value, where each group begins, where it ends) -> result of each group, none empty:
        the answer while values are few.
    new : callable
        The summary of no values.
    load : callable
        The summary that :meth:`SketchState.to_bytes` wrote.
    of_nothing : float or None
        Result of no values.
    """

    encode: Callable[[Column], np.ndarray[Any, Any]]
    exact: Callable[[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]], np.ndarray[Any, Any]]
    new: Callable[[], SketchState]
    load: Callable[[bytes], SketchState]
    of_nothing: float | None


class FrequencyState(SketchState):
    """Counters of values, by number. A result is numbers, their counts, and by how much these may be too small."""

    @abstractmethod
    def renamed(self, numbers: np.ndarray[Any, Any]) -> Self:
        """The same, with new numbers for the old ones."""


@dataclass(frozen=True, slots=True)
class Frequencies:
    """Values are stored until there are many, then counted with a bounded number of counters. No row can be removed.

    Parameters
    ----------
    new, load : callable
        As those of a :class:`Sketch`.
    choose : callable
        (counts, the number of the list of each, how many lists) -> positions of those that are shown, and how many
        these are of each list.
    join : callable
        (values, counts, errors, how long each list is) -> the column of results.
    """

    new: Callable[[], FrequencyState]
    load: Callable[[bytes], FrequencyState]
    choose: Callable[..., tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]
    join: Callable[..., Column]


@dataclass(frozen=True, slots=True)
class Objects:
    """Keep states as Python values, and accumulate rows one by one with a user's functions.

    Parameters
    ----------
    init : callable
        A new state of no rows.
    accumulate : callable
        (state, value, ...) -> state with one row more. Values arrive as Python has them: int, float, bool, str, ...
    result : callable
        state -> a value that the result type holds, or None.
    merge : callable or None
        (state, state) -> state of both sets of rows; None when parts cannot be combined.
    remove : callable or None
        (state, value, ...) -> state with one row less; None: a group that lost rows is computed again.
    save, load : callable
        A state -> text, and back.
    save_row, load_row : callable
        The values of a row -> text, and back.
    copied : callable
        A state that can be changed, and the given one stays as it is.
    timed : bool
        Whether the start of the row, in ticks, follows the values.
    spans : bool
        Whether the start and the end of the part of the event inside the window follow the values.
    in_order : bool
        Whether rows must be accumulated in the order of their start, before any window rounded it.
    """

    init: Callable[[], Any]
    accumulate: Callable[..., Any]
    result: Callable[[Any], Any]
    merge: Callable[[Any, Any], Any] | None
    remove: Callable[..., Any] | None
    save: Callable[[Any], str]
    load: Callable[[str], Any]
    save_row: Callable[[tuple[Any, ...]], str]
    load_row: Callable[[str], tuple[Any, ...]]
    copied: Callable[[Any], Any]
    timed: bool = False
    spans: bool = False
    in_order: bool = False
