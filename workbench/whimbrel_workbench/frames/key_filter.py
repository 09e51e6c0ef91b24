"""Filter a picture by key, and share ranges of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from whimbrel_workbench.frames.bars import Bars
from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.frames.frame_builder import Picture
from whimbrel_workbench.frames.heat import Heat
from whimbrel_workbench.frames.lines import Lines
from whimbrel_workbench.frames.scatter import Scatter
from whimbrel_workbench.frames.scope import ScopeFrame
from whimbrel_workbench.frames.spectrogram import Spectrogram
from whimbrel_workbench.frames.table import TableFrame

Chosen = Mapping[str, frozenset[str]]
"""Chosen values, as words, by key column; a column that is not there is not restricted."""

_PARTS: Final = ", "
Timed = Lines | Heat | Scatter | ScopeFrame | Spectrogram
"""Pictures that may have an axis of time."""

_MAX_SQUEEZED: Final = 4.0
"""How many times a chart's own time the range may be that it shares with others."""


def values_of(picture: Picture | None) -> dict[str, tuple[str, ...]]:
    """The values of each key column that a picture shows, in its order."""
    match picture:
        case Lines():
            names = [line.label for line in picture]
        case Bars() | Heat():
            names = list(picture.names)
        case _:
            return {}
    found: dict[str, dict[str, None]] = {key: {} for key in picture.keys}
    for name in names:
        for key, value in _parts(name, picture.keys).items():
            found[key][value] = None
    return {key: tuple(values) for key, values in found.items()}


def narrowed(picture: Picture | None, chosen: Chosen) -> Picture | None:
    """What is left of a picture; None if nothing is. Pictures that know no such key are left whole.

    Axes stay as they are: choosing keys must not make what is left jump.
    """
    if not chosen:
        return picture
    match picture:
        case Lines():
            lines = tuple(line for line in picture if _is_chosen(line.label, picture.keys, chosen))
            hidden = tuple(line.label for line in picture if line not in lines)
            return replace(picture, lines=lines, others=picture.others + hidden) if lines else None
        case Bars():
            kept = [place for place, name in enumerate(picture.names) if _is_chosen(name, picture.keys, chosen)]
            if not kept:
                return None
            hidden = tuple(name for place, name in enumerate(picture.names) if place not in kept)
            return replace(picture, bars=tuple(picture.bars[place] for place in kept), others=picture.others + hidden)
        case Heat():
            return picture.only([_is_chosen(name, picture.keys, chosen) for name in picture.names])
        case TableFrame():
            return picture.only(chosen)
        case _:
            return picture


def sharing(pictures: Mapping[str, Picture | None]) -> dict[str, str]:
    """The name of the first chart whose range of time each chart shares.

    Charts with the same kind of time share one range while each of them fills at least a quarter of it. A year would
    squeeze ten minutes into a line, and so would two days that are years apart. A chart of one window joins the
    longest.
    """
    charts = {name: picture for name, picture in pictures.items() if isinstance(picture, Timed)
              and (not isinstance(picture, Heat | Scatter) or picture.along == "start")}
    shared: dict[str, str] = {}
    for calendar in (True, False):
        groups: list[list[str]] = []
        alike = [name for name, chart in charts.items() if chart.calendar is calendar]
        for name in sorted(alike, key=lambda name: (_one_time(charts[name]) is not None, -_span(charts[name].x))):
            home = next((group for group in groups if _fit([charts[each] for each in (*group, name)])), None)
            if home is None:
                groups.append([name])
            else:
                home.append(name)
        shared |= {name: min(group, key=alike.index) for group in groups for name in group}
    return shared


def on_one_axis(pictures: Mapping[str, Picture | None], shared: Mapping[str, str]) -> dict[str, Picture | None]:
    """The same pictures with one range of time for all charts that share one, as :func:`sharing` says."""
    groups: dict[str, dict[str, Timed]] = {}
    for name, picture in pictures.items():
        if name in shared and isinstance(picture, Timed):
            groups.setdefault(shared[name], {})[name] = picture
    reach = {first: _reach(list(group.values())) for first, group in groups.items()}
    return {**pictures, **{name: _over(chart, reach[first])
                           for first, group in groups.items() for name, chart in group.items()}}


def _over(chart: Timed, x: Extent) -> Timed:
    """The same chart with another range of time."""
    return replace(chart, scope=replace(chart.scope, x=x)) if isinstance(chart, Spectrogram) else replace(chart, x=x)


def _fit(charts: Sequence[Timed]) -> bool:
    """Whether each chart fills enough of what shows all of them; one window fills what it is given."""
    spans = [_span(chart.x) for chart in charts if _one_time(chart) is None]
    return not spans or _span(_reach(charts)) <= _MAX_SQUEEZED * min(spans)


def _span(extent: Extent) -> float:
    return extent.high - extent.low


def _reach(charts: Sequence[Timed]) -> Extent:
    """What shows all of the charts: of those with one window where it begins, for a day would squeeze ten minutes."""
    begins = [_one_time(chart) for chart in charts]
    whole = [chart.x for chart, begin in zip(charts, begins, strict=True) if begin is None]
    ends = [*whole, *(Extent(begin, begin) for begin in begins if begin is not None)] if whole else [
        chart.x for chart in charts]
    return Extent(min(each.low for each in ends), max(each.high for each in ends))


def _one_time(picture: Timed) -> float | None:
    """When all that lines show begins, if it begins at one time."""
    times = {float(x) for line in picture for x in (line.x[0], line.x[-1])} if isinstance(picture, Lines) else set()
    return times.pop() if len(times) == 1 else None


def _is_chosen(label: str, keys: tuple[str, ...], chosen: Chosen) -> bool:
    parts = _parts(label, keys)
    return all(parts[key] in values for key, values in chosen.items() if key in parts)


def _parts(label: str, keys: tuple[str, ...]) -> dict[str, str]:
    """The value of each key in a label; none where a value has a comma itself."""
    parts = [label] if len(keys) == 1 else label.split(_PARTS)
    return dict(zip(keys, parts, strict=True)) if len(parts) == len(keys) else {}
