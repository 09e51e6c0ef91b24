"""Defaults that are looked up once are those that Bokeh works out."""

from __future__ import annotations

import pytest
from bokeh.models import Button, ColumnDataSource, LinearAxis, Plot, Range1d, Scatter

from whimbrel_workbench import bokeh_defaults


@pytest.mark.parametrize("kind", (Button, ColumnDataSource, LinearAxis, Plot, Range1d, Scatter))
def test_defaults_are_those_of_bokeh(kind: type) -> None:
    model = kind()
    for _ in range(2):  # the second time they are known
        for name in model.properties() - set(model._property_values):
            of = model.lookup(name)
            if not of.has_unstable_default(model):
                assert of._get_default(model) == bokeh_defaults._work_out(of, model), name


def test_what_can_be_changed_is_of_one_model() -> None:
    one, other = Button(), Button()
    one.tags.append("mine")
    assert other.tags == []


def test_a_theme_is_applied_also_when_the_default_is_known() -> None:
    axis = LinearAxis()
    plain = axis.axis_label_text_font_size
    axis.apply_theme({"axis_label_text_font_size": "99px"})
    assert (plain, axis.axis_label_text_font_size, LinearAxis().axis_label_text_font_size) == ("13px", "99px", "13px")
