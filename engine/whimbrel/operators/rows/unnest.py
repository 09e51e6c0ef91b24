"""Replace structs by their fields."""

from __future__ import annotations

import pyarrow as pa

from whimbrel.batch import Schema
from whimbrel.errors import PlanError, SchemaError
from whimbrel.expr import Call, Col, check_name
from whimbrel.operators.rows.select import Select
from whimbrel.plan import fluent


@fluent
def unnest(schema: Schema, *names: str) -> Select:
    """Replace struct columns by their fields. See :class:`whimbrel.operators.Select`.

    Fields stand in place of their column. They are null where the struct is null.

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": [0, 1], "p": [{"x": 1, "y": 2}, None]}, time="at").select("p")
    >>> log.unnest("p").collect().to_pylist()
    [{'start': 0, 'end': 1, 'x': 1, 'y': 2}, {'start': 1, 'end': 2, 'x': None, 'y': None}]
    """
    if not names or not all(isinstance(name, str) for name in names):
        raise PlanError(f"unnest() needs names of columns, got {', '.join(map(repr, names)) or 'none'}.",
                        where="unnest(...)", hint='Use unnest("position").')
    where = f"unnest({', '.join(map(repr, names))})"
    columns: dict[str, Col | Call] = {}
    for name in names:
        type_ = schema.type_of(name, where=where)
        if not pa.types.is_struct(type_):
            raise SchemaError(f"unnest() needs a struct; column {name!r} has type {type_}.", where=where,
                              hint=f"Use explode({name!r}) for a list." if pa.types.is_list(type_) else
                              "Name a column of structs.")
    for name in schema.names:
        fields = [field.name for field in schema.type_of(name, where=where)] if name in names else [name]
        for field in fields:
            check_name(field, "unnest")
            if field in columns:
                raise PlanError(f"unnest() would make two columns {field!r}.", where=where,
                                hint=f"Use rename() first, or .with_columns(new=col.{name}.field({field!r})).")
            columns[field] = Call("field", (Col(name),), (field,)) if name in names else Col(name)
    if not columns:
        raise PlanError("unnest() must leave at least one column.", where=where, hint="Keep another column.")
    return Select(columns=tuple(columns.items()))
