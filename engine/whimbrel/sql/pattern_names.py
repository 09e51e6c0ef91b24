"""Names in DEFINE and MEASURES of MATCH_RECOGNIZE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
from sqlglot import exp

from whimbrel.expr import REGISTER, Col, Expr, Lit, first_of, last_of, register, when
from whimbrel.sql.binder import Binder
from whimbrel.sql.refusals import refusal
from whimbrel.sql.relation import SqlRelation
from whimbrel.sql.scope import NameScope

_PREVIOUS: Final = "_previous_"


@dataclass
class PatternRegisters:
    """What a run of the pattern counts, and the updates by the variable that makes them."""

    types: dict[str, pa.DataType] = field(default_factory=dict)
    starts: dict[str, Any] = field(default_factory=dict)
    updates: dict[str, dict[str, Expr]] = field(default_factory=dict)

    def each(self, name: str, type_: pa.DataType, values: Mapping[str, Expr]) -> Expr:
        """A register of this name that is null at first, with the value that each variable gives it."""
        self.types[REGISTER + name], self.starts[name] = type_, type_
        for variable, value in values.items():
            self.updates.setdefault(variable, {})[name] = value
        return register(name)

    def add(self, name: str, type_: pa.DataType, start: Any, variables: Sequence[str], value: Expr) -> Expr:
        """A register of this name, which each event of these variables changes."""
        self.types[REGISTER + name], self.starts[name] = type_, start
        for variable in variables:
            self.updates.setdefault(variable, {})[name] = value
        return register(name)


@dataclass(frozen=True)
class PatternNames:
    """What names mean in DEFINE and MEASURES.

    Parameters
    ----------
    relation : SqlRelation
    binder : Binder
    variables : tuple of str
        Those of the pattern, in its order.
    first : set of str
        Those that may begin a match.
    registers : PatternRegisters
    keys : tuple of str
        Columns of PARTITION BY.
    """

    relation: SqlRelation
    binder: Binder
    variables: tuple[str, ...]
    first: frozenset[str]
    registers: PatternRegisters
    keys: tuple[str, ...]

    def scope(self, current: str | None) -> NameScope:
        """Names in the condition of a variable; without one, those of MEASURES."""
        schema = self.relation.stream.schema
        types = {matched_column(which, variable, each.column).name: schema.type_of(each.column)
                 for each in self.relation.columns for variable in self.variables for which in ("first", "last")}
        types |= {REGISTER + _PREVIOUS + each.column: schema.type_of(each.column) for each in self.relation.columns}
        types |= self.registers.types
        return NameScope(self.binder, self.relation, lambda node: self._special(node, current), types)

    def _special(self, node: Any, current: str | None) -> Expr | None:
        match node:
            case exp.First() | exp.Last():
                return self._matched(node, current)
            case exp.Anonymous() if node.name.upper() in ("PREV", "NEXT", "CLASSIFIER", "MATCH_NUMBER"):
                return self._navigated(node, current)
            case exp.Column() if node.table:
                return self._of_variable("last", node, current)
            case exp.Column() if current is None and not node.name.startswith("$"):
                found = NameScope(self.binder, self.relation).find(node)
                return Col(found.column) if found.column in self.keys else self._of_match("last", found.column)
            case exp.AggFunc() if current is None:
                return self._aggregate(node)
        return None

    def _variable(self, node: Any) -> str:
        for name in self.variables:
            if name.lower() == node.table.lower():
                return name
        raise self._error("pattern variable", node, name=node.table, known=", ".join(dict.fromkeys(self.variables)))

    def _of_variable(self, which: str, node: Any, current: str | None) -> Expr:
        """A column of the first or last event of a variable; in its own condition, of the event that is asked."""
        variable = self._variable(node)
        bare = exp.Column(this=node.this.copy())
        column = NameScope(self.binder, self.relation).find(bare).column
        if variable == current:
            if which == "first":
                raise self._error("own first", node, name=variable)
            return Col(column)
        return matched_column(which, variable, column)

    def _matched(self, node: Any, current: str | None) -> Expr:
        which = "first" if isinstance(node, exp.First) else "last"
        if not isinstance(node.this, exp.Column) or (current is not None and not node.this.table) or any(
                given for key, given in node.args.items() if key != "this"):
            raise self._error("pattern navigation", node, name=which.upper(), variable=self.variables[0])
        if not node.this.table:
            return self._of_match(which, NameScope(self.binder, self.relation).find(node.this).column)
        return self._of_variable(which, node.this, current)

    def of_row(self, column: str) -> Expr:
        """A column of the last row so far."""
        return self._of_match("last", column)

    def _of_match(self, which: str, column: str) -> Expr:
        """A column of the first or last row of the match, whatever its variable."""
        type_, name = self.relation.stream.schema.type_of(column), f"_{which}_{column}"
        if which == "last":
            return self.registers.add(name, type_, type_, self.variables, Col(column))
        count = self._rows()
        value = when(count == 0).then(Col(column)).otherwise(register(name))
        return self.registers.add(name, type_, type_, self.variables, value)

    def _rows(self) -> Expr:
        """The number of rows."""
        return self.registers.add("_count", pa.int64(), 0, self.variables, register("_count") + 1)

    def _navigated(self, node: Any, current: str | None) -> Expr:
        name = node.name.upper()
        if name == "CLASSIFIER" and current is None and not node.expressions:
            return self.registers.each("_classifier", pa.string(), {each: Lit(each) for each in self.variables})
        if name != "PREV" or current is None:
            raise self._error("pattern function", node, name=name)
        column = node.expressions[0] if len(node.expressions) == 1 else None
        if not isinstance(column, exp.Column) or (column.table and self._variable(column) != current):
            raise self._error("previous", node)
        if current in self.first:
            raise self._error("previous of the first", node, name=current)
        found = NameScope(self.binder, self.relation).find(exp.Column(this=column.this.copy())).column
        type_ = self.relation.stream.schema.type_of(found)
        return self.registers.add(_PREVIOUS + found, type_, type_, self.variables, Col(found))

    def _aggregate(self, node: Any) -> Expr:
        """An aggregate of the events of a match, or of one variable."""
        inner = node.this
        if isinstance(node, exp.Count) and (inner is None or isinstance(inner, exp.Star)):
            return self._rows()
        if not isinstance(inner, exp.Column) or type(node) not in (exp.Count, exp.Sum, exp.Min, exp.Max, exp.Avg):
            raise self._error("pattern aggregate", node)
        variables = (self._variable(inner),) if inner.table else self.variables
        if isinstance(inner.this, exp.Star):
            name = f"_count_{variables[0]}"
            return self.registers.add(name, pa.int64(), 0, variables, register(name) + 1)
        column = NameScope(self.binder, self.relation).find(exp.Column(this=inner.this.copy())).column
        place = f"{column}_{variables[0]}" if inner.table else column
        if isinstance(node, exp.Avg):
            total, number = (self._counted(kind, column, place, variables, node) for kind in (exp.Sum, exp.Count))
            return total / number
        return self._counted(type(node), column, place, variables, node)

    def _counted(self, kind: Any, column: str, place: str, variables: Sequence[str], node: Any) -> Expr:
        x, type_ = Col(column), self.relation.stream.schema.type_of(column)
        if kind is exp.Count:
            name = f"_count_{place}"
            return self.registers.add(name, pa.int64(), 0, variables, when(x.is_not_null()).then(
                register(name) + 1).otherwise(register(name)))
        if not (pa.types.is_integer(type_) or pa.types.is_floating(type_)):
            raise self._error("pattern aggregate", node)
        wide = pa.float64() if pa.types.is_floating(type_) else pa.int64()
        name = f"_{kind.__name__.lower()}_{place}"
        so_far = register(name)
        match kind:
            case exp.Sum:
                value = when(x.is_not_null()).then(so_far.fill_null(0) + x.cast(wide)).otherwise(so_far)
            case exp.Min:
                value = when(x.is_not_null() & (so_far.is_null() | (x < so_far))).then(x.cast(wide)).otherwise(so_far)
            case _:
                value = when(x.is_not_null() & (so_far.is_null() | (x > so_far))).then(x.cast(wide)).otherwise(so_far)
        return self.registers.add(name, wide, wide, variables, value)

    def _error(self, kind: str, node: Any, **values: object) -> Exception:
        what, hint = refusal(kind, **values)
        return self.binder.text.error(what, node, hint)


def matched_column(which: str, variable: str, column: str) -> Col:
    found = (first_of if which == "first" else last_of)(variable)(column)
    assert isinstance(found, Col)
    return found
