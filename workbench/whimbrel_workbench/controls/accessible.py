"""Widgets that say what they are to those who do not see where they stand."""

from __future__ import annotations

from typing import Any

import panel as pn
import param


class NamedSelect(pn.widgets.Select):  # type: ignore[misc]
    """A choice without a visible label."""

    html_attributes = param.Dict(default={})


class NamedSlider(pn.widgets.FloatSlider):  # type: ignore[misc]
    """A slider without a visible label."""

    html_attributes = param.Dict(default={})


def named(name: str) -> dict[str, Any]:
    """What lets a screen reader say it; a widget's model passes it on to the page."""
    return {"role": "group", "aria-label": name}
