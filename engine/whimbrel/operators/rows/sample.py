"""Sample keys by hash, with all their events."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Schema
from whimbrel.errors import PlanError
from whimbrel.expr import Expr, Keys, can_be_key, columns_of, evaluate, named_columns, type_of
from whimbrel.kernels import Kernel, Stateless
from whimbrel.kernels.keys import encode_keys
from whimbrel.plan import KnownInput, LineageRequest, Operator, Properties, Reach, fluent, reads_exactly

Array = np.ndarray[Any, Any]

_WORD = 2**64 - 1


@dataclass(frozen=True, kw_only=True, eq=False)
class SampleKeys(Operator):
    """Keep the events of a fraction of all keys.

    Every run keeps the same keys. Lifetimes do not change.

        time     0    5    10
        in       a    b    a
        out      a         a          (of the keys a and b, a is in the sample)

    Parameters
    ----------
    fraction : float
        From 0 (none) to 1 (all).
    columns : tuple of (str, Expr)
        The key. Events with equal keys are all in the sample, or all out of it.
    seed : int
        Another seed gives another sample.

    Notes
    -----
    A key is in the sample when the hash of the key and the seed is below the fraction. The keys of a smaller fraction
    are therefore a subset of those of a larger one. Null is a key like any other. Shapes: at most as many rows out as
    in, columns unchanged. State: none. Source: SplitMix64 (Steele, Lea and Flood 2014) for the hash of numbers, BLAKE2
    for strings.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 5, 10], "plane": ["a", "b", "a"]}, time="at")
    >>> events.sample(0.5, "plane", seed=6).collect()["plane"].to_pylist()
    ['a', 'a']
    """

    accepts_edges: ClassVar[bool] = True
    row_by_row: ClassVar[bool] = True

    fraction: float
    columns: Keys
    seed: int = 0

    def schema(self, *upstream: Schema) -> Schema:
        for name, expr in self.columns:
            type_ = type_of(expr, upstream[0], where=self.show())
            if not can_be_key(type_):
                raise PlanError(f"A key must be a number, a string, a time or a boolean, got {name} of type {type_}.",
                                where=self.show(),
                                hint="Sample by another column, or cast this one.")
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        return replace(upstream[0], packed=False, apart=upstream[0].no_period(),
                       sampling=upstream[0].with_missing_samples())

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted.union(*(columns_of(expr) for _, expr in self.columns)),)

    def reach(self, *inputs: Reach) -> Reach | None:
        return inputs[0]

    def partitioned(self, *by: str) -> str | None:
        return by[0]

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        return (wanted.same(reads_exactly(self)),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return SampleKernel(self.fraction, tuple(expr for _, expr in self.columns), self.seed)

    def show(self) -> str:
        key = ", ".join(expr.show() for _, expr in self.columns)
        return f"sample({self.fraction}, {key}{f', seed={self.seed}' if self.seed else ''})"


@fluent
def sample(schema: Schema, fraction: float, *columns: str | Expr, seed: int = 0, keys: Keys = ()) -> SampleKeys:
    """Keep the events of a fraction of all keys. See :class:`whimbrel.operators.SampleKeys`.

    Parameters
    ----------
    fraction : float
        From 0 (none) to 1 (all).
    *columns : str or Expr
        The key. Default: that of ``group_by``.
    seed : int
        Another seed gives another sample.
    """
    if not isinstance(fraction, Real) or not 0 <= fraction <= 1:
        raise PlanError(f"fraction must be between 0 and 1, got {fraction!r}.", where=f"sample({fraction!r})",
                        hint="Use a fraction, such as sample(0.1, ...).")
    chosen = named_columns("sample", columns, {}) or keys
    if not chosen:
        raise PlanError("sample() needs a key.", where="sample()",
                        hint='Add a key, such as sample(0.1, "plane") for a tenth of all planes.')
    return SampleKeys(fraction=float(fraction), columns=chosen, seed=seed)


class SampleKernel(Stateless):
    """Hashes the key of each row and marks rows as absent whose hash is too large."""

    def __init__(self, fraction: float, key: tuple[Expr, ...], seed: int) -> None:
        self.fraction = fraction
        self.key = key
        self.seed = seed & _WORD

    def apply(self, batch: Batch) -> Batch:
        hashes = mix_bits(np.full(len(batch), self.seed, np.uint64))
        for expr in self.key:
            column = evaluate(expr, batch)
            valid = column.validity()
            hashes = mix_bits(hashes ^ np.where(valid, _numbers(column), np.uint64(0)))
            hashes = mix_bits(hashes ^ valid.astype(np.uint64))
        kept = (hashes >> np.uint64(11)).astype(np.float64) * 2.0**-53 < self.fraction
        return batch.with_absent(~kept).compact()


def _numbers(column: Column) -> Array:
    """One number for each value; of a text its hash, computed once for each word of a batch."""
    if column.fixed:
        return encode_keys(np.asarray(column.values)).view(np.uint64)
    array: Any = column.values
    coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    words = [_hashed(word) for word in coded.dictionary.to_pylist()]
    codes = Column.from_arrow(coded.indices)
    return np.array([*words, 0], np.uint64)[np.where(codes.validity(), codes.values, -1)]


def _hashed(word: Any) -> int:
    data = word if isinstance(word, bytes) else str(word).encode()
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def mix_bits(numbers: Array) -> Array:
    """Mix 64-bit numbers: every bit of a result depends on every bit of its number (SplitMix64)."""
    numbers = numbers + np.uint64(0x9E3779B97F4A7C15)
    numbers = (numbers ^ numbers >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ numbers >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return numbers ^ numbers >> np.uint64(31)
