"""Functions of lists: ``x.list``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from whimbrel.errors import ExpressionError
from whimbrel.expr.nodes import Call, Expr, lift
from whimbrel.migration_hints import LISTS, absent

_FAR: Final = 2**62
"""No list is so long."""


@dataclass(frozen=True)
class ListFunctions:
    """Functions of a list expression; null stays null.

    Aggregates leave out nulls within the list.

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": [0, 1], "x": [[3, 1, 3], []]}, time="at")
    >>> log.select(n=wb.col.x.list.length(), y=wb.col.x.list.unique(), z=wb.col.x.list.get(-1)).collect().to_pylist()
    [{'start': 0, 'end': 1, 'n': 3, 'y': [3, 1], 'z': 3}, {'start': 1, 'end': 2, 'n': 0, 'y': [], 'z': None}]
    """

    x: Expr

    if not TYPE_CHECKING:  # type checkers know what is there
        __getattr__ = absent("col.x.list", LISTS)

    def length(self) -> Expr:
        """Number of items, with nulls."""
        return self._called("length")

    def get(self, index: int | Expr) -> Expr:
        """Item at an index from 0, or from the end below 0.

        It is null where the list is shorter, or the index is null.

        Parameters
        ----------
        index : int or Expr
            The same for all rows, or one for each.

        Examples
        --------
        >>> import whimbrel as wb
        >>> log = wb.from_arrow({"at": [0, 1], "x": [[3, 1], [5, 7]], "i": [1, -2]}, time="at")
        >>> log.select(y=wb.col.x.list.get(wb.col.i)).collect()["y"].to_pylist()
        [1, 5]
        """
        return Call("list.get", (self.x, self._whole("get", index)))

    def slice(self, start: int | Expr, stop: int | Expr | None = None) -> Expr:
        """Items from `start` up to `stop`, as in Python; null where one of them is null.

        Without `stop`, they reach to the end. Both can be expressions, with other values for each row.
        """
        bounds = (start,) if stop is None else (start, stop)
        return Call("list.slice", (self.x, *(self._whole("slice", bound) for bound in bounds)))

    def contains(self, value: Any) -> Expr:
        """Test for an item that equals `value`.

        In a list of numbers, a number of another type is compared at the type of the items.
        """
        return Call("list.contains", (self.x, lift(value)))

    def sum(self) -> Expr:
        """Sum of the items: 0 without items, and null beyond int64."""
        return self._called("sum")

    def mean(self) -> Expr:
        """Mean of the items; null without items."""
        return self._called("mean")

    def min(self) -> Expr:
        """Smallest item; null without items. NaN counts as greatest."""
        return self._called("min")

    def max(self) -> Expr:
        """Greatest item; null without items. NaN counts as greatest."""
        return self._called("max")

    def sort(self, *, descending: bool = False) -> Expr:
        """Items in order; NaN and then null come last."""
        return self._called("sort", bool(descending))

    def unique(self) -> Expr:
        """Items without those that came before in the list."""
        return self._called("unique")

    def join(self, separator: str) -> Expr:
        """Strings of the list as one text; null where one is null."""
        if not isinstance(separator, str):
            raise ExpressionError(f"join() needs one string, got {separator!r}.",
                                  where=f"{self.x.show()}.list.join({separator!r})", hint="Use one string.")
        return self._called("join", separator)

    def _whole(self, name: str, number: int | Expr) -> Expr:
        if isinstance(number, bool) or not isinstance(number, int | Expr):
            raise ExpressionError(f"{name}() needs a whole number, got {number!r}.",
                                  where=f"{self.x.show()}.list.{name}(...)", hint="Use an integer or an expression.")
        return lift(number if isinstance(number, Expr) else max(-_FAR, min(number, _FAR)))

    def _called(self, name: str, *options: Any) -> Expr:
        return Call(f"list.{name}", (self.x,), options)
