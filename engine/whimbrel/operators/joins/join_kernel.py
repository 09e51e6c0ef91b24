"""Kernel of the temporal join: pairs, and rows without a partner.

Pairs leave in the order of their starts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from whimbrel.batch import Batch, Column, Schema
from whimbrel.clock import MIN_TIME
from whimbrel.expr import Expr
from whimbrel.kernels import PORTION_ROWS, Kernel
from whimbrel.operators.joins.coverage import Coverage, Pieces
from whimbrel.operators.joins.join_schema import JoinedRow
from whimbrel.operators.joins.pair_matcher import Found, PairMatcher, coverings


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
        self.pairing = PairMatcher(row.on, upstream, kept, schema, columns, condition, nulls_equal=nulls_equal)
        self.input_watermark, self.asked = MIN_TIME, False
        self.coverages = {side: Coverage(covered=False) for side in lonely}
        # Where each column of a row without a partner comes from; None is null.
        self.lonely_columns = {side: [name if home == side or (name in shared and home == 0) else None
                               for home, name in columns] for side in lonely}

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        self.pairing.sides[port].push(batch)
        return []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.input_watermark, self.asked = self.pairing.tell(watermark, port), True
        return self._with_lonely() if self.coverages else self.next_portion()

    @property
    def more(self) -> bool:
        return not self.coverages and (self.asked or not self.pairing.done)

    @property
    def growing(self) -> str:
        left, right = (len(side.active) for side in self.pairing.sides)
        return f"{left:,} events are true at one time on the left, {right:,} on the right"

    def next_portion(self) -> list[Batch]:
        """Pairs as they begin; a row of one side may meet any number of the other."""
        out, remaining = list[Batch](), PORTION_ROWS
        while remaining > 0 and self.more:
            if self.pairing.done:
                self.asked = False
                self.pairing.begin(self.input_watermark)
            while remaining > 0 and not self.pairing.done:
                if (found := self.pairing.some(self.storage)) is not None:
                    out.append(found.rows)
                    remaining -= len(found.rows)
            if self.pairing.done:
                self.pairing.forget(self.pairing.until)
        self.watermark = self.input_watermark if not self.more else min(self.input_watermark, self.pairing.reached)
        return out

    def _with_lonely(self) -> list[Batch]:
        """Pairs, and what is left without a partner, which is known only once all pairs are."""
        self.watermark = self.input_watermark
        found = list(self.pairing.step(self.watermark))
        out = [each.rows for each in found]
        lonely = [self._lonely(side, pieces) for side in self.coverages for pieces in self._pieces(side, found)]
        if lonely:
            rows = Batch.concat(out + lonely)
            out = [rows.take(np.argsort(rows.sync, kind="stable"))]
        for side, alive in enumerate(self.pairing.forget(self.watermark)):
            if alive is not None and side in self.coverages:
                self.coverages[side].stay(alive)
        return out

    def _pieces(self, side: int, found: list[Found]) -> list[Pieces]:
        base, rows = self.pairing.base[side], self.pairing.new[side]
        return self.coverages[side].step(base, rows, *coverings(found, side), self.watermark)

    def _lonely(self, side: int, pieces: Pieces) -> Batch:
        rows = self.pairing.sides[side].active.take(pieces.slot)
        columns = [Column.nulls(field.type, len(rows)) if name is None else rows.column(name)
                   for field, name in zip(self.schema, self.lonely_columns[side], strict=True)]
        return pieces.batch(self.schema, columns, side)

    @property
    def buffered_rows(self) -> int:
        return self.pairing.buffered_rows
