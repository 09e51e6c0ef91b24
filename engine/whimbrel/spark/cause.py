"""One line of a Spark failure: what a user can act on, without two languages' stack traces."""

from __future__ import annotations

import re

_LONGEST = 240
_TASK_FAILURE = re.compile(r"^.*?Lost task [^(]*\(TID \d+\) \([^)]*\): ")
_JAVA_CLASS = re.compile(r"^(?:[a-z_]\w*\.)+(?=[A-Z]\w*(?:Exception|Error)\b)")


def short_cause(error: BaseException) -> str:
    r"""The exception that started it.

    >>> short_cause(RuntimeError("Aborted\nTraceback (most recent call last):\n  File x\nValueError: seven"))
    'ValueError: seven'
    """
    text = str(error).strip()
    _, traceback, rest = text.partition("Traceback (most recent call last):")
    if traceback:
        # The first line that is not indented ends the first traceback of the chain: the original exception.
        line = next((line for line in rest.splitlines() if line.strip() and not line[0].isspace()), "")
    else:
        line = text.splitlines()[0] if text else type(error).__name__
    line = _JAVA_CLASS.sub("", _TASK_FAILURE.sub("", line)).strip()
    return line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."
