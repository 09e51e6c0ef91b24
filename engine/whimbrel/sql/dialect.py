"""The dialect of the language: what sqlglot's own does not parse.

It overrides the methods of the parser that :data:`OVERRIDDEN` names; a test asks for each of them.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp, parser, tokens
from sqlglot.dialects.dialect import Dialect
from sqlglot.tokens import TokenType

from whimbrel.sql.refusals import MANUAL_JOINS

OVERRIDDEN = ("_parse_group", "_parse_lambda", "_parse_table", "_parse_disjunction", "_parse_join", "_parse_from",
              "_parse_having", "_parse_match_recognize", "_warn_unsupported")
"""Private methods of sqlglot's parser on which this file relies."""


class TableArgument(exp.Expression):  # type: ignore[misc]
    """``TABLE t PARTITION BY k`` as the argument of a window."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "partition_by": False}


class MergeStreams(exp.Expression):  # type: ignore[misc]
    """``MERGE a.t : b.t FROM a, b``."""

    arg_types: ClassVar[dict[str, bool]] = {"expressions": True, "tables": True, "with_": False}


class MatchRows(exp.Expression):  # type: ignore[misc]
    """MATCH_RECOGNIZE with WITHIN."""

    arg_types: ClassVar[dict[str, bool]] = {
        "partition_by": False, "order": False, "measures": False, "rows": False, "after": False, "pattern": True,
        "within": False, "define": False, "alias": False}


class Whimbrel(Dialect):  # type: ignore[misc]
    """SQL with epochs, windows and MERGE."""

    NULL_ORDERING: ClassVar[str] = "nulls_are_last"

    class Tokenizer(tokens.Tokenizer):  # type: ignore[misc]
        """Comments of TigonSQL's manual begin with two slashes; MATCH_RECOGNIZE is a word of the language."""

        KEYWORDS: ClassVar[dict[str, Any]] = {**tokens.Tokenizer.KEYWORDS, "MATCH_RECOGNIZE": TokenType.MATCH_RECOGNIZE}

        COMMENTS: ClassVar[list[Any]] = ["--", "//", ("/*", "*/")]

    class Parser(parser.Parser):  # type: ignore[misc]
        """Adds GROUP BY expression AS name, TABLE(...) and MERGE."""

        FUNCTIONS: ClassVar[dict[str, Any]] = {
            name: build for name, build in parser.Parser.FUNCTIONS.items()
            if name not in ("DATE_DIFF", "DATEDIFF")}  # those make a unit of the last argument

        STATEMENT_PARSERS: ClassVar[dict[Any, Any]] = {
            **parser.Parser.STATEMENT_PARSERS, TokenType.MERGE: lambda self: self.parse_merge()}
        FUNC_TOKENS: ClassVar[set[Any]] = {*parser.Parser.FUNC_TOKENS, TokenType.SESSION}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            **parser.Parser.FUNCTION_PARSERS, "LISTAGG": lambda self: self._parse_string_agg()}
        LAMBDAS: ClassVar[dict[Any, Any]] = {
            TokenType.FARROW: lambda self, names: self.expression(
                exp.Kwarg(this=exp.var(names[0].name), expression=self.parse_argument()))}

        def parse_merge(self) -> Any:
            """The ordered attributes, and the streams that have them."""
            attributes = [self._parse_column()]
            while self._match(TokenType.COLON):
                attributes.append(self._parse_column())
            if not self._match(TokenType.FROM):
                self.raise_error("Expecting FROM")
            tables = self._parse_csv(self._parse_table)
            return self.expression(MergeStreams(expressions=attributes, tables=tables))

        def parse_argument(self) -> Any:
            """An expression, or ``TABLE t PARTITION BY k``."""
            if not self._match(TokenType.TABLE):
                return self._parse_disjunction()
            table = self._parse_table_parts()
            keys = []
            if self._match(TokenType.PARTITION_BY):
                if self._match(TokenType.L_PAREN):
                    keys = self._parse_csv(self.parse_group_key)
                    self._match_r_paren()
                else:
                    keys.append(self._parse_column())
                while self._next_is_key():
                    self._advance()
                    keys.append(self._parse_column())
            return self.expression(TableArgument(this=table, partition_by=keys))

        def _next_is_key(self) -> bool:
            """Whether a comma and one more key follow, and not the next argument."""
            following = self._tokens[self._index : self._index + 3]
            return (len(following) == 3 and following[0].token_type == TokenType.COMMA
                    and following[1].text.upper() not in ("DESCRIPTOR", "INTERVAL")
                    and following[1].token_type not in (TokenType.NUMBER, TokenType.STRING)
                    and following[2].token_type != TokenType.FARROW)

        def _warn_unsupported(self) -> None:
            """Nothing: such a statement is refused."""

        def _parse_lambda(self, alias: bool = False) -> Any:
            if self._curr and self._curr.token_type == TokenType.TABLE:
                return self.parse_argument()
            return super()._parse_lambda(alias=alias)

        def _parse_table(self, *arguments: Any, **options: Any) -> Any:
            if self._curr.token_type == TokenType.TABLE and self._next and self._next.token_type == TokenType.L_PAREN:
                self._advance(2)
                table = exp.Table(this=self._parse_function())
                self._match_r_paren()
                table.set("alias", self._parse_table_alias())
                return table
            return super()._parse_table(*arguments, **options)

        def _parse_from(self, *arguments: Any, **options: Any) -> Any:
            word = self._curr.text if self._curr else ""
            found = super()._parse_from(*arguments, **options)
            if found is not None and word.split(" ")[0] in MANUAL_JOINS:
                found.meta["join"] = word
            return found

        def _parse_join(self, *arguments: Any, **options: Any) -> Any:
            comma = self._curr is not None and self._curr.token_type == TokenType.COMMA
            join = super()._parse_join(*arguments, **options)
            if join is not None and comma:
                join.meta["comma"] = True
            return join

        def _parse_match_recognize(self) -> Any:
            if not self._match(TokenType.MATCH_RECOGNIZE):
                return None
            self._match_l_paren()
            keys, order = self._parse_partition_by(), self._parse_order()
            measured = self._match_text_seq("MEASURES")
            measures = self._parse_csv(self._parse_match_recognize_measure) if measured else None
            rows, after = self.parse_words("MATCH", "ONE", "ALL"), self.parse_words("ROW", "AFTER")
            pattern, within = exp.var("PATTERN"), None
            pattern.meta["tokens"] = []
            if self._match_text_seq("PATTERN") and self._match(TokenType.L_PAREN):
                depth = 1
                while self._curr and depth:
                    depth += (self._curr.token_type == TokenType.L_PAREN) - (self._curr.token_type == TokenType.R_PAREN)
                    if depth:
                        pattern.meta["tokens"].append(self._curr)
                    self._advance()
            if self._match_text_seq("WITHIN"):
                within = self._parse_disjunction()
            define = self._parse_csv(self._parse_name_as_expression) if self._match_text_seq("DEFINE") else None
            self._match_r_paren()
            return self.expression(MatchRows(partition_by=keys, order=order, measures=measures, rows=rows, after=after,
                                             pattern=pattern, within=within, define=define,
                                             alias=self._parse_table_alias()))

        def parse_words(self, last: str, *first: str) -> Any:
            """The words from one of these on, up to another, as one; None if none of them comes."""
            if not self._curr or self._curr.text.upper() not in first:
                return None
            words: list[str] = []
            while self._curr and len(words) < 6 and not (len(words) > 2 and words[-1] == last):
                words.append(self._curr.text.upper())
                self._advance()
            return exp.var(" ".join(words))

        def _parse_group(self, skip_group_by_token: bool = False) -> Any:
            if not skip_group_by_token and not self._match(TokenType.GROUP_BY):
                return None
            if self._match(TokenType.ALL):
                return self.parse_closing(self.expression(exp.Group(all=True)))
            return self.parse_closing(self.expression(exp.Group(expressions=self._parse_csv(self.parse_group_key))))

        def _parse_having(self, *arguments: Any, **options: Any) -> Any:
            return self.parse_closing(super()._parse_having(*arguments, **options))

        def parse_closing(self, clause: Any) -> Any:
            """A clause with the condition of CLOSING_WHEN that follows it."""
            if clause is not None and self._match_text_seq("CLOSING_WHEN"):
                clause.set("closing", self._parse_disjunction())
            return clause

        def parse_group_key(self) -> Any:
            """A key, which may get a name."""
            key = self._parse_grouping_sets() or self._parse_cube_or_rollup() or self._parse_disjunction()
            if key is not None and self._match(TokenType.ALIAS):
                return self.expression(exp.Alias(this=key, alias=self._parse_id_var(any_token=True)))
            return key
