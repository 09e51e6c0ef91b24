"""Errors of aggregates, with their names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import pyarrow as pa

from whimbrel.errors import KernelError, WhimbrelError
from whimbrel.plan.aggregate import Aggregate
from whimbrel.plan.function_errors import StepFailed


class NamedAggregate(Protocol):
    """An aggregate with the name and the type of its result column."""

    name: str
    aggregate: Aggregate
    type: pa.DataType


class explained_errors:  # noqa: N801 - read as a statement; a class, since it is entered twice for every batch
    """Context manager that adds the name of the aggregate to errors.

    Parameters
    ----------
    measures : sequence of NamedAggregate
    read : callable, optional
        Reads the rows once more, which names an expression that left int64; without it a sum did.
    """

    __slots__ = ("measures", "read")

    def __init__(self, measures: Sequence[NamedAggregate], read: Callable[[], object] | None = None) -> None:
        self.measures, self.read = measures, read

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if not isinstance(error, Exception) or isinstance(error, WhimbrelError):
            return
        measures = self.measures
        if isinstance(error, StepFailed):
            raise _of_user(error, measures) from error.__cause__
        if isinstance(error, OverflowError):
            if self.read is not None:
                self.read()
            of_expression = str(error) == "integer overflow"  # then no sum has left int64
            if not of_expression and (checked := [each for each in measures if _is_checked(each)]):
                raise _overflow(checked) from error


def _of_user(error: StepFailed, measures: Sequence[NamedAggregate]) -> KernelError:
    own = ", ".join(f"{measure.name}={measure.aggregate.show()}" for measure in measures
                    if getattr(getattr(measure.aggregate, "functions", None), "name", None) == error.name)
    return KernelError(error.what, where=f"aggregate({own})", hint=error.hint)


def _is_checked(measure: NamedAggregate) -> bool:
    """Whether its value may leave int64, which is an error."""
    counted = measure.type == pa.int64() or pa.types.is_duration(measure.type)
    return measure.aggregate.name in ("sum", "sum_of_squares", "product") and counted


def _overflow(checked: Sequence[NamedAggregate]) -> KernelError:
    shown = ", ".join(f"{measure.name}={measure.aggregate.show()}" for measure in checked)
    names = " or ".join(sorted({measure.aggregate.name.replace("_", " ") for measure in checked}))
    where = f"aggregate({shown})"
    if any(pa.types.is_duration(measure.type) for measure in checked):
        return KernelError(f"A {names} of durations leaves int64.", where=where,
                           hint='Cast them to a coarser unit first, such as .cast(pa.duration("ms")).')
    return KernelError(f"An integer {names} leaves int64.", where=where,
                       hint="Use sum(..., widen=True), which is exact, or cast the column: .cast(float)."
                       if names == "sum" else "Cast the column to floats: .cast(float).")
