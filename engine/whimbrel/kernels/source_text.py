"""Parts of generated source text."""

from __future__ import annotations

import math


def comment(text: str) -> str:
    """A user's words as a comment: on one line, whatever they hold, so that they can never be code."""
    return "# " + " ".join(text.split())


def literal(number: float) -> str:
    """A number of a state as source text."""
    if isinstance(number, float) and not math.isfinite(number):
        return "np.nan" if math.isnan(number) else "np.inf" if number > 0 else "-np.inf"
    return repr(number)
