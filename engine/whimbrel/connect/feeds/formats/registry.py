"""Registry of message formats by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from whimbrel.connect.feeds.formats.arrow_format import Arrow
from whimbrel.connect.feeds.formats.csv_format import Csv
from whimbrel.connect.feeds.formats.decode import Format
from whimbrel.connect.feeds.formats.json_format import Json
from whimbrel.errors import PlanError, near_match

_FORMATS: Final[Mapping[str, Callable[[], Format]]] = {"json": Json, "csv": Csv, "arrow": Arrow}


def format_of(format_: str | Format, where: str) -> Format:
    """Return the format of a name; a format itself is returned unchanged.

    Raises
    ------
    PlanError
        For an unknown name.
    """
    if isinstance(format_, Format):
        return format_
    if format_ not in _FORMATS:
        raise PlanError(f"format must be 'json', 'csv', 'arrow' or a format object, got {format_!r}.", where=where,
                        hint=f"{near_match(str(format_), _FORMATS, noun='format')} Other formats are objects: "
                             "wb.feeds.Avro(schema), wb.feeds.Protobuf(message).")
    return _FORMATS[format_]()
