"""Draw an error as a card: what, where and hint."""

from __future__ import annotations

from html import escape
from typing import Final

from whimbrel_workbench.frames import Failure

_CARD: Final = ("border-left:4px solid #D55E00;background:#D55E0014;padding:10px 14px;margin:6px 0;border-radius:3px;"
                "font-size:13px")
_NAME: Final = "display:inline-block;min-width:48px;opacity:.65"
_CODE: Final = "font-family:var(--jp-code-font-family,monospace);white-space:pre-wrap"


def failure_html(failure: Failure) -> str:
    """The three parts of an error, each on its own line."""
    parts = [("where", failure.where), ("hint", failure.hint)]
    lines = "".join(f'<div style="margin-top:3px"><span style="{_NAME}">{name}</span>'
                    f'<span style="{_CODE}">{escape(text)}</span></div>' for name, text in parts if text)
    return (f'<div role="alert" style="{_CARD}"><div style="font-weight:600">✕ {escape(failure.what)}</div>{lines}'
            f'<div style="opacity:.65;font-size:12px;margin-top:5px">{escape(failure.kind)}</div></div>')
