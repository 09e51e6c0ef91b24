"""The errors of the project: what, where and hint.

Every error a user can cause derives from :class:`WhimbrelError`. The parts are data first and text second, so a
notebook can lay them out and a test can assert on one part.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def shortened(text: str, maximum: int = 1000) -> str:
    """Shorten a text to a maximum number of characters.

    It may quote a value of any length, or name thousands of columns.

    >>> shortened("abcdefgh", maximum=4)
    'abc ... h'
    """
    return text if len(text) <= maximum else f"{text[:maximum - maximum // 4]} ... {text[-(maximum // 4):]}"


class WhimbrelError(Exception):
    """An error that the user can fix.

    Parameters
    ----------
    what : str
        One sentence: what is wrong, with the offending value.
    where : str, optional
        The user's own words: an expression, a call, a file, a row.
    hint : str, optional
        What to do about it.
    """

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what = what
        self.where = where
        self.hint = hint
        super().__init__(what)

    def __str__(self) -> str:
        lines = [shortened(self.what)]
        if self.where:
            lines.append(f"  where: {shortened(self.where)}")
        if self.hint:
            lines.append(f"  hint:  {shortened(self.hint)}")
        return "\n".join(lines)

    def _render_traceback_(self) -> list[str]:
        """IPython's hook: a notebook shows the message alone, never the engine's frames."""
        return f"{type(self).__name__}: {self}".splitlines()[:8]


class PlanError(WhimbrelError):
    """An invalid query.

    Examples are a bad window, a bad join, or a feed without a policy.
    """


class SchemaError(WhimbrelError):
    """A column that is missing, or has an unexpected type.

    It may also differ from the column that a source has declared.
    """


class UnknownNameError(WhimbrelError, AttributeError):
    """An unknown method or function.

    Another tool may have one by this name.
    """


class CallError(WhimbrelError, TypeError):
    """A call that an object cannot take.

    It lacks an argument, or it is an operation of Python that the object does not have.
    """


class SqlError(WhimbrelError):
    """An invalid text of SQL.

    It shows the line with a caret.
    """


class ExpressionError(WhimbrelError):
    """An expression that cannot be typed, traced or evaluated."""


class CheckpointError(WhimbrelError):
    """A checkpoint that cannot be written, or belongs to another query."""


class DamagedCheckpointError(CheckpointError):
    """A checkpoint whose files are not as they were written."""


class SinkError(WhimbrelError):
    """A sink that cannot be written."""


class SourceError(WhimbrelError):
    """A file, table or feed that cannot be read."""


class DisorderError(WhimbrelError):
    """A late row of a source with the late policy "raise"."""


class KernelError(WhimbrelError):
    """An invalid value in a running kernel, such as an overflow."""


class MissingExtraError(WhimbrelError):
    """An optional dependency that is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {package}, which is not installed.",
                         hint=f"pip install 'whimbrel[{extra}]'")


def near_match(name: str, known: Iterable[str], *, noun: str = "column") -> str:
    """Hint at the closest known name, or list what there is.

    >>> near_match("prise", ["price", "volume"])
    "Use 'price'; the columns are price, volume."
    >>> near_match("x", ["price", "volume"])
    'Use one of the columns price, volume.'
    """
    names = list(known)
    nouns = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeou" else f"{noun}s"
    if not names:
        return f"There are no {nouns}."
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    return f"Use {close[0]!r}; the {nouns} are {shown}." if close else f"Use one of the {nouns} {shown}."
