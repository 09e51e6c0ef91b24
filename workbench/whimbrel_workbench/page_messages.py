"""Messages from the scripts of a page to the kernel."""

from __future__ import annotations

from typing import Any, ClassVar

import panel as pn


class PageMessage(pn.widgets.TextInput):  # type: ignore[misc]
    """A field that nobody sees: a script sets its value, which is the only way from a page to the kernel.

    A served page hands a field's value on 50 ms later, for one who types; a script is sent at once.
    """

    _debounce: ClassVar[int] = 0

    def __init__(self, **options: Any) -> None:
        super().__init__(visible=False, width=0, height=0, margin=0, **options)
