"""What a view writes into a page as a script holds names and values of the data, which nobody vouches for."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import holoviews as hv
import panel as pn
import pytest
from bokeh.plotting import figure

from whimbrel_workbench.page.scripts import guarded

KEYS = ["</script><script>alert(1)</script>", "<!-- <script>", '<script type="application/javascript">', "</SCRIPT x>",
        "a < b"]


class Scripts(HTMLParser):
    """The texts of the scripts that a browser would find."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._inside = tag == "script"
        if self._inside:
            self.found.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.found[-1] += data


@pytest.mark.parametrize("by_holoviews", (False, True))
def test_a_key_of_the_data_does_not_end_the_script_that_holds_it(*, by_holoviews: bool) -> None:
    chart = figure(x_range=KEYS, title=KEYS[0])
    chart.vbar(x=KEYS, top=list(range(len(KEYS))))
    pn.extension(inline=True)
    if by_holoviews:
        data, _ = hv.renderer("bokeh").components(hv.Bars([(key, 1) for key in KEYS]), comm=False)
    else:
        data, _ = pn.Column(pn.pane.Bokeh(chart))._repr_mimebundle_()
    page = Scripts()
    page.feed(guarded(data["text/html"], "view", "still", "sign"))
    page.close()
    script, = page.found
    assert "<!--" not in script
    assert "alert(1)" in script
    written = script[script.index("docs_json = ") + len("docs_json = "):]
    documents, _ = json.JSONDecoder().raw_decode(written)
    assert json.dumps(KEYS) in json.dumps(documents)
    assert script.count('window.whimbrel?.show("') == 1
