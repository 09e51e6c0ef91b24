"""Rename columns."""

from __future__ import annotations

from whimbrel.batch import Schema
from whimbrel.errors import PlanError
from whimbrel.expr import Col, check_name
from whimbrel.operators.rows.select import Select
from whimbrel.plan import fluent


@fluent
def rename(schema: Schema, /, **names: str | Col) -> Select:
    """Rename columns: ``new="old"``. See :class:`whimbrel.operators.Select`.

    Their order stays.

    Examples
    --------
    >>> import whimbrel as wb
    >>> wb.from_arrow({"at": [1], "x": [10]}, time="at").rename(price="x").schema.show()
    'at: int64, price: int64'
    """
    renamed: dict[str, str] = {}
    for new, named in names.items():
        check_name(new, "rename")
        old = named.name if isinstance(named, Col) else named
        where = f"rename({new}={old!r})"
        if not isinstance(old, str):
            raise PlanError(f"{new} must be the name of a column, got {old!r}.", where=where,
                            hint=f'Use for example rename({new}="{schema.names[0] if schema.names else "x"}").')
        schema.index(old, where=where)
        if old in renamed:
            raise PlanError(f"rename() must give each column one name, got two for {old!r}.", where=where,
                            hint=f"Copy it: .with_columns({new}=col.{old}).")
        renamed[old] = new
    return Select(columns=tuple((renamed.get(name, name), Col(name)) for name in schema.names))
