"""Style of a picture: size, labels, colors and limits of axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from fractions import Fraction
from numbers import Real
from typing import Any, Final, Self

import pyarrow as pa

from whimbrel.clock.instant import exact_seconds
from whimbrel.errors import PlanError, near_match

Limits = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """Choices of look, named as in HoloViews; None leaves a choice to the view.

    Parameters
    ----------
    width, height : int, optional
        Pixels; without a width a picture is as wide as its cell.
    title, xlabel, ylabel, clabel : str, optional
        Title, labels of the axes, and label of the color scale.
    color : str or sequence or mapping of str, optional
        One colour, colours in the order of the keys, or a colour for each key.
    cmap : str, optional
        Colours of a heat map or a density, by name, such as ``"Viridis"``.
    xlim, ylim, clim : tuple of float, optional
        Fixed ends of an axis or of the colours; None leaves an end to the data. Times as datetimes, ``datetime64`` or
        texts such as ``"2013-12-01 06:00"``, by the clock on the wall.
    logx, logy, logz : bool, optional
        Logarithmic axes or colours. Values that are not positive are left out.
    line_width, size, alpha : float, optional
        Pixels of a stroke and of a marker, opacity of marks.
    show_grid, show_legend : bool, optional

    Examples
    --------
    >>> Style().styled(title="Delays", ylim=(0, None)).ylim
    (0.0, None)
    """

    width: int | None = None
    height: int | None = None
    title: str | None = None
    xlabel: str | None = None
    ylabel: str | None = None
    clabel: str | None = None
    color: str | Sequence[str] | Mapping[str, str] | None = None
    cmap: str | None = None
    xlim: Limits | None = None
    ylim: Limits | None = None
    clim: Limits | None = None
    logx: bool | None = None
    logy: bool | None = None
    logz: bool | None = None
    line_width: float | None = None
    size: float | None = None
    alpha: float | None = None
    show_grid: bool | None = None
    show_legend: bool | None = None

    def styled(self, **given: Any) -> Self:
        """The same with some choices made; None takes a choice back.

        Raises
        ------
        PlanError
            There is no such choice, or its value means nothing.
        """
        for name in given:
            if name not in NAMES:
                raise PlanError(f"Unknown option of a view: {name!r}.", where=f"opts({name}=...)",
                                hint=near_match(name, NAMES, noun="option"))
        return replace(self, **{name: value if value is None else _checked(name, value)
                                for name, value in given.items()})


PLAIN: Final = Style()
"""Everything left to the view."""

NAMES: Final = tuple(field.name for field in fields(Style))
_LIMITS: Final = ("xlim", "ylim", "clim")
_FLAGS: Final = ("logx", "logy", "logz", "show_grid", "show_legend")
_WORDS: Final = ("title", "xlabel", "ylabel", "clabel", "cmap")
_COLOR_HINT: Final = 'Use a name such as "navy", or one color for each key.'
_LIMITS_OF: Final = {"width": 20_000, "height": 20_000, "line_width": 100, "size": 200, "alpha": 1}


def _checked(name: str, value: Any) -> Any:
    match name:
        case _ if name in _LIMITS:
            return _limits(name, value)
        case _ if name in _FLAGS:
            _expect(isinstance(value, bool), name, value, "True or False")
        case _ if name in _WORDS:
            _expect(isinstance(value, str), name, value, "a string")
        case "color":
            _expect(isinstance(value, str | Mapping | Sequence), name, value, "a color or a collection of colors",
                    _COLOR_HINT)
            named = [value] if isinstance(value, str) else list(value.values() if isinstance(value, Mapping) else value)
            _expect(bool(named) and all(isinstance(each, str) for each in named), name, value, "names or #rrggbb",
                    _COLOR_HINT)
        case _:
            known = isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) <= _LIMITS_OF[name]
            _expect(known, name, value, f"a number above 0 and at most {_LIMITS_OF[name]:,}")
    return value


def _limits(name: str, value: Any) -> Limits:
    rule = "two ends, the lower one first"
    hint = "Use a pair such as (0, 100), with None for an end that follows the data."
    _expect(isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2, name, value, rule, hint)
    try:
        low, high = (None if end is None else _position(end) for end in value)
    except (PlanError, TypeError, ValueError):
        low = high = 0.0
    _expect(low is None or high is None or low < high, name, value, rule, hint)
    return low, high


def _position(end: Any) -> float:
    """Where on an axis: a number as it is, an instant as milliseconds of the clock on the wall."""
    if isinstance(end, Real):
        return float(end)
    seconds, zoned = exact_seconds(end, zone=None)
    if zoned:
        time = datetime.fromisoformat(end.strip()) if isinstance(end, str) else end
        offset = (time.as_py() if isinstance(time, pa.Scalar) else time).utcoffset() or timedelta()
        seconds += Fraction(offset // timedelta(microseconds=1), 10**6)
    return float(seconds * 1_000)


def _expect(true: bool, name: str, value: Any, rule: str,
            hint: str = "Use None for the default.") -> None:
    if not true:
        raise PlanError(f"{name} must be {rule}, got {value!r}.", where=f"opts({name}={value!r})", hint=hint)
