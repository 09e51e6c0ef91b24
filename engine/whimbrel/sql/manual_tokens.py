"""Spellings of TigonSQL's manual, as tokens that the parser reads.

The blocks DEFINE, PARAM and PROTOCOL, joins before FROM, addresses and numbers in base 16, lists in brackets,
properties, sets of interfaces and queries of libraries.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Any, Final

import pyarrow as pa
from sqlglot.tokens import Token, TokenType

from whimbrel.errors import near_match
from whimbrel.expr.ip_addresses import read_column
from whimbrel.sql.manual_protocols import Protocol, protocol
from whimbrel.sql.positions import SqlText
from whimbrel.sql.refusals import MANUAL_JOINS

_SUFFIXES: Final = ("U", "L", "UL", "LL", "ULL")
"""What stands after a number to say its type."""

_END_OF_FROM: Final = (TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY, TokenType.LIMIT,
                       TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT)


@dataclass(frozen=True)
class QueryBlocks:
    """DEFINE and PARAM before a query.

    Parameters
    ----------
    defines : mapping of str to token
        Entries of DEFINE.
    parameters : sequence of (type, name)
        Tokens of PARAM.
    protocols : sequence of Protocol
    """

    defines: dict[str, Any] = field(default_factory=dict)
    parameters: tuple[tuple[Any, Any], ...] = ()
    protocols: tuple[Protocol, ...] = ()

    @property
    def name(self) -> str:
        """The name of the query, or "" without one."""
        return str(self.defines["query_name"].text) if "query_name" in self.defines else ""

    @property
    def flushes_evenly(self) -> bool:
        """Whether the groups of a finished epoch leave little by little."""
        return "slow_flush" in self.defines and self.defines["slow_flush"].text.lower() not in ("0", "false")


def take_blocks(source: SqlText, tokens: list[Any]) -> tuple[QueryBlocks, list[Any]]:
    """The blocks before a query, and the tokens of the query."""
    defines: dict[str, Any] = {}
    parameters: list[tuple[Any, Any]] = []
    protocols: list[Protocol] = []
    while (at := _brace(tokens)) is not None:
        word = tokens[0]
        stop = next((number for number, each in enumerate(tokens) if each.token_type == TokenType.R_BRACE), None)
        if stop is None:
            raise source.error_at(f"{word.text.upper()} has no end.", word.start, word.end + 1, "Add the brace }.")
        entries = _entries(tokens[at + 1 : stop])
        if word.text.upper() == "PROTOCOL":
            protocols.append(protocol(source, tokens[:at], entries))
            entries = []
        for entry in entries:
            if len(entry) != 2:
                raise source.error_at(f"An entry of {word.text.upper()} has two words.", entry[0].start,
                                      entry[-1].end + 1, "Use DEFINE { query_name 'n'; } or PARAM { uint n; }.")
            if word.text.upper() == "PARAM":
                parameters.append((entry[0], entry[1]))
            else:
                defines[entry[0].text] = entry[1]
        tokens = tokens[stop + 1 :]
    return QueryBlocks(defines, tuple(parameters), tuple(protocols)), tokens


def _brace(tokens: Sequence[Any]) -> int | None:
    """Where the brace of a block stands that these tokens begin with."""
    word = tokens[0].text.upper() if tokens else ""
    number = next((number for number, each in enumerate(tokens[:20]) if each.token_type == TokenType.L_BRACE), 0)
    return number if (word in ("DEFINE", "PARAM") and number == 1) or (word == "PROTOCOL" and number) else None


def _entries(tokens: Sequence[Any]) -> list[list[Any]]:
    entries: list[list[Any]] = [[]]
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            entries.append([])
        else:
            entries[-1].append(token)
    return [entry for entry in entries if entry]


def plain_tokens(source: SqlText, tokens: Sequence[Any], blocks: QueryBlocks) -> list[Any]:
    """The tokens of a query without spellings that only the manual has."""
    tokens = _numbers(source, tokens, blocks)
    tokens = _names(tokens)
    return _lists(_joins(source, tokens))


def _made(kind: Any, text: str, first: Any, last: Any) -> Any:
    """A token that stands for several."""
    return Token(kind, text, first.line, first.col, first.start, last.end)


def _numbers(source: SqlText, tokens: Sequence[Any], blocks: QueryBlocks) -> list[Any]:
    """Addresses, numbers in base 16, suffixes of numbers, entries of DEFINE and properties."""
    found: list[Any] = []
    skip = False
    for number, token in enumerate(tokens):
        following: Any = tokens[number + 1] if number + 1 < len(tokens) else None
        if skip:
            skip = False
            continue
        touches = following is not None and following.start == token.end + 1
        word = token.text.upper() if token.token_type == TokenType.VAR else ""
        if word == "IPV6_VAL" and touches and following.token_type == TokenType.STRING:
            found.append(_made(TokenType.STRING, _address(source, following), token, following))
            skip = True
        elif word in ("IP_VAL", "HEX", "LHEX") and touches and following.token_type == TokenType.STRING:
            found.append(_made(TokenType.NUMBER, _number(source, word, following), token, following))
            skip = True
        elif token.token_type == TokenType.NUMBER and touches and following.text.upper() in _SUFFIXES:
            found.append(_made(TokenType.NUMBER, token.text, token, following))
            skip = True
        elif token.token_type == TokenType.HASH and touches:
            if following.text not in blocks.defines:
                raise source.error_at(f"DEFINE has no entry {following.text!r}.", token.start, following.end + 1,
                                      near_match(following.text, blocks.defines, noun="name"))
            value = blocks.defines[following.text]
            found.append(_made(value.token_type, value.text, token, following))
            skip = True
        elif token.token_type == TokenType.PARAMETER and touches:
            found.append(_made(TokenType.IDENTIFIER, f"@{following.text}", token, following))
            skip = True
        else:
            found.append(token)
    return found


def _number(source: SqlText, word: str, token: Any) -> str:
    """The number of an address or of digits in base 16."""
    try:
        return str(int(IPv4Address(token.text)) if word == "IP_VAL" else int(token.text, 16))
    except (AddressValueError, ValueError):
        what = "an address, such as IP_VAL'10.0.0.1'" if word == "IP_VAL" else "digits of base 16, such as HEX'1F'"
        raise source.error_at(f"{word} cannot read {token.text[:40]!r}.", token.start, token.end + 1,
                              f"Use {what}.") from None


def _address(source: SqlText, token: Any) -> str:
    """An address of version 6 as its shortest text, as packets and functions of addresses write it."""
    try:
        address = pa.array([str(IPv6Address(token.text))])
        return str(read_column(address).of_type(pa.string())[0])
    except AddressValueError:
        raise source.error_at(f"IPV6_VAL cannot read {token.text[:60]!r}.", token.start, token.end + 1,
                              "Use an address, such as IPV6_VAL'2001:db8::1'.") from None


def _names(tokens: Sequence[Any]) -> list[Any]:
    """``[set].PROTOCOL`` and ``lib/query`` in FROM as one name."""
    found: list[Any] = []
    queries: list[str] = [""]  # for each parenthesis: "", "select" or "from"
    number = 0
    while number < len(tokens):
        token = tokens[number]
        match token.token_type:
            case TokenType.L_PAREN:
                queries.append("")
            case TokenType.R_PAREN if len(queries) > 1:
                queries.pop()
            case TokenType.SELECT | TokenType.MERGE:
                queries[-1] = "select"
            case TokenType.FROM if queries[-1] == "select":
                queries[-1] = "from"
            case kind if kind in _END_OF_FROM:
                queries[-1] = ""
        length = _length_of_name(tokens, number) if queries[-1] == "from" and number and tokens[
            number - 1].token_type in (TokenType.FROM, TokenType.COMMA, TokenType.JOIN) else 0
        if length:
            last = tokens[number + length - 1]
            name = "".join(each.text for each in tokens[number : number + length])
            found.append(_made(TokenType.IDENTIFIER, name, token, last))
            number += length
        else:
            found.append(token)
            number += 1
    return found


def _length_of_name(tokens: Sequence[Any], number: int) -> int:
    """How many tokens a name of the manual has here; 0 if there is none."""
    kinds = [each.token_type for each in tokens[number : number + 5]]
    if kinds == [TokenType.L_BRACKET, kinds[1] if len(kinds) > 1 else None, TokenType.R_BRACKET, TokenType.DOT,
                 kinds[-1]] and len(kinds) == 5:
        return 5
    length = 1
    while _is_word(tokens[number]) and number + length + 1 < len(tokens) and (
            tokens[number + length].token_type == TokenType.SLASH and _is_word(tokens[number + length + 1])):
        length += 2
    return length if length > 1 else 0


def _is_word(token: Any) -> bool:
    return token.token_type != TokenType.STRING and token.text.isidentifier()


def _joins(source: SqlText, tokens: Sequence[Any]) -> list[Any]:
    """A join before FROM becomes a part of the token FROM, where the parser finds it."""
    found: list[Any] = []
    number = 0
    while number < len(tokens):
        token = tokens[number]
        word = token.text.upper() if token.token_type == TokenType.VAR else ""
        if word not in MANUAL_JOINS:
            found.append(token)
            number += 1
            continue
        length = 6 if word == "FILTER_JOIN" else 1
        arguments = tokens[number + 1 : number + length]
        last = tokens[number + length] if number + length < len(tokens) else token
        shape = " ".join(each.token_type.name for each in arguments)
        if last.token_type != TokenType.FROM or not re.fullmatch(r"(L_PAREN \w+ COMMA NUMBER R_PAREN)?", shape):
            raise source.error_at(f"{word} stands before FROM.", token.start, token.end + 1,
                                  f"Use {MANUAL_JOINS[word]}.")
        text = " ".join([word, *(arguments[part].text for part in (1, 3) if arguments)])
        found.append(_made(TokenType.FROM, text, token, last))
        number += length + 1
    return found


def _lists(tokens: Sequence[Any]) -> list[Any]:
    """``IN [1, 2]`` with parentheses."""
    found: list[Any] = []
    opened: list[bool] = []
    for number, token in enumerate(tokens):
        if token.token_type == TokenType.L_BRACKET:
            listed = number > 0 and tokens[number - 1].token_type == TokenType.IN
            opened.append(listed)
            found.append(_made(TokenType.L_PAREN, "(", token, token) if listed else token)
        elif token.token_type == TokenType.R_BRACKET and opened:
            found.append(_made(TokenType.R_PAREN, ")", token, token) if opened.pop() else token)
        else:
            found.append(token)
    return found
