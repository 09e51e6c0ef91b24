"""Near matches of misspelt keywords."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any, Final

from sqlglot.tokens import TokenType

STATEMENTS: Final = ("SELECT", "WITH", "FROM", "VALUES", "MERGE", "CREATE", "EXPLAIN", "PIVOT", "UNPIVOT")
"""Words that begin a statement."""

KEYWORDS: Final = (*STATEMENTS, "WHERE", "GROUP", "ORDER", "HAVING", "QUALIFY", "JOIN", "LEFT", "RIGHT", "FULL",
                "INNER", "OUTER", "CROSS", "NATURAL", "LATERAL", "ASOF", "USING", "UNION", "INTERSECT", "EXCEPT",
                "LIMIT", "OFFSET", "WINDOW", "BETWEEN", "PARTITION", "DISTINCT", "INTERVAL", "CASE", "WHEN", "THEN",
                "ELSE", "EMIT", "CLOSING_WHEN", "MATCH_RECOGNIZE", "MEASURES", "PATTERN", "WITHIN")
"""Words of clauses."""

_CLOSE: Final = 0.72
_BEFORE: Final = 2
"""Tokens before an error that may be its cause: a misspelt word is read as an alias."""


def near_statement(word: str) -> str:
    """A hint at the statement that a first word may mean, or an empty text."""
    return _hint(word, STATEMENTS)


def near_word(tokens: Sequence[Any], position: int) -> str:
    """A hint at the word that a token around an error may mean, or an empty text."""
    if [token.text for token in tokens[max(position - 2, 0) : position]] == ["*", "*"]:
        return "Use power(x, y) for a power."
    for token in (*reversed(tokens[max(position - _BEFORE, 0) : position + 1]), *tokens[position + 1 : position + 2]):
        if token.token_type == TokenType.VAR and (found := _hint(token.text, KEYWORDS)):
            return found
    return ""


def _hint(word: str, known: Sequence[str]) -> str:
    upper = word.upper()
    close = difflib.get_close_matches(upper, known, n=1, cutoff=_CLOSE)
    return f"Use {close[0]} in place of {word[:60]!r}." if close and upper not in KEYWORDS else ""
