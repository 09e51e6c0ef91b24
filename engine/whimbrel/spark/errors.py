"""Summarize a Spark failure in one line."""

from __future__ import annotations

import re

from whimbrel.errors import SourceError

_LONGEST = 240
_JAVA_CHAIN = re.compile(r"^(?:: |Caused by: )(?!.*Exception thrown in awaitResult)(.*)", re.MULTILINE)
_TASK_FAILURE = re.compile(r"^.*?Lost task [^(]*\(TID \d+\) \([^)]*\): ")
_JAVA_CLASS = re.compile(r"^(?:[a-z_]\w*\.)+(?=[A-Z]\w*(?:Exception|Error)\b)")
_REFUSED = re.compile(r"^whimbrel\.errors\.\w+: .*(?:\n  where: (.*))?(?:\n  hint:  (.*))?", re.MULTILINE)


def failure(what: str, error: BaseException, *, where: str, hint: str) -> SourceError:
    r"""A failure of Spark as an error of ours; what a kernel in a task refused, it says as the kernel did.

    >>> trace = "Traceback (most recent call last):\nwhimbrel.errors.KernelError: integer overflow\n  where: col.x * 9"
    >>> print(failure("Spark failed", RuntimeError(trace), where="collect(on=spark)", hint="see its cause"))
    Spark failed: KernelError: integer overflow
      where: collect(on=spark), col.x * 9
      hint:  see its cause
    """
    refused = _REFUSED.search(str(error))
    location, advice = refused.groups() if refused else (None, None)
    return SourceError(f"{what}: {short_cause(error)}", where=f"{where}, {location}" if location else where,
                       hint=advice or hint)


def interrupted(error: BaseException | None) -> bool:
    """Whether it was raised over an interrupt: PySpark waits for the job that it cancels, which then fails.

    >>> try:
    ...     try:
    ...         raise KeyboardInterrupt
    ...     finally:
    ...         raise RuntimeError("Job 0 cancelled")
    ... except RuntimeError as error:
    ...     interrupted(error)
    True
    >>> interrupted(RuntimeError("Job 0 cancelled"))
    False
    """
    return error is not None and (isinstance(error, KeyboardInterrupt) or interrupted(error.__context__))


def short_cause(error: BaseException) -> str:
    r"""The exception that started it.

    >>> short_cause(RuntimeError("Aborted\nTraceback (most recent call last):\n  File x\nValueError: seven"))
    'ValueError: seven'

    What Java says and Python has no name for begins with whom Python called, and with who waited for it.

    >>> waited = "SparkException: Exception thrown in awaitResult: \n\tat x\nCaused by: java.io.IOException: no disk"
    >>> short_cause(RuntimeError(f"An error occurred while calling o1.getResult.\n: org.apache.spark.{waited}"))
    'IOException: no disk'
    """
    text = str(error).strip()
    _, traceback, rest = text.partition("Traceback (most recent call last):")
    if traceback:
        # The first line that is not indented ends the first traceback of the chain: the original exception.
        line = next((line for line in rest.splitlines() if line.strip() and not line[0].isspace()), "")
    elif text.startswith("An error occurred while calling") and (chain := _JAVA_CHAIN.findall(text)):
        line = chain[0]
    else:
        line = text.splitlines()[0] if text else type(error).__name__
    line = _JAVA_CLASS.sub("", _TASK_FAILURE.sub("", line)).strip()
    return line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."
