"""One colour for a key in all views of a dashboard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from whimbrel_workbench.frames.framer import Picture
from whimbrel_workbench.frames.lines import Lines


class Colouring:
    """Gives each key a place, and so a colour and a marker, that is the same in all charts of lines by these keys.

    A key that was seen keeps its place for good: the places of a chart alone depend on which keys came first in it.
    """

    def __init__(self) -> None:
        self._places: dict[tuple[str, ...], dict[str, int]] = {}

    def alike(self, pictures: Mapping[str, Picture | None]) -> dict[str, Picture | None]:
        """The same pictures with their lines in these places."""
        return {name: self._coloured(picture) if isinstance(picture, Lines) and picture.keys else picture
                for name, picture in pictures.items()}

    def _coloured(self, picture: Lines) -> Lines:
        places = self._places.setdefault(picture.keys, {})
        for line in picture:
            places.setdefault(line.label, len(places))
        return replace(picture, lines=tuple(replace(line, place=places[line.label]) for line in picture))
