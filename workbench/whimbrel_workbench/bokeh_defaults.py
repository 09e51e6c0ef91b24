"""Cache the default values of Bokeh's models.

A chart has thousands of properties with default values. Bokeh computes each default again whenever it visits the models
of a page. It does so a dozen times before the page has them, which is half the cost of a first picture.
"""

from __future__ import annotations

from typing import Any, Final

from bokeh.core.has_props import HasProps
from bokeh.core.property.descriptors import PropertyDescriptor

_PLAIN: Final = frozenset({type(None), bool, int, float, str})
"""Values that nobody can change, so all models of a class can have the same."""

_known: Final[dict[tuple[type[HasProps], str], Any]] = {}
_work_out: Final = PropertyDescriptor._get_default  # noqa: SLF001 - Bokeh has no door to it


def _look_up(of: PropertyDescriptor[Any], model: HasProps) -> Any:
    themed, own = model.themed_values(), model._unstable_default_values  # noqa: SLF001
    if themed is not None and of.name in themed:
        return _work_out(of, model)
    if of.name in own:
        return own[of.name]
    place = type(model), of.name
    if place in _known:
        return _known[place]
    value = _work_out(of, model)
    # What a function makes may be another value for each model.
    if type(value) in _PLAIN and not of.has_unstable_default(model):
        _known[place] = value
    return value


PropertyDescriptor._get_default = _look_up  # noqa: SLF001
