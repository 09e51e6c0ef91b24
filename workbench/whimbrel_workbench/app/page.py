"""The HTML page around the views, the same for every visitor."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Final

from bokeh.embed.util import RenderItem
from bokeh.models import Div
from bokeh.resources import Resources
from jinja2 import Environment, FileSystemLoader
from panel.io.resources import LOCAL_DIST, bundle_resources
from panel.io.server import html_page_for_render_items

from whimbrel_workbench.page import freezing
from whimbrel_workbench.workspace import Dashboard

_HERE: Final = Path(__file__).parent
_FIXED: Final = ("head", "buttons", "steering", "facts", "keys", "sources")


class Page:
    """Slots for the roots of a session's document, which find them by order: first those of the side panel.

    Parameters
    ----------
    dashboard : Dashboard
    resources : bokeh.resources.Resources
        The scripts that it loads.
    """

    def __init__(self, dashboard: Dashboard, resources: Resources) -> None:
        number = count()
        rows = [[(name, f"view{next(number)}") for name in row] for row in dashboard.layout.rows]
        self._title = dashboard.title
        self._places = [*_FIXED, *(place for row in rows for _, place in row)]
        self._bundle = bundle_resources([], resources)
        # Names in it are the author's, so they are escaped.
        self._template = Environment(loader=FileSystemLoader(_HERE), autoescape=True).get_template("page.html")
        self._words = {"rows": rows, "freezing": freezing(), "dist_url": LOCAL_DIST,
                       "style": (_HERE / "page.css").read_text(encoding="utf-8")}

    def html(self, token: str) -> str:
        """The page, for the session that the token names."""
        places = RenderItem(token=token, roots=[Div(name=name) for name in self._places])
        return str(html_page_for_render_items(self._bundle, {}, [places], self._title, self._template, self._words))
