"""An HTML pane that sends only its changed text."""

from __future__ import annotations

from typing import Final

import panel as pn
from bokeh.model import Model

LAST_CSS: Final = """
.state { display: var(--whimbrel-live, inline); }
.last { display: var(--whimbrel-last, none); }
"""
"""A page names the two where nobody answers it any more: then a state is no state."""


class Text(pn.pane.HTML):  # type: ignore[misc]
    """HTML that sends only its new text to the page.

    Panel's own sends its style sheets once more with the first new words, as links to a server that an offline page
    cannot reach, and has all models of the page looked through for that.
    """

    def _update(self, _ref: str, model: Model) -> None:
        model.text = self._transform_object(self.object)["object"]
