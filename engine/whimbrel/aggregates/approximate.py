"""Approximate distinct counts and quantiles (DataSketches)."""

from __future__ import annotations

import copy
import functools
import hashlib
import importlib.util
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from whimbrel.aggregates.mean import is_span_or_time
from whimbrel.aggregates.ordered_types import check_ordered
from whimbrel.aggregates.quantile import FINEST, check_numbers
from whimbrel.batch import Column
from whimbrel.errors import ExpressionError, MissingExtraError
from whimbrel.kernels.interpolation import as_float, between_floats, between_integers
from whimbrel.kernels.keys import encode_keys
from whimbrel.kernels.primitives.aggregation import multisets
from whimbrel.plan import Aggregate, Multiset, Sketch, SketchState

Array = np.ndarray[Any, Any]


def check_installed(where: str) -> None:
    """Check that the library is installed.

    The error says what to install.
    """
    if importlib.util.find_spec("datasketches") is None:
        raise MissingExtraError("datasketches", "sketches", where)


@dataclass(frozen=True, kw_only=True, eq=False)
class Approximate(Aggregate):
    """Common part of the approximate aggregates. With removal every value is kept, and the result is exact."""

    def notes(self, input_type: pa.DataType | None) -> Sequence[str]:
        return (f"{self.show()} has a small error in windows of many values",
                f"{self.show()} keeps the values of all active rows where rows leave one by one, and is exact there")


@dataclass(frozen=True, kw_only=True, eq=False)
class ApproximateCountDistinct(Approximate):
    """Approximate number of different values that are not null (HyperLogLog).

    It is exact while a window has fewer than 4096 values.

        time     0    5    10
        in       2────────         1 over [0, 10): both are 2
                      2────

    Parameters
    ----------
    precision : int
        From 7 to 21: 2**precision bytes a group; the standard error is about 1 / sqrt(2**precision), 1.6 % for 12.

    Notes
    -----
    Source: the HyperLogLog sketch of Apache DataSketches.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 5], "until": [10, 10], "x": [2, 2]}, time="at", end="until")
    >>> events.aggregate(v=wb.approx_count_distinct(wb.col.x)).collect()["v"].to_pylist()
    [1, 1]
    """

    name: ClassVar[str] = "approx_count_distinct"

    precision: int = 12

    @property
    def options(self) -> str:
        return f", {self.precision}"

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        check_ordered(self, input_type)
        return pa.int64()

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> Multiset | Sketch:
        if removable:
            return Multiset(multisets.DISTINCT)
        return Sketch(encode=fingerprints, exact=count_distinct_sorted, of_nothing=0,
                      new=functools.partial(DistinctSummary, self.precision), load=DistinctSummary.from_bytes)


@dataclass(frozen=True, kw_only=True, eq=False)
class ApproximateQuantile(Approximate):
    """Approximate quantile `q` of all numbers (t-digest).

    It is exact while a window has fewer than 4096 values.

        time     0    5    10
        in       2────────         for q = 0.5: 2.0 over [0, 5), 2.5 over [5, 10)
                      3────

    Parameters
    ----------
    q : float
        From 0 (the smallest) to 1 (the largest).
    k : int
        From 10 to 65,535: about so many means are kept a group, more densely towards both ends. With 500, the share of
        values below the answer is within 0.01 of `q`, and within 0.0001 for a `q` of 0.001 or 0.999.

    Notes
    -----
    As :class:`Quantile` with linear interpolation: nulls are left out, NaN is largest. Source: the t-digest of Apache
    DataSketches, given its values in one order whatever the order of arrival.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 5], "until": [10, 10], "x": [2, 3]}, time="at", end="until")
    >>> events.aggregate(v=wb.approx_quantile(wb.col.x, 0.5)).collect()["v"].to_pylist()
    [2.0, 2.5]
    """

    name: ClassVar[str] = "approx_quantile"

    q: float
    k: int = 500

    @property
    def options(self) -> str:
        return f", {self.q}{'' if self.k == 500 else f', k={self.k}'}"

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        if is_span_or_time(input_type) or pa.types.is_decimal(input_type):
            raise ExpressionError(f"approx_quantile needs numbers, got {input_type}.", where=self.show(),
                                  hint="Use quantile(...) for decimals, times and durations.")
        check_numbers(self, input_type)
        return pa.float64()

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> Multiset | Sketch:
        fraction = Fraction(self.q).limit_denominator(FINEST)
        if removable:
            return Multiset(multisets.BETWEEN, fraction.numerator, fraction.denominator)
        turned = pa.types.is_uint64(input_type)
        return Sketch(encode=numbers, exact=functools.partial(quantile_sorted, fraction, turned=turned),
                      of_nothing=None, new=functools.partial(QuantileSummary, self.q, self.k, turned=turned),
                      load=functools.partial(QuantileSummary.from_bytes, self.q, turned=turned))


