"""Keep the keyboard focus on buttons that change."""

from __future__ import annotations

import weakref
from typing import Final

import panel as pn

_KEEP: Final = """
for (const view of Bokeh.index.find(cb_obj)) {
  if (!view.shadow_el.activeElement) continue
  setTimeout(() => {
    const now = cb_obj.disabled && otherwise ? Bokeh.index.find_one(otherwise) : view
    now?.shadow_el.querySelector("button")?.focus()
  }, 50)
}
"""


def keep_focus(button: pn.widgets.Button, otherwise: pn.widgets.Button | None = None) -> None:
    """Give the focus back to a button that had it when its label changed, or to another one if it is off now."""
    # Panel keeps a callback and what it knows while the button lives: it must know nothing that keeps the button.
    args = {"otherwise": weakref.proxy(otherwise) if otherwise is not None else None}
    for changed in ("label", "disabled"):  # in one call only the last would be sent
        button.jscallback(args=args, **{changed: _KEEP})
