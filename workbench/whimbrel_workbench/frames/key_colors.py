"""One colour for a key in all views of a dashboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count

from whimbrel_workbench.frames.frame_builder import Picture
from whimbrel_workbench.frames.lines import MAX_LINES, Lines
from whimbrel_workbench.frames.scatter import Scatter


class KeyColors:
    """Gives each key a place, and so a colour and a marker: the same in all charts of lines or points by these keys.

    A key that was seen keeps its place for good: the places of a chart alone depend on which keys came first in it.
    """

    def __init__(self) -> None:
        self._places: dict[tuple[str, ...], dict[str, int]] = {}

    def alike(self, pictures: Mapping[str, Picture | None]) -> dict[str, Picture | None]:
        """The same pictures with their lines and points in these places."""
        return {name: self._coloured(picture) if isinstance(picture, Lines | Scatter) and picture.keys else picture
                for name, picture in pictures.items()}

    def _coloured(self, picture: Lines | Scatter) -> Lines | Scatter:
        if isinstance(picture, Scatter):
            return replace(picture, slots=self._places_of(picture.keys, picture.names))
        places = self._places_of(picture.keys, [line.label for line in picture])
        return replace(picture, lines=tuple(replace(line, slot=place)
                                            for line, place in zip(picture, places, strict=True)))

    def _places_of(self, keys: tuple[str, ...], names: Sequence[str]) -> tuple[int, ...]:
        known = self._places.setdefault(keys, {})
        for name in names:
            if name not in known:
                known[name] = _free(set(known.values()), {known[each] for each in names if each in known})
        return tuple(known[name] for name in names)


def _free(taken: set[int], neighbors: set[int]) -> int:
    """The first free slot, with another colour than the slots in the same picture while there are such colours."""
    used = {place % MAX_LINES for place in neighbors}
    return next(place for place in count()
                if place not in taken and (place % MAX_LINES not in used or len(used) == MAX_LINES))
