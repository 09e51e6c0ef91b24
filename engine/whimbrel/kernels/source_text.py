"""Parts of generated source text."""

from __future__ import annotations

import functools
import io
import math
import symtable
import tokenize
from collections.abc import Sequence


def comment(text: str) -> str:
    """A user's words as a comment: on one line, whatever they hold, so that they can never be code."""
    return "# " + " ".join(text.split())


@functools.lru_cache(maxsize=512)
def without_comments(text: str) -> str:
    r"""The code alone: texts that differ only in what the user called things are the same code.

    >>> without_comments("# total\nx = 1  # of a\ny = '# b'\n")
    "\nx = 1\ny = '# b'\n"
    """
    lines = text.splitlines(keepends=True)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column].rstrip() + "\n"
    return "".join(lines)


def literal(number: float) -> str:
    """A number of a state as source text."""
    if isinstance(number, float) and not math.isfinite(number):
        return "np.nan" if math.isnan(number) else "np.inf" if number > 0 else "-np.inf"
    return repr(number)


def indented(lines: Sequence[str], levels: int = 1) -> list[str]:
    """The lines, so many levels deeper."""
    return ["    " * levels + line for line in lines]


def free_names(lines: Sequence[str]) -> frozenset[str]:
    """Names that the lines of a function read and do not assign: they are its parameters, or imported.

    >>> sorted(free_names(["y = f(x)", "z[y] = y"]))
    ['f', 'x', 'z']
    """
    table = symtable.symtable("\n".join(["def body():", *indented([*lines, "pass"])]), "<generated>", "exec")
    body, = table.get_children()
    return frozenset(symbol.get_name() for symbol in body.get_symbols() if symbol.is_global())