class DistinctSummary(SketchState):
    """A HyperLogLog sketch of fingerprints."""

    def __init__(self, precision: int, sketch: Any = None) -> None:
        import datasketches

        self.sketch = datasketches.hll_sketch(precision) if sketch is None else sketch

    def add(self, values: Array) -> None:
        deque(map(self.sketch.update, np.unique(values).tolist()), maxlen=0)

    def result(self) -> float:
        return float(self.sketch.get_estimate())

    def merge(self, other: Self) -> None:
        import datasketches

        union = datasketches.hll_union(self.sketch.lg_config_k)
        union.update(self.sketch)
        union.update(other.sketch)
        self.sketch = union.get_result(datasketches.HLL_8)

    def fork(self) -> Self:
        return type(self)(0, type(self.sketch).deserialize(self.to_bytes()))

    def to_bytes(self) -> bytes:
        return bytes(self.sketch.serialize_updatable())

    @classmethod
    def from_bytes(cls, written: bytes) -> DistinctSummary:
        import datasketches

        return cls(0, datasketches.hll_sketch.deserialize(written))


_DIGEST_UNIT = 2.0**64
"""Numbers are kept in it, so that none times how many there are is more than any float; the smallest are rounded."""


class QuantileSummary(SketchState):
    """A t-digest of the finite numbers, and how many others there were: -inf, inf, NaN."""

    def __init__(self, q: float, k: int, digest: Any = None, others: Array | None = None, *,
                 turned: bool = False) -> None:
        import datasketches

        self.q, self.turned = q, turned
        self.digest = datasketches.tdigest_double(k) if digest is None else digest
        self.others = np.zeros(3, np.int64) if others is None else others

    def add(self, values: Array) -> None:
        values = values.astype(np.float64) + (2.0**63 if self.turned else 0.0)
        finite = np.isfinite(values)
        if not finite.all():
            found = [values == -np.inf, values == np.inf, np.isnan(values)]
            self.others = self.others + np.array([each.sum() for each in found])
        self.digest.update(values[finite] / _DIGEST_UNIT)
        self.digest.compress()  # always at the same rows, so that a restored one continues identically

    def result(self) -> float:
        lowest, highest, nans = self.others.tolist()
        inside = self.digest.get_total_weight()
        way = self.q * (lowest + inside + highest + nans - 1)
        if inside == 0 and lowest - 1 < way < lowest:  # from -inf to inf, or to NaN
            return np.nan
        if way < lowest:
            return -np.inf
        if way > lowest + inside - 1:
            return np.inf if way <= lowest + inside + highest - 1 else np.nan
        return float(self.digest.get_quantile((way - lowest) / max(inside - 1, 1))) * _DIGEST_UNIT + 0.0

    def merge(self, other: Self) -> None:
        self.digest.merge(other.digest)
        self.digest.compress()
        self.others = self.others + other.others

    def fork(self) -> Self:
        return type(self)(self.q, 0, copy.copy(self.digest), self.others, turned=self.turned)

    def to_bytes(self) -> bytes:
        return self.others.tobytes() + bytes(self.digest.serialize())

    @classmethod
    def from_bytes(cls, q: float, written: bytes, *, turned: bool = False) -> QuantileSummary:
        import datasketches

        return cls(q, 0, datasketches.tdigest_double.deserialize(written[24:]), np.frombuffer(written[:24], np.int64),
                   turned=turned)


def fingerprints(column: Column) -> Array:
    """Values as int64, the same in every process; of texts a hash, computed once for each word of a batch."""
    if column.fixed:
        return encode_keys(np.asarray(column.values))
    array: Any = column.values
    coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    words = coded.dictionary.cast(column.type).to_pylist()
    hashes = np.array([_fingerprint(word) for word in words] or [0], np.int64)
    codes = Column.from_arrow(coded.indices)
    return hashes[np.where(codes.validity(), codes.values, 0)]


def _fingerprint(word: Any) -> int:
    data = word if isinstance(word, bytes) else str(word).encode()
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little", signed=True)


def numbers(column: Column) -> Array:
    """Numbers as float64, integers as int64: unsigned ones of 64 bits less 2**63."""
    values = np.asarray(column.values)
    if values.dtype == np.uint64:
        return (values ^ np.uint64(1 << 63)).view(np.int64)
    return values.astype(np.float64 if values.dtype.kind == "f" else np.int64)


def count_distinct_sorted(values: Array, begin: Array, end: Array) -> Array:
    """How many different values each group has."""
    new = np.append(True, values[1:] != values[:-1])
    new[begin] = True
    before = np.append(0, np.cumsum(new))
    return before[end] - before[begin]


def quantile_sorted(fraction: Fraction, values: Array, begin: Array, end: Array, *, turned: bool = False) -> Array:
    """The linear quantile of each group of sorted values."""
    way = fraction.numerator * (end - begin - 1)
    index, rest = begin + way // fraction.denominator, way % fraction.denominator
    low, high = values[index], values[np.minimum(index + 1, end - 1)]
    if values.dtype.kind == "f":
        return between_floats(low, high, rest, fraction.denominator) + 0.0  # -0.0 becomes 0.0
    return as_float(*between_integers(low, high, rest, fraction.denominator), fraction.denominator, turned=turned)
