"""Filters with a finite impulse response: ``wb.fir``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from fractions import Fraction
from numbers import Real
from typing import Any, Literal, cast

import numpy as np

from whimbrel.clock import Duration, Rate, duration_ticks, sample_period
from whimbrel.errors import PlanError
from whimbrel.expr import Expr, trace
from whimbrel.expr.temporal_nodes import Fir
from whimbrel.operators import FirFilter, PolyphaseResample
from whimbrel.plan import Node
from whimbrel.stream.temporal_checks import check_sampling

_HINT = "Use the coefficients of a filter, such as those of scipy.signal.firwin."


def fir(value: Expr | Callable[[Any], Any], taps: Iterable[float], *, align: Literal["causal", "center"] = "causal",
        settle: int | None = None, nan: Literal["gap", "keep"] = "gap") -> Expr:
    """Filter samples with a finite impulse response.

    ``y[n] = taps[0]*x[n] + taps[1]*x[n-1] + ...``, as ``scipy.signal.lfilter(taps, 1, x)``.

        time     0    5    10   15   20
        in       1────3────5────7────9─
        causal   ∅────2────4────6────8─     (taps 1/2 and 1/2)

    It stands in ``select``, ``with_columns``, ``where`` and ``over_time`` of samples, as ``assume(rate=...)`` declares
    them. After ``group_by`` it is per key. The filter begins again after a missing sample, a null and NaN.

    A causal filter delays the signal: a symmetric one by half its length. With ``align="center"`` the result stands at
    the middle of the samples that it is made of. It is then not causal: live, it comes that much later.

    More than 64 taps run as FFTs of blocks, which needs SciPy. Blocks begin at multiples of their length, counted from
    sample 0, so results do not depend on batches. A live result waits until its block is complete.

    Parameters
    ----------
    value : Expr or callable
        Numbers.
    taps : sequence of float
        The impulse response.
    align : {"causal", "center"}
        Where a result stands: at the newest of its samples, or at the middle one. "center" needs an odd number of taps.
    settle : int, optional
        Number of results to make null each time that the filter begins. The default is all that lack a sample. With
        fewer, missing samples count as 0.
    nan : {"gap", "keep"}
        Whether NaN counts as a missing sample, or is a value.

    Examples
    --------
    >>> import whimbrel as wb
    >>> from whimbrel import col
    >>> signal = wb.from_arrow({"at": [0, 5, 10, 15], "x": [1, 3, 5, 7]}, time="at").assume(periodic=5)
    >>> signal.select(y=wb.fir(col.x, [0.5, 0.5])).collect()["y"].to_pylist()
    [None, 2.0, 4.0, 6.0]
    >>> signal.select(y=wb.fir(col.x, [1, 0, -1], align="center")).collect()["y"].to_pylist()
    [None, 4.0, 4.0, None]
    """
    of = trace(value, where="fir()")
    where = f"fir({of.show()})"
    numbers = coefficients("taps", taps, where=where, hint=_HINT)
    check_option("align", align, ("causal", "center"), where=where)
    check_option("nan", nan, ("gap", "keep"), where=where)
    if settle is not None:
        check_settle(settle, where=where)
    if align == "center" and len(numbers) % 2 == 0:
        raise PlanError(f'align="center" needs an odd number of taps, got {len(numbers)}.', where=where,
                        hint='Add a tap, or use align="causal".')
    if align == "center" and settle is not None:
        raise PlanError('align="center" takes no settle=: results that lack a sample are null.', where=where,
                        hint="Remove settle=.")
    if nan == "keep" and len(numbers) > 64:
        raise PlanError('nan="keep" needs at most 64 taps: an FFT spreads NaN over its block.', where=where,
                        hint="Remove nan=.")
    return Fir(of, numbers, align, settle, nan)


def with_fir(node: Node, keys: Sequence[str], part: Fir, of: Expr, name: str) -> Node:
    """A stream with a column for a filter.

    Raises
    ------
    PlanError
        If the events are not samples.
    """
    sampling, text = node.properties.sampling, part.show()
    if sampling is None:
        raise PlanError("fir() needs samples, but the distance of these events is not known.", where=text,
                        hint="Add assume(rate=...), with gaps=True if samples may be missing.")
    check_sampling(sampling, text)
    settle = len(part.taps) - 1 if part.settle is None else part.settle
    return Node(FirFilter(name=name, expr=of, taps=part.taps, align=part.align, settle=settle, nan=part.nan,
                          sampling=sampling, keys=tuple(keys), text=text), (node,))


def coefficients(name: str, given: Iterable[float], *, where: str,
                 hint: str = "Use the coefficients of a filter, such as those of scipy.signal.butter.",
                 ) -> tuple[float, ...]:
    """Coefficients as floats."""
    try:
        found = tuple(given)
    except TypeError:
        found = ()
    if not found or not all(
            isinstance(each, Real) and not isinstance(each, bool) and math.isfinite(each) for each in found):
        raise PlanError(f"{name} must be finite numbers, at least one, got {list(found)[:8]}.", where=where, hint=hint)
    return tuple(map(float, found))


def check_option(name: str, given: object, choices: Sequence[str], *, where: str) -> None:
    """Refuse an option that is not among its choices."""
    if given not in choices:
        raise PlanError(f"{name} must be one of {', '.join(map(repr, choices))}, got {given!r}.", where=where,
                        hint=f"Use {name}={choices[0]!r}.")


def check_settle(settle: object, *, where: str) -> None:
    """Refuse a number of samples that is none."""
    if not isinstance(settle, int) or isinstance(settle, bool) or settle < 0:
        raise PlanError(f"settle must be a number of samples, at least 0, got {settle!r}.", where=where,
                        hint="Use settle=100.")


def polyphase(node: Node, keys: Sequence[str], given: Duration | Rate, limit: Duration | None,
              offset: Duration | None, where: str) -> Node:
    """Samples at another rate, or at another period."""
    sampling, unit = node.properties.sampling, node.schema.unit
    if sampling is None:
        raise PlanError('how="polyphase" needs samples, but the distance of these events is not known.', where=where,
                        hint='Add assume(rate=...), or use how="linear".')
    check_sampling(sampling, where)
    if limit is not None or offset is not None:
        raise PlanError('how="polyphase" takes no limit= and no offset=: sample 0 keeps its time.', where=where,
                        hint="Remove the option.")
    is_duration = "/" not in given if isinstance(given, str) else isinstance(given, timedelta | np.timedelta64)
    if is_duration or (unit is None and isinstance(given, int)):
        period = Fraction(duration_ticks(cast("Duration", given), unit, where=where))
        if period <= 0:
            raise PlanError(f"period must be positive, got {given!r}.", where=where, hint='Use a period such as "5ms".')
    else:
        period = sample_period(cast("Rate", given), unit, where=where)
    names = tuple(keys) or tuple(sorted(sampling.per))
    return Node(PolyphaseResample(period=period, sampling=sampling, keys=names, unit=unit), (node,))
