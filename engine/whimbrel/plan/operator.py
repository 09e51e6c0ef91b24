"""The contract of operators: immutable, typed, and executable by a kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from whimbrel.batch import Schema
from whimbrel.expr import Keys
from whimbrel.kernels import Kernel
from whimbrel.plan.lineage import EVERYTHING, KnownInput, LineageRequest
from whimbrel.plan.ordered_columns import Ordered
from whimbrel.plan.properties import Properties
from whimbrel.plan.reach import Reach

HIDDEN = ""
"""Stands for a column that decides in which partition a row is, and that the row does not have any more."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Operator(ABC):
    """What happens to a stream, as data. One operator, one file.

    An operator knows nothing of its neighbours: whatever it needs of its inputs is handed to it. It is immutable,
    so plans can be rewritten and shared.
    """

    arity: ClassVar[int] = 1
    """How many input streams."""

    ends_grouping: ClassVar[bool] = False
    """Whether results carry the keys of ``group_by`` as columns, so that what follows is not grouped any more."""

    accepts_edges: ClassVar[bool] = False
    """Whether the kernel takes start and end edges; if not, the planner joins edges to intervals before it."""

    takes_any_order: ClassVar[bool] = False
    """Whether rows may come in any order: each is answered for itself, and no two times change places."""

    row_by_row: ClassVar[bool] = False
    """Whether each row out is one row in, whatever the others are: at most with other columns, or another lifetime."""

    relates_inputs: ClassVar[bool] = True
    """With several inputs: whether an event of one can change the result of another. If so, none may have lookahead."""

    late_rows_change: ClassVar[Literal["starts", "lifetimes"] | None] = None
    """Rows that a late row changes: those that start, or are active, within `reach` of it. None: maybe all of them."""

    @abstractmethod
    def schema(self, *upstream: Schema) -> Schema:
        """Schema of the output, with checks that need no data.

        A user's mistake is an error here, not at the first row.
        """

    @abstractmethod
    def kernel(self, *upstream: Schema) -> Kernel:
        """Make the kernel for inputs of these schemas."""

    def properties(self, *upstream: Properties) -> Properties:
        """Properties of the output, from those of the inputs."""
        return upstream[0]

    def ordered_columns(self, schemas: Sequence[Schema], known: Sequence[Properties]) -> Ordered:
        """Columns of the output that are in an order.

        They follow from schemas and properties of the inputs.
        Default: none is known to be.
        """
        return ()

    def reach(self, *inputs: Reach) -> Reach | None:
        """Reach of a range of the output into the inputs.

        From that follows how much of the sources the range needs. Default: None, not known.
        """
        return None

    def partitioned(self, *by: str) -> str | None:
        """Column by which the output is partitioned.

        Each input is partitioned by the column with its name in `by`. Rows of different partitions must not change the
        results of each other. :data:`HIDDEN` stands for a column that is not there any more. None: rows of different
        partitions meet. Default: they do, unless rows may come in any order.
        """
        return by[0] if self.takes_any_order else None

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        """Lineage: the rows of each input that wanted rows depend on.

        Default: all rows.
        """
        return (EVERYTHING,) * len(inputs)

    def suffices(self, wanted: LineageRequest) -> bool:
        """True if the wanted rows need only their own input rows.

        Each output row then is one input row.
        """
        return self.row_by_row

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        """Input columns, per input, that the wanted output columns need.

        Default: all.
        """
        return tuple(frozenset(schema.names) for schema in upstream)

    def grouping_keys(self) -> Keys:
        """Names and expressions of the grouping keys.

        Default: none.
        """
        return ()

    def narrowed(self, wanted: frozenset[str]) -> Operator:
        """Copy of the operator with only the wanted columns.

        Default: the operator itself, with all columns.
        """
        return self

    def notes(self, *upstream: Schema) -> Sequence[str]:
        """Notes for users about the execution.

        ``explain()`` prints them after the operator.
        """
        return ()

    @abstractmethod
    def show(self) -> str:
        """One line in the user's own words, for plans and errors."""
