"""Methods of strings: parse, match and join."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from whimbrel.errors import ExpressionError

if TYPE_CHECKING:
    from whimbrel.expr.nodes import Expr


class TextMethods:
    """Functions that read numbers, times and parts from a string; null stays null."""

    x: Expr

    def to_integer(self) -> Expr:
        """The decimal integer of the text.

        It is null for another text and beyond int64.
        """
        return self._called("to_integer")

    def to_float(self) -> Expr:
        """The number of the text; null for another text."""
        return self._called("to_float")

    def strptime(self, format: str, *, unit: Literal["s", "ms", "us", "ns"] = "us") -> Expr:
        """The time of the text by a format of Python.

        It is null for another text. With ``%z`` it is a time in UTC, and otherwise it has no zone. ``%f`` follows a
        point and has up to 9 digits. The year of ``%Y`` has four digits.

        Parameters
        ----------
        format : str
        unit : {"s", "ms", "us", "ns"}
            Unit of the result.

        Examples
        --------
        >>> import whimbrel as wb
        >>> log = wb.from_arrow({"at": [0, 1], "s": ["31/01/2024 17:45", "31/02/2024 17:45"]}, time="at")
        >>> log.select(y=wb.col.s.str.strptime("%d/%m/%Y %H:%M")).collect()["y"].to_pylist()
        [datetime.datetime(2024, 1, 31, 17, 45), None]
        """
        return self._called("strptime", format, unit)

    def like(self, pattern: str) -> Expr:
        """Test the whole text against a pattern of SQL.

        ``%`` stands for any characters and ``_`` for one; a backslash takes the next one as it is.
        """
        return self._called("like", self._pattern("like", pattern), False)

    def ilike(self, pattern: str) -> Expr:
        """As :meth:`like`, without regard to case."""
        return self._called("like", self._pattern("ilike", pattern), True)

    def json_extract(self, path: str) -> Expr:
        """The value at a path of a text in JSON, as text.

        It is null where the value is null or missing, and for another text. A number is as it is written, and a list
        or an object is JSON. Each text is read by Python's parser, which is slower than other functions.

        Parameters
        ----------
        path : str
            Keys and places, such as ``"$.items[0].price"``.

        Examples
        --------
        >>> import whimbrel as wb
        >>> log = wb.from_arrow({"at": [0, 1], "s": ['{"a": [1.50, "x"]}', "{}"]}, time="at")
        >>> log.select(y=wb.col.s.str.json_extract("$.a[0]")).collect()["y"].to_pylist()
        ['1.50', None]
        """
        return self._called("json_extract", path)

    def concat(self, *others: Any, separator: str = "") -> Expr:
        """The text with others after it.

        It is null where one of them is null.

        Parameters
        ----------
        others : expressions or literals
            Strings.
        separator : str
            Text between them.
        """
        from whimbrel.expr.nodes import Call, lift

        return Call("str.concat", (self.x, *map(lift, others)), (self._pattern("concat", separator),))

    def _pattern(self, name: str, text: str) -> str:
        if not isinstance(text, str):
            raise ExpressionError(f"{name}() needs one string, got {text!r}.",
                                  where=f"{self.x.show()}.str.{name}({text!r})", hint="Use one string.")
        return text

    def _called(self, name: str, *options: Any) -> Expr:
        from whimbrel.expr.nodes import Call

        return Call(f"str.{name}", (self.x,), options)
