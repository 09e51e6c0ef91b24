"""A join at work: pairs as they begin, and what is left without a partner."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from whimbrel.batch import Batch, Column, Schema
from whimbrel.expr import Expr
from whimbrel.kernels import Kernel
from whimbrel.operators.coverage import Coverage, Pieces
from whimbrel.operators.joined_row import JoinedRow
from whimbrel.operators.pairing import Found, Pairing, coverings


class JoinKernel(Kernel):
    """Takes rows of both sides in time order, as far as both are known.

    Parameters
    ----------
    row : JoinedRow
    upstream : tuple of Schema
        Of both sides.
    schema : Schema
        Of the joined rows.
    condition : Expr, optional
        Part of what makes a pair.
    lonely : sequence of int
        Sides (0 or 1) whose rows are kept while they have no partner.
    nulls_equal : bool
        Whether a null key matches a null key.
    """

    def __init__(self, row: JoinedRow, upstream: tuple[Schema, Schema], schema: Schema, condition: Expr | None,
                 lonely: Sequence[int], *, nulls_equal: bool = False) -> None:
        self.schema = schema
        columns = [(side, old) for side, old, _ in row.columns(*upstream)]
        shared = {mine for mine, theirs in row.on if mine == theirs}
        kept = [[name for name in upstream[side].names
                 if (side, name) in columns or (side in lonely and name in shared)] for side in (0, 1)]
        self.pairing = Pairing(row.on, upstream, kept, schema, columns, condition, nulls_equal=nulls_equal)
        self.coverages = {side: Coverage(covered=False) for side in lonely}
        # Where each column of a row without a partner comes from; None is null.
        self.lonely_columns = {side: [name if home == side or (name in shared and home == 0) else None
                               for home, name in columns] for side in lonely}

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        self.pairing.sides[port].push(batch)
        return []

    def advance(self, frontier: int, port: int = 0) -> list[Batch]:
        self.frontier = self.pairing.tell(frontier, port)
        if not self.coverages:
            out = [found.rows for found in self.pairing.step(self.frontier, self.storage)]
            self.pairing.forget(self.frontier)
            return out
        found = list(self.pairing.step(self.frontier))
        out = [each.rows for each in found]
        lonely = [self._lonely(side, pieces) for side in self.coverages for pieces in self._pieces(side, found)]
        if lonely:
            rows = Batch.concat(out + lonely)
            out = [rows.take(np.argsort(rows.sync, kind="stable"))]
        for side, alive in enumerate(self.pairing.forget(self.frontier)):
            if alive is not None and side in self.coverages:
                self.coverages[side].stay(alive)
        return out

    def _pieces(self, side: int, found: list[Found]) -> list[Pieces]:
        base, rows = self.pairing.base[side], self.pairing.new[side]
        return self.coverages[side].step(base, rows, *coverings(found, side), self.frontier)

    def _lonely(self, side: int, pieces: Pieces) -> Batch:
        rows = self.pairing.sides[side].active.take(pieces.slot)
        columns = [Column.nulls(field.type, len(rows)) if name is None else rows.column(name)
                   for field, name in zip(self.schema, self.lonely_columns[side], strict=True)]
        return pieces.batch(self.schema, columns, side)

    @property
    def buffered_rows(self) -> int:
        return self.pairing.buffered_rows
