"""Add punctuations to rows that leave the process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Field, Schema, numpy_type
from whimbrel.clock import INF, MIN_TIME
from whimbrel.kernels import Kernel
from whimbrel.plan import KnownInput, LineageRequest, Operator, Properties, Reach

PUNCTUATION: Final = "punctuation"
"""The column that is true for punctuations."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Punctuate(Operator):
    """Add a punctuation to the rows whenever the watermark advances.

    A punctuation is a row that starts at the watermark, and whose column ``punctuation`` is true. Its other columns
    have no meaning. A reader in another process learns from it that no earlier row can follow.

        time     0    5    10
        in       a
        out      a         p        (once the watermark is at 10)

    Parameters
    ----------
    None.

    Notes
    -----
    How many punctuations there are depends on how rows arrive. :meth:`whimbrel.Stream.low` adds them to partial
    aggregates, and :meth:`whimbrel.Stream.high` removes them.
    Shapes: the rows that came in, and one for each advance of the watermark. State: none.
    Source: Tucker et al., Exploiting Punctuation Semantics in Continuous Data Streams (TKDE 2003).

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": [0, 4, 12], "x": [1, 2, 3]}, time="at", name="log")
    >>> low = log.tumbling_window(10).aggregate(total=wb.sum(wb.col.x)).low()
    >>> print(low.explain().splitlines()[0].split("   ")[0])
    punctuate()
    """

    takes_any_order: ClassVar[bool] = False

    def schema(self, *upstream: Schema) -> Schema:
        return upstream[0].with_fields([*upstream[0].fields, Field(PUNCTUATION, pa.bool_())], where=self.show())

    def properties(self, *upstream: Properties) -> Properties:
        return Properties(causal=upstream[0].causal)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (frozenset(upstream[0].names),)

    def reach(self, *inputs: Reach) -> Reach | None:
        return None

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        return (wanted.same(),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return PunctuateKernel(self.schema(*upstream))

    def show(self) -> str:
        return "punctuate()"


class PunctuateKernel(Kernel):
    """Passes rows on, and follows the watermark."""

    def __init__(self, out_schema: Schema) -> None:
        self.out_schema = out_schema

    def state_parts(self) -> dict[str, int]:
        return {"watermark": self.watermark}

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        return [self._marked(batch, batch.columns, is_punctuation=False)] if len(batch) else []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        is_news = watermark > self.watermark
        self.watermark = watermark
        if not is_news or watermark in (MIN_TIME, INF):
            return []
        columns = [_nothing(field.type) for field in self.out_schema.fields[:-1]]
        row = Batch(self.out_schema.select(self.out_schema.names[:-1]), np.array([watermark], np.int64), 1,
                    tuple(columns))
        return [self._marked(row, columns, is_punctuation=True)]

    def _marked(self, batch: Batch, columns: Sequence[Column], *, is_punctuation: bool) -> Batch:
        marks = Column(pa.bool_(), np.full(len(batch), is_punctuation))
        return batch.having(schema=self.out_schema, columns=(*columns, marks))


def _nothing(type_: pa.DataType) -> Column:
    """A value that is no null where the type is a number or text: loops for columns with nulls are others."""
    if (physical := numpy_type(type_)) is not None:
        return Column(type_, np.zeros(1, physical))
    return Column(type_, pa.array([""], type_) if pa.types.is_string(type_) else pa.nulls(1, type_))
