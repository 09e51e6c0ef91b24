"""Patterns: which of many conditions each row meets, as one number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from whimbrel.batch import Batch, Schema, frozen
from whimbrel.expr import predicate
from whimbrel.kernels import Compiled, IntegerKeys
from whimbrel.kernels.primitives.rows.value_classes import patterns_of_codes
from whimbrel.run.desk.sharing.value_classes import Classes, ColumnClasses, SplitCondition, classes_of, rows_of_bytes

Array = np.ndarray[Any, Any]

_patterns_of_codes = Compiled(patterns_of_codes)
_UNKNOWN = -2
_MAX_CODES = 1 << 20
_LOW = 0xFFFFFFFF


class ConditionPatterns:
    """Numbers the sets of conditions that rows meet; rows that meet none have -1.

    Comparisons of one column with constants are answered together by one search a row. Other parts of conditions are
    evaluated once for a batch. The work for a row therefore does not grow with the number of its comparisons.

    Parameters
    ----------
    conditions : sequence of SplitCondition
        Evaluating them must not fail.
    schema : Schema

    Notes
    -----
    Source: Krishnamurthy, Wu and Franklin, On-the-fly sharing for streamed aggregation (SIGMOD 2006); Cranor et al.,
    Gigascope (SIGMOD 2003).
    """

    def __init__(self, conditions: Sequence[SplitCondition], schema: Schema) -> None:
        found = classes_of(conditions, schema)
        self._direct: list[tuple[Classes, int, int]] = []
        self._rest: list[tuple[Classes, IntegerKeys]] = []
        codes = 1
        for classes in found:
            if classes.size is not None and codes * classes.size <= _MAX_CODES:
                self._direct.append((classes, codes, classes.size))
                codes *= classes.size
            else:
                self._rest.append((classes, IntegerKeys()))
        self._pattern_of = np.full(codes, _UNKNOWN, np.int64)
        self._all = np.packbits(np.ones(len(conditions), np.bool_), bitorder="little")
        self._numbers: dict[bytes, int] = {}
        self._table = np.zeros((16, len(self._all)), np.uint8)
        self._only = conditions[0].expr if len(conditions) == 1 else None
        alone = found[0] if len(found) == len(self._direct) == 1 else None
        self._by_number = alone.by_number if isinstance(alone, ColumnClasses) else None
        self._patterns_by_number: Array | None = None
        if self._only is not None:
            self._number(self._all[None])

    def __len__(self) -> int:
        """How many patterns have occurred."""
        return len(self._numbers)

    def with_condition(self, number: int) -> Array:
        """For each pattern that has occurred, whether its rows meet a condition."""
        return (self._table[: len(self), number >> 3] >> (number & 7) & 1).astype(np.bool_)

    @property
    def by_number(self) -> tuple[str, int, Array] | None:
        """The only column that conditions read, its first number with a pattern of its own, and patterns by number.

        The first pattern is that of smaller numbers, and the last one that of larger ones. None if other things are
        read, too, or the numbers are too far apart.
        """
        if self._by_number is None or self._only is not None:
            return None
        name, first, classes = self._by_number
        if self._patterns_by_number is None:
            self._patterns_by_number = frozen(self._pattern_of[classes])
        return name, first, self._patterns_by_number

    def of(self, batch: Batch) -> tuple[Array, int]:
        """The pattern of each row, and how many rows have one."""
        if self._only is not None:
            met = predicate(self._only, batch)
            return met.astype(np.int64) - 1, int(np.count_nonzero(met))
        codes = np.zeros(len(batch), np.int64)
        for classes, factor, _ in self._direct:
            classes.add(batch, factor, codes)
        for classes, pairs in self._rest:
            codes <<= 32
            classes.add(batch, 1, codes)
            codes = pairs.ids(frozen(codes)).astype(np.int64)
        if self._rest and (known := len(self._rest[-1][1])) > len(self._pattern_of):
            more = np.full(max(known, 2 * len(self._pattern_of)) - len(self._pattern_of), _UNKNOWN, np.int64)
            self._pattern_of = np.concatenate([self._pattern_of, more])
        patterns = np.empty(len(batch), np.int64)
        codes = frozen(codes)
        rows = int(_patterns_of_codes(codes, frozen(self._pattern_of), patterns))
        if rows < 0:
            self._learn(np.unique(codes[patterns == _UNKNOWN]))
            rows = int(_patterns_of_codes(codes, frozen(self._pattern_of), patterns))
        return patterns, rows

    def _learn(self, codes: Array) -> None:
        """Number the patterns of codes that occur for the first time."""
        met = np.tile(self._all, (len(codes), 1))
        left = codes
        for classes, pairs in reversed(self._rest):
            pair = pairs.keys[left]
            met &= classes.truth(pair & _LOW)
            left = pair >> 32
        for classes, factor, size in self._direct:
            met &= classes.truth(left // factor % size)
        self._patterns_by_number = None
        some = met.any(axis=1)
        self._pattern_of[codes[~some]] = -1
        self._pattern_of[codes[some]] = self._number(met[some])

    def _number(self, met: Array) -> list[int]:
        """The number of each row of bits."""
        numbers = [self._numbers.setdefault(row, len(self._numbers)) for row in rows_of_bytes(met)]
        if len(self) > len(self._table):
            more = np.zeros((max(len(self), 2 * len(self._table)) - len(self._table), met.shape[1]), np.uint8)
            self._table = np.concatenate([self._table, more])
        self._table[numbers] = met
        return numbers
