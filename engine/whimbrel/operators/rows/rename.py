"""Rename columns."""

from __future__ import annotations

from collections.abc import Mapping

from whimbrel.batch import Schema
from whimbrel.errors import PlanError
from whimbrel.expr import Col, check_name
from whimbrel.operators.rows.select import Select
from whimbrel.plan import fluent


@fluent
def rename(schema: Schema, /, mapping: Mapping[str, str] | None = None, **names: str | Col) -> Select:
    """Rename columns: ``new="old"``, or ``{"old": "new"}``. See :class:`whimbrel.operators.Select`.

    Their order stays.

    Examples
    --------
    >>> import whimbrel as wb
    >>> trades = wb.from_arrow({"at": [1], "x": [10]}, time="at")
    >>> trades.rename(price="x").schema.show()
    'at: int64, price: int64'
    >>> trades.rename({"x": "price"}).schema.show()
    'at: int64, price: int64'
    """
    if mapping is not None and not isinstance(mapping, Mapping):
        raise PlanError(f"rename() takes a dict of names or keywords, got {mapping!r}.", where="rename()",
                        hint=f'Use rename({{"{schema.names[0] if schema.names else "x"}": "new"}}).')
    renamed: dict[str, str] = {}
    asked = [(new, old, f"rename({{{old!r}: {new!r}}})") for old, new in (mapping or {}).items()]
    for new, named in names.items():
        old = named.name if isinstance(named, Col) else named
        asked.append((new, old, f"rename({new}={old!r})"))
    for new, old, where in asked:
        if not isinstance(new, str):
            raise PlanError(f"A column must have a text as its name, got {new!r}.", where=where,
                            hint=f"Use rename({{{old!r}: 'new'}}).")
        check_name(new, "rename")
        if not isinstance(old, str):
            raise PlanError(f"{new} must be the name of a column, got {old!r}.", where=where,
                            hint=f'Use for example rename({new}="{schema.names[0] if schema.names else "x"}").')
        schema.index(old, where=where)
        if old in renamed:
            raise PlanError(f"rename() must give each column one name, got two for {old!r}.", where=where,
                            hint=f"Copy it: .with_columns({new}=col.{old}).")
        renamed[old] = new
    return Select(columns=tuple((renamed.get(name, name), Col(name)) for name in schema.names))
