"""Widgets with names for screen readers, and with tooltips."""

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


class TipButton(pn.widgets.Button):  # type: ignore[misc]
    """A button with a tooltip."""

    html_attributes = param.Dict(default={})


def tip(text: str) -> dict[str, Any]:
    """Attributes that show a text while the pointer rests on a widget."""
    return {"title": text}


def named(name: str) -> dict[str, Any]:
    """What lets a screen reader say it; a widget's model passes it on to the page."""
    return {"role": "group", "aria-label": name}
