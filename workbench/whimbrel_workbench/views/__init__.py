"""Draw frames: one view per file, with Bokeh or HTML."""

from __future__ import annotations

from whimbrel_workbench.views.contract import NOBODY, Host, View
from whimbrel_workbench.views.error_card import failure_html
from whimbrel_workbench.views.export import save
from whimbrel_workbench.views.static_html import still_html
from whimbrel_workbench.views.view_registry import view_of

__all__ = ["NOBODY", "Host", "View", "failure_html", "save", "still_html", "view_of"]
