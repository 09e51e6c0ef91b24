"""Type rules of functions of segments."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pyarrow as pa
from pyarrow import types as t

from whimbrel.batch import COMPLEX64, COMPLEX128, SegmentType
from whimbrel.clock import duration_ticks, ticks_per_second
from whimbrel.errors import ExpressionError, WhimbrelError
from whimbrel.expr.nodes import Call, Expr
from whimbrel.expr.segment_functions_scipy import check_wavelet, check_window
from whimbrel.expr.type_predicates import is_number

INT, FLOAT = pa.int64(), pa.float64()

_OF_NUMBERS = frozenset(("sum", "mean", "std", "rms", "energy", "kurtosis", "crest", "min", "max", "argmin", "argmax",
                         "crossings", "at", "rfft", "psd", "band", "wavelet", "envelope", "lag", "correlate"))


def segment_call_type(expr: Call, args: Sequence[tuple[Expr, pa.DataType]]) -> pa.DataType:
    """The type of a function's result, after checking what it is called on."""
    name = expr.function.removeprefix("seg.")
    types = _segments(expr, name, args)
    first = types[0]
    if name in _OF_NUMBERS and not is_number(first.samples):
        raise ExpressionError(f"{name} needs samples that are numbers, not {first}.", where=expr.show(),
                              hint="Cast the samples before rewindow().")
    floats = pa.float32() if t.is_float32(first.samples) else FLOAT
    match name:
        case "length" | "missing" | "argmin" | "argmax" | "crossings":
            return INT
        case "sum":
            return INT if t.is_integer(first.samples) else FLOAT
        case "mean" | "std" | "rms" | "energy" | "kurtosis" | "crest" | "correlate":
            return FLOAT
        case "lag":
            lag_limit(expr, first)
            return FLOAT
        case "min" | "max" | "at":
            return first.samples
        case "slice" | "since":
            return first
        case "majority":
            if not t.is_integer(first.samples):
                raise ExpressionError(f"majority needs samples that are integers, not {first}.", where=expr.show(),
                                      hint="Cast the samples before rewindow().")
            return first
        case "rfft":
            return pa.list_(COMPLEX64 if t.is_float32(floats) else COMPLEX128)
        case "psd":
            check_window(expr.options[0], expr.show())
            return pa.list_(floats)
        case "band":
            _check_band(expr, first)
            return FLOAT
        case "wavelet":
            check_wavelet(expr.options[0], expr.show())
            return first.of(floats, 2 ** expr.options[1])
        case "envelope":
            return first.of(floats)
        case "apply":
            return expr.options[0].returns
        case _:
            raise ExpressionError(f"There is no function {expr.function!r}.", where=expr.show())


def _segments(expr: Call, name: str, args: Sequence[tuple[Expr, pa.DataType]]) -> list[SegmentType]:
    """The types of the segments among the arguments; positions must be integers."""
    whole = name in ("lag", "correlate", "majority", "apply")
    for number, (part, type_) in enumerate(args):
        if (number == 0 or whole) and not isinstance(type_, SegmentType):
            raise ExpressionError(f"{name} needs a segment, got {part.show()} of type {type_}.", where=expr.show(),
                                  hint="Make segments with rewindow() or sync().")
        if number and not whole and not t.is_integer(type_):
            raise ExpressionError(f"{name} needs integer positions, got {part.show()} of type {type_}.",
                                  where=expr.show(), hint="Use numbers such as those of argmin().")
    types: list[Any] = [type_ for _, type_ in args if isinstance(type_, SegmentType)]
    for other in types[1:]:
        if whole and name != "apply" and other.timing != types[0].timing:
            raise ExpressionError(f"{name} needs segments of one timebase, got {types[0]} and {other}.",
                                  where=expr.show(), hint="Bring the signals to one rate first with resample().")
        if name == "majority" and other.samples != types[0].samples:
            raise ExpressionError(f"majority needs samples of one type, got {types[0]} and {other}.",
                                  where=expr.show(), hint="Cast the samples before rewindow().")
    return types


def sample_rate(type_: SegmentType) -> float:
    """Samples per second; without a time unit per tick."""
    return float((ticks_per_second(type_.unit) or 1) / type_.period)


def lag_limit(expr: Call, type_: SegmentType) -> int | None:
    """The most samples between two signals."""
    limit = expr.options[0]
    if limit is None:
        return None
    try:
        ticks = duration_ticks(limit, type_.unit, where=expr.show())
    except WhimbrelError as error:
        raise ExpressionError(error.what, where=expr.show(), hint=error.hint) from None
    samples = int(Fraction(ticks) / type_.period)
    if samples < 1:
        raise ExpressionError(f"limit must be at least one sample, got {limit!r}.", where=expr.show(),
                              hint="Use a longer limit.")
    return samples


def _check_band(expr: Call, type_: SegmentType) -> None:
    check_window(expr.options[2], expr.show())
    low, highest = expr.options[0], sample_rate(type_) / 2
    if low > highest:
        raise ExpressionError(f"The highest frequency of {type_} is {highest:g}, got a band from {low:g}.",
                              where=expr.show(), hint="Use a lower band.")
