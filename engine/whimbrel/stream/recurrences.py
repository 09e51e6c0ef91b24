"""Values that each event computes from the one before it: ``wb.ema``, ``wb.iir``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, Literal

from whimbrel.clock import Duration
from whimbrel.errors import PlanError
from whimbrel.expr import Expr, trace
from whimbrel.expr.temporal_nodes import Ema, Iir
from whimbrel.stream.sample_filters import check_option, check_settle, coefficients

Value = Expr | Callable[[Any], Any]


def ema(value: Value, *, halflife: Duration | None = None, alpha: float | None = None) -> Expr:
    """Exponentially weighted mean of all values up to each event.

    It is the value itself at first. After that, with `halflife`, it is ``y += (1 - 2**(-dt/halflife)) * (x - y)``,
    where ``dt`` is the time since the last value; with `alpha` it is ``y += alpha * (x - y)``.

        time     0    5    10
        in       2────4────8───
        out      2────3────5.5─     (alpha=0.5, or halflife=5)

    It stands in ``select``, ``with_columns``, ``where`` and ``over_time`` of streams with one event at a time. After
    ``group_by`` it is per key. A null is left out: the result is null there, and later values do not see it. In
    ``over_time``, a value holds until the next event of its key. Source: ``ewm_mean_by`` of Polars.

    Parameters
    ----------
    value : Expr or callable
        Numbers.
    halflife : str, timedelta or int (ticks), optional
        Time after which a value has half of its weight.
    alpha : float, optional
        Weight of the newest value, instead of `halflife`: above 0, at most 1.

    Examples
    --------
    >>> import whimbrel as wb
    >>> from whimbrel import col
    >>> prices = wb.from_arrow({"at": [0, 5, 15], "px": [2.0, 4.0, 8.0]}, time="at").select("px")
    >>> prices.select(e=wb.ema(col.px, halflife=5)).collect()["e"].to_pylist()
    [2.0, 3.0, 6.75]
    >>> prices.select(e=wb.ema(col.px, alpha=0.5)).collect()["e"].to_pylist()
    [2.0, 3.0, 5.5]
    """
    of = trace(value, where="ema()")
    where = f"ema({of.show()})"
    if (halflife is None) == (alpha is None):
        raise PlanError("ema() needs either halflife= or alpha=.", where=where,
                        hint='Use ema(col.x, halflife="10s") or ema(col.x, alpha=0.1).')
    if alpha is not None and not (_is_number(alpha) and 0 < alpha <= 1):
        raise PlanError(f"alpha must be a number above 0 and at most 1, got {alpha!r}.", where=where,
                        hint="Use a smaller one for a smoother mean, such as alpha=0.1.")
    return Ema(of, halflife, None if alpha is None else float(alpha))


def iir(value: Value, *, b: Sequence[float] | None = None, a: Sequence[float] | None = None,
        sos: Sequence[Sequence[float]] | None = None, init: Literal["zero", "steady"] = "zero", settle: int = 0,
        nan: Literal["gap", "keep"] = "gap") -> Expr:
    """Recursive linear filter (infinite impulse response) of a signal.

    ``a[0]*y[n] = b[0]*x[n] + b[1]*x[n-1] + ... - a[1]*y[n-1] - ...``, in direct form II transposed. Results have the
    bits of ``scipy.signal.lfilter(b, a, x)``, or of ``sosfilt(sos, x)``, however rows are batched.

        time     0    5    10
        in       1────0────0────
        out      1────0.5──0.25─     (b=[1], a=[1, -0.5])

    It stands in ``select``, ``with_columns``, ``where`` and ``over_time`` of streams with one event at a time. After
    ``group_by`` it is per key. ``explain()`` tells if a filter is unstable.

    On samples, as ``assume(rate=...)`` declares them, the filter begins again after a missing sample, a null and NaN.
    The result of a null and of NaN is null. On other streams times do not matter: the filter goes from event to event,
    NaN is a value, and a null is left out.

    Parameters
    ----------
    value : Expr or callable
        Numbers.
    b, a : sequence of float, optional
        Numerator and denominator; ``a[0]`` must not be 0.
    sos : sequence of sequences of float, optional
        Second-order sections instead, ``b0, b1, b2, 1, a1, a2`` each: more exact for filters of a high order.
    init : {"zero", "steady"}
        State of the filter where it begins: at rest, or as if the first value had always been there.
    settle : int
        Number of results to make null each time that the filter begins, while it settles.
    nan : {"gap", "keep"}
        Whether NaN counts as a missing sample, or passes through the filter.

    Examples
    --------
    >>> import whimbrel as wb
    >>> from whimbrel import col
    >>> signal = wb.from_arrow({"at": [0, 5, 10], "x": [1.0, 0.0, 0.0]}, time="at").select("x")
    >>> signal.select(y=wb.iir(col.x, b=[1], a=[1, -0.5])).collect()["y"].to_pylist()
    [1.0, 0.5, 0.25]

    The filter begins again after the missing sample at 10:

    >>> gap = wb.from_arrow({"at": [0, 5, 15], "x": [1.0, 0.0, 4.0]}, time="at").assume(periodic=5, gaps=True)
    >>> gap.select(y=wb.iir(col.x, b=[1], a=[1, -0.5], settle=1)).collect()["y"].to_pylist()
    [None, 0.5, None]
    """
    of = trace(value, where="iir()")
    where = f"iir({of.show()})"
    hint = "Use iir(col.x, b=[...], a=[...]) or iir(col.x, sos=...), such as those of scipy.signal.butter."
    if (sos is None) == (b is None and a is None):
        raise PlanError("iir() needs either b= and a=, or sos=.", where=where, hint=hint)
    if sos is None and (b is None or a is None):
        raise PlanError(f"iir() needs {'b' if b is None else 'a'}= as well.", where=where,
                        hint="Use a=[1.0] for a filter without feedback." if a is None else hint)
    numerator, denominator = (() if each is None else coefficients(name, each, where=where)
                              for name, each in (("b", b), ("a", a)))
    if a is not None and denominator[0] == 0:
        raise PlanError("The first coefficient of a must not be 0, got 0.", where=where,
                        hint="Leave out leading zeros of a, and shift the values instead.")
    sections = () if sos is None else tuple(coefficients("each section of sos", each, where=where) for each in sos)
    for section in sections:
        if len(section) != 6 or section[3] != 1:
            raise PlanError(f"Each section of sos must be six numbers with a fourth of 1, got {list(section)}.",
                            where=where, hint='Use scipy.signal.butter(..., output="sos").')
    if sos is not None and not sections:
        raise PlanError("sos must have at least one section, got none.", where=where, hint=hint)
    check_option("init", init, ("zero", "steady"), where=where)
    check_option("nan", nan, ("gap", "keep"), where=where)
    check_settle(settle, where=where)
    return Iir(of, numerator, denominator, sections, init, settle, nan)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
