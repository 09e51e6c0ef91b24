"""What may stand where a column's name is asked for, and says how rows lie instead."""

from __future__ import annotations

from typing import Final


class Stated(str):
    """A fact about a source that is written in the place of a column.

    Parameters
    ----------
    name : str
        The public name, as users write it.

    Examples
    --------
    >>> FILE_ORDER
    wb.FILE_ORDER
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


FILE_ORDER: Final = Stated("wb.FILE_ORDER")
"""As `arrival=`: rows lie in the order in which they arrived, and no column says when."""


def in_file_order(arrival: str | None) -> bool:
    """Whether `arrival` says that rows lie in the order of their arrival.

    Examples
    --------
    >>> in_file_order(FILE_ORDER), in_file_order("wb.FILE_ORDER"), in_file_order(None)
    (True, False, False)
    """
    return isinstance(arrival, Stated) and arrival == FILE_ORDER
