"""Numbers and names of axes can be read, however small, large or long they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from bokeh.plotting import figure
from playwright.sync_api import Browser, Page

from whimbrel_workbench.frames.format_numbers import value_words
from whimbrel_workbench.views.axis_format import count_ticks, name_ticks, number_hover, number_ticks, scale_ticks

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(name="page")
def _page(chromium: Browser) -> Page:
    return chromium.new_page()


def ran(page: Page, code: str, **names: Any) -> Any:
    return page.evaluate("([code, names]) => new Function(...Object.keys(names), code)(...Object.values(names))",
                         [code, names])


def test_numbers_read_well(page: Page) -> None:
    def shown(*ticks: float) -> list[str]:
        return [ran(page, number_ticks().code, tick=tick, ticks=ticks) for tick in ticks]

    assert shown(0, 5e-13, 1e-12, 1.5e-12) == ["0", "5e-13", "1e-12", "1.5e-12"]
    assert shown(0, 5e299, 1e300) == ["0", "5e+299", "1e+300"]
    assert shown(-1000, -500, 0, 500) == ["-1,000", "-500", "0", "500"]
    assert shown(*np.arange(1.0, 1.0005, 0.0001).round(4).tolist()) == ["1", "1.0001", "1.0002", "1.0003", "1.0004"]
    assert shown(0.1 + 0.2, 0.4) == ["0.3", "0.4"]
    assert shown(5.000000000000401, 5.000000000000402) == ["5", "5"]
    assert shown(123456.7890123, 123456.7890124) == ["123,456.789012", "123,456.789012"]
    counted = [ran(page, count_ticks().code, tick=tick) for tick in (1.5, 2, 2.5, 3.0000000000000004, 12000)]
    assert counted == ["", "2", "", "3", "12,000"]  # once "2 2 3 3"
    for value in (0.0, 3.14159, -12.5, 7.0, 123456.7, 1e300, -2.5e-12):
        assert ran(page, number_hover().code, value=value) == value_words(value)


@pytest.mark.long
def test_names_lose_their_middle_where_there_is_no_room(page: Page) -> None:
    fig = figure()
    code, name = name_ticks(fig, fig.yaxis[0]).code, "a name of letters far too many for a narrow page, number 17"
    assert ran(page, code, tick=name, names=[], axis={"tags": []}) == name
    assert ran(page, code, tick=name, names=[], axis={"tags": [21]}) == "a name of let…mber 17"
    assert ran(page, code, tick=1.5, names=["x", "y"], axis={"tags": [21]}) == "y"
    assert ran(page, code, tick="分類の長い名前です17", names=[], axis={"tags": [14]}) == "分類の長…す17"


@pytest.mark.long
def test_numbers_of_a_colour_scale_are_short(page: Page) -> None:
    def shown(*ticks: float) -> list[str]:
        return [ran(page, scale_ticks().code, tick=tick, ticks=ticks) for tick in ticks]

    assert shown(-4e11, 0, 4e11) == ["-400B", "0", "400B"]
    assert shown(0, 1_250_000, 2_500_000) == ["0", "1.25M", "2.5M"]
    assert shown(0, 500, 1000) == ["0", "500", "1,000"]
