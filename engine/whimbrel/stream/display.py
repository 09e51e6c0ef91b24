"""How a stream shows itself in a notebook: by whatever is installed behind the entry point ``whimbrel.display``."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from whimbrel.errors import MissingExtraError

if TYPE_CHECKING:
    from whimbrel.stream.bands import Bands
    from whimbrel.stream.stream import Stream


def mimebundle(stream: Stream | Bands) -> Any:
    """The live view as Jupyter's mimebundle; the plan as text where there is no workbench."""
    for entry in entry_points(group="whimbrel.display"):
        try:
            show = entry.load()
        except ImportError:
            break
        return show(stream)
    return {"text/plain": f"{stream!r}\n\nFor a live view: pip install 'whimbrel[workbench]'"}, {}


def view(stream: Stream | Bands, **options: Any) -> Any:
    """The live view as an object."""
    for entry in entry_points(group="whimbrel.display"):
        try:
            show = entry.load()
        except ImportError:
            break
        return show.view(stream, **options)
    raise MissingExtraError("panel", "workbench", "A live view")
