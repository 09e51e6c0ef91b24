"""Accumulator with counters of the most frequent values per group."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from whimbrel.batch import Batch, Column, Schema, Storage, numpy_type
from whimbrel.kernels.state import restored
from whimbrel.operators.aggregation.accumulator import Remembered
from whimbrel.operators.aggregation.multiset_values import FixedValues, WordValues
from whimbrel.operators.aggregation.operation_log import OperationLog, Outs
from whimbrel.operators.aggregation.sketch_accumulator import SketchAccumulator
from whimbrel.plan import Aggregate, Frequencies, FrequencyState, SketchState
from whimbrel.plan.typed_aggregate import Inputs

Array = np.ndarray[Any, Any]


class FrequencyAccumulator(SketchAccumulator):
    """Buffered values, and counters of the most frequent ones of groups with many values.

    A result is the number of a list; the lists are those of the last replay.

    Parameters
    ----------
    name : str
        The result column.
    aggregate : Aggregate
    frequencies : Frequencies
    schema : Schema
        Of the input.
    """

    def __init__(self, name: str, aggregate: Aggregate, frequencies: Frequencies, schema: Schema) -> None:
        super().__init__(name, aggregate, frequencies, schema)
        self.values: FixedValues | WordValues = (
            WordValues(self.input_type) if numpy_type(self.input_type) is None else FixedValues(self.input_type))
        self.frequencies = frequencies
        self.lists: list[tuple[Array, Array, Array, Array]] = []
        """Values, counts and errors of lists, and how long each is."""
        self.known = 1
        """So many lists; the first one is empty."""

    @property
    def of_nothing(self) -> float:
        return 0.0

    def read(self, batch: Batch) -> Inputs:
        if isinstance(self.values, WordValues) and len(self.values) > self.values.limit:
            self._forget_words(self.values)
        return super().read(batch)

    def encoded(self, column: Column) -> Array:
        return self.values.encode(column)

    def ranks(self, values: Array) -> Array:
        return self.values.rank[values] if isinstance(self.values, WordValues) else values

    def of_ranks(self, ranks: Array) -> Array:
        return self.values.by_rank[ranks] if isinstance(self.values, WordValues) else ranks

    def exact(self, ranks: Array, begin: Array, end: Array) -> Array:
        sizes = end - begin
        groups = np.repeat(np.arange(len(sizes)), sizes)
        mine = ranks[np.repeat(begin, sizes) + np.arange(len(groups)) - np.repeat(np.cumsum(sizes) - sizes, sizes)]
        first = np.flatnonzero(np.append(True, (mine[1:] != mine[:-1]) | (groups[1:] != groups[:-1]))[: len(mine)])
        counts = np.diff(np.append(first, len(mine)))
        chosen, lengths = self.frequencies.choose(counts, groups[first], len(sizes))
        return self._numbered(self.of_ranks(mine[first[chosen]]), counts[chosen], np.zeros(len(chosen), np.int64),
                              lengths)

    def answer(self, summary: SketchState) -> float:
        keys, counts, error = summary.result()
        order = np.argsort(self.ranks(keys))
        keys, counts = keys[order], counts[order]
        chosen, lengths = self.frequencies.choose(counts, np.zeros(len(counts), np.int64), 1)
        number, = self._numbered(keys[chosen], counts[chosen], np.full(len(chosen), error), lengths)
        return float(number)

    def apply(self, schedule: OperationLog, inputs: Inputs, remembered: Remembered, outs: Outs, first: int = 0) -> None:
        self.lists, self.known = [], 1
        super().apply(schedule, inputs, remembered, outs, first)

    def columns(self, outs: Outs, rows: int, storage: Storage | None = None) -> list[Column]:
        numbers = outs[0][:rows].astype(np.int64)
        keys, counts, errors, lengths = (np.concatenate(parts) for parts in zip(_EMPTY, *self.lists, strict=True))
        first, sizes = (np.cumsum(lengths) - lengths)[numbers], lengths[numbers]
        taken = np.repeat(first - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
        return [self.frequencies.join(self.values.decode(keys[taken]), counts[taken], errors[taken], sizes)]

    def fork(self) -> Self:
        clone = super().fork()
        clone.values, clone.lists = self.values.fork(), list(self.lists)
        return clone

    def state_parts(self) -> dict[str, Any]:
        return {**super().state_parts(), "values": self.values}

    def restore_state(self, parts: dict[str, Any]) -> None:
        self.values = restored(self.values, parts["values"])
        super().restore_state(parts)

    def _numbered(self, keys: Array, counts: Array, errors: Array, lengths: Array) -> Array:
        """Numbers of lists that are added."""
        self.lists.append((keys, counts, errors, lengths))
        self.known += len(lengths)
        return np.arange(self.known - len(lengths), self.known)

    def _forget_words(self, words: WordValues) -> None:
        """Keep only the words that wait or have a counter."""
        counted = [summary.result()[0] for summary in self.summaries.values()]
        waiting = [value for _, _, _, value in self.pending]
        moved = words.keep_only(np.unique(np.concatenate([*counted, *waiting, np.empty(0, np.int64)])))
        self.pending = [(*part, moved[value]) for *part, value in self.pending]
        for group, summary in self.summaries.items():
            assert isinstance(summary, FrequencyState)
            self.summaries[group] = summary.renamed(moved)


_EMPTY = (*[np.empty(0, np.int64)] * 3, np.zeros(1, np.int64))
