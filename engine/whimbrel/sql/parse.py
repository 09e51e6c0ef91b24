"""Parse texts within bounds of length and nesting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokens import TokenType

from whimbrel.errors import SqlError
from whimbrel.sql.create_stream import create_stream
from whimbrel.sql.dialect import MergeStreams, Whimbrel
from whimbrel.sql.manual_tokens import QueryBlocks, plain_tokens, take_blocks
from whimbrel.sql.misspellings import near_statement, near_word
from whimbrel.sql.positions import SqlText
from whimbrel.sql.refusals import refusal

MAX_CHARACTERS: Final = 1_000_000
MAX_NESTING: Final = 500
MAX_OPERATORS: Final = 1_000
MAX_STATEMENTS: Final = 1_000
_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)
_DEEPENING = (TokenType.NOT, TokenType.DASH, TokenType.CASE, TokenType.TILDE)
_CHAINING = (*_DEEPENING, TokenType.AND, TokenType.OR, TokenType.DPIPE, TokenType.PLUS, TokenType.STAR, TokenType.SLASH,
             TokenType.DCOLON)
"""Each makes an expression deeper by one, or checks all that stands before it once more."""
QUERIES = (exp.Select, exp.Union, exp.Intersect, exp.Except, exp.Subquery, exp.Values, exp.Pivot, MergeStreams)


@dataclass(frozen=True)
class Emit:
    """EMIT AT after a statement.

    Parameters
    ----------
    latencies : tuple of str or int
        Plain numbers are ticks.
    start, stop : int
        Its characters in the text.
    """

    latencies: tuple[str | int, ...]
    start: int
    stop: int


@dataclass(frozen=True)
class Statement:
    """One statement of a text.

    Parameters
    ----------
    tree : sqlglot expression
    text : SqlText
    explained : bool
        EXPLAIN stood before it.
    emit : Emit, optional
        EMIT AT after it.
    blocks : QueryBlocks
        DEFINE and PARAM before it.
    """

    tree: Any
    text: SqlText
    explained: bool = False
    emit: Emit | None = None
    blocks: QueryBlocks = field(default_factory=QueryBlocks)


def parse(text: str) -> list[Statement]:
    """The statements of a text."""
    if not isinstance(text, str):
        raise SqlError(f"wb.sql needs a text, got {type(text).__name__}.", where="wb.sql(...)",
                       hint="Pass the query as a string.")
    if len(text) > MAX_CHARACTERS:
        raise SqlError(f"A text has at most {MAX_CHARACTERS:,} characters, got {len(text):,}.", where="wb.sql(...)",
                       hint="Split it into several texts.")
    return list(_statements(text))


def _statements(text: str) -> Iterator[Statement]:
    source = SqlText(text)
    try:
        tokens = Whimbrel().tokenize(text)
    except TokenError:
        raise source.error_at("The text cannot be read.", *_broken(text), "Close quotes and comments.") from None
    _check_bounds(source, tokens)
    parts = list(_split(tokens))
    if len(parts) > MAX_STATEMENTS:
        raise SqlError(f"A script has at most {MAX_STATEMENTS:,} statements, got {len(parts):,}.", where="wb.sql(...)",
                       hint="Split it into several scripts.")
    for part in parts:
        yield _statement(source, part)


def _broken(text: str) -> tuple[int, int]:
    """About where a quote or a comment opens that is never closed."""
    found = max(text.rfind(mark) for mark in ("'", '"', "/*"))
    return (found, found + 1) if found >= 0 else (0, 1)


def _check_bounds(source: SqlText, tokens: Sequence[Any]) -> None:
    depth = deepening = 0
    chains = [0]
    for token in tokens:
        if token.token_type in _OPENING:
            depth += 1
            chains.append(0)
        elif token.token_type in _CLOSING:
            depth -= 1
            chains = chains[:-1] or [0]
        elif token.token_type in (TokenType.COMMA, TokenType.SEMICOLON):
            chains[-1] = 0
        deepening += token.token_type in _DEEPENING
        chains[-1] += token.token_type in _CHAINING
        if chains[-1] > MAX_OPERATORS:
            raise source.error_at(f"An expression has at most {MAX_OPERATORS:,} operators.", token.start, token.end + 1,
                                 "Use IN (...) for many values, or WITH for parts of the query.")
        if depth > MAX_NESTING or deepening > 20 * MAX_NESTING:
            raise source.error_at(f"A query is nested at most {MAX_NESTING} deep.", token.start, token.end + 1,
                                 "Use WITH for parts of the query.")


def _split(tokens: Sequence[Any]) -> Iterator[list[Any]]:
    """The tokens of each statement."""
    part: list[Any] = []
    depth = 0
    for token in tokens:
        depth += (token.token_type == TokenType.L_BRACE) - (token.token_type == TokenType.R_BRACE)
        if token.token_type == TokenType.SEMICOLON and depth <= 0:
            if part:
                yield part
            part = []
        else:
            part.append(token)
    if part:
        yield part


def _statement(source: SqlText, tokens: list[Any]) -> Statement:
    explained = tokens[0].text.upper() in ("EXPLAIN", "DESCRIBE") and len(tokens) > 1
    if explained and len(source.text) > tokens[0].end + 1:
        tokens = Whimbrel().tokenize(" " * (tokens[0].end + 1) + source.text[tokens[0].end + 1 : _end(source, tokens)])
    if not tokens:  # a comment alone follows EXPLAIN
        raise SqlError(refusal("empty")[0], where="wb.sql(...)", hint=refusal("empty")[1])
    blocks, tokens = take_blocks(source, tokens)
    if not tokens:
        raise SqlError(refusal("empty")[0], where="wb.sql(...)", hint=refusal("empty")[1])
    tokens = plain_tokens(source, tokens, blocks)
    _check_first_word(source, tokens)
    if [each.text.upper() for each in tokens[:2]] == ["CREATE", "STREAM"]:
        return Statement(create_stream(source, tokens), source)
    tokens, emit = _emit(source, tokens)
    try:
        tree = Whimbrel.Parser(dialect=Whimbrel()).parse(tokens, source.text)[0]
    except ParseError as error:
        raise _parse_error(source, error, tokens) from None
    _check_statement(source, tree, tokens)
    return Statement(tree, source, explained, emit, blocks)


def _end(source: SqlText, tokens: Sequence[Any]) -> int:
    """Where a statement ends: EXPLAIN and what follows is one token, which may hold later statements."""
    end: int = tokens[-1].end + 1
    return min(max(end, tokens[0].end + 1), len(source.text))


def _emit(source: SqlText, tokens: list[Any]) -> tuple[list[Any], Emit | None]:
    """The statement without EMIT at its end, and what EMIT AT says."""
    depth = 0
    for number, token in enumerate(tokens):
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if token.text.upper() != "EMIT" or number == 0 or token.token_type == TokenType.STRING:
            continue
        words = [each.text.upper() for each in tokens[number + 1 :]]
        if depth:
            if words[:1] == ["AT"]:
                what, hint = refusal("emit inside")
                raise source.error_at(what, token.start, tokens[number + 1].end + 1, hint)
            continue
        if words[:1] == ["AT"] and len(words) % 2 == 0:
            values = tokens[number + 2 :: 2]
            latencies = [_latency(each) for each in values]
            if None not in latencies and all(each.token_type == TokenType.COMMA for each in tokens[number + 3 :: 2]):
                known = tuple(each for each in latencies if each is not None)
                return tokens[:number], Emit(known, token.start, tokens[-1].end + 1)
        if words in (["FINAL"], ["ON", "WINDOW", "CLOSE"], ["AFTER", "WATERMARK"]):
            return tokens[:number], None
        raise source.error_at("EMIT must name latencies, or FINAL.", token.start, tokens[-1].end + 1,
                             "Use EMIT AT '1s', '1m', or EMIT AT 0, 5 if time is an integer, after all other clauses.")
    return tokens, None


def _latency(token: Any) -> str | int | None:
    """A duration, or a number of ticks."""
    if token.token_type == TokenType.NUMBER and token.text.isdecimal():
        return int(token.text)
    return str(token.text) if token.token_type == TokenType.STRING else None


def _parse_error(source: SqlText, error: ParseError, tokens: Sequence[Any]) -> SqlError:
    detail = error.errors[0] if error.errors else {}
    word = str(detail.get("highlight") or "")
    line, column = detail.get("line"), detail.get("col")
    for place, token in enumerate(tokens):
        if (token.line, token.col) == (line, column):
            hint = near_word(tokens, place) or (
                "Check the words before it: a comma, a parenthesis or a keyword may be missing.")
            return source.error_at(f"The query cannot be read from {token.text[:60]!r} on.", token.start, token.end + 1,
                                  hint)
    last = tokens[-1]
    hint = near_word(tokens, len(tokens) - 1) or "Check the end of the query: something may be missing."
    return source.error_at(f"The query cannot be read{f' from {word[:60]!r} on' if word else ''}.", last.start,
                          last.end + 1, hint)


def _check_first_word(source: SqlText, tokens: Sequence[Any]) -> None:
    """Refuse other statements before they are parsed."""
    first = tokens[0]
    if first.text.upper() not in ("SELECT", "WITH", "FROM", "VALUES", "MERGE", "CREATE", "PIVOT", "UNPIVOT", "("):
        raise _not_a_statement(source, tokens)
    for token, following in pairwise(tokens):
        word, second = token.text.upper(), following.text.upper()
        if token.token_type == TokenType.VAR and ((word == "SUPERGROUP" and following.token_type == TokenType.VAR) or (
                word == "CLEANING" and second in ("WHEN", "BY"))):
            what, hint = refusal("sampling", text=word if word == "SUPERGROUP" else f"CLEANING {second}")
            raise source.error_at(what, token.start, token.end + 1, hint)


def _not_a_statement(source: SqlText, tokens: Sequence[Any]) -> SqlError:
    first = tokens[0]
    words = source.text[first.start : tokens[-1].end + 1].split()
    files = ("COPY", "ATTACH", "LOAD", "INSTALL", "IMPORT", "EXPORT")
    what, hint = refusal("files" if words[0].upper() in files else "statement", text=" ".join(words)[:60])
    return source.error_at(what, first.start, first.end + 1, near_statement(words[0]) or hint)


def _check_statement(source: SqlText, tree: Any, tokens: Sequence[Any]) -> None:
    allowed = isinstance(tree, QUERIES) or (isinstance(tree, exp.Create) and tree.kind == "VIEW")
    if not allowed or tree.find(exp.Command) is not None:
        raise _not_a_statement(source, tokens)
    if any(each.args.get("locks") for each in tree.find_all(exp.Select)):
        raise source.error("FOR UPDATE and FOR SHARE lock rows, and streams have no locks.", tree, "Remove it.")
