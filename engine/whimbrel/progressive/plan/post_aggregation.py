"""Evaluate the operators after the last aggregate over windows."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Field, table_from_batches
from whimbrel.clock import INF
from whimbrel.optimize import optimize
from whimbrel.plan import Node, PushSource
from whimbrel.progressive.plan.query_split import ROW, SplitQuery
from whimbrel.run import Pipeline, in_order


class PostAggregation:
    """Evaluates the rest of a query for states of panes, or for values of windows.

    Lookup tables, such as names of keys, are read once.

    Parameters
    ----------
    split : SplitQuery
    """

    def __init__(self, split: SplitQuery) -> None:
        self._split = split
        self._pipelines: dict[bool, Pipeline] = {}

    def of_values(self, batch: Batch) -> pa.Table:
        """The result for these values of windows; :data:`ROW` has the index of each row, if rows are kept."""
        if self._split.tail_keeps_rows:
            numbers = Column(pa.int64(), np.arange(len(batch)))
            schema = batch.schema.with_fields([*batch.schema, Field(ROW, pa.int64())])
            batch = batch.having(schema=schema, columns=(*batch.columns, numbers))
        return self._answer(batch, states=False)

    def of_states(self, batch: Batch) -> pa.Table:
        """The result for these states of panes."""
        return self._answer(batch, states=True)

    def _answer(self, batch: Batch, *, states: bool) -> pa.Table:
        if states not in self._pipelines:
            self._pipelines[states] = self._begun(states=states)
        pipeline = self._pipelines[states].fork([0])
        sent = [pipeline.sent_watermarks[entry] for entry in pipeline.entries]
        source, = (number for number, watermark in enumerate(sent) if watermark < INF)
        batch = batch.take(np.argsort(batch.sync, kind="stable")).select(pipeline.sources[source].schema.names)
        out = [*(pipeline.push(source, batch)[0] if len(batch) else []), *pipeline.advance(source, INF)[0]]
        return in_order(table_from_batches(self._plans[states].schema, out))

    def _begun(self, *, states: bool) -> Pipeline:
        """A pipeline that has read all inputs but the rows."""
        pipeline = Pipeline(optimize(self._plans[states]))
        for number, source in enumerate(pipeline.sources):
            if source.name != _NAME:
                for batch in source.read(source.schema.names):
                    if batch is not None:
                        pipeline.push(number, batch)
                pipeline.finish(number)
        return pipeline

    @cached_property
    def _plans(self) -> dict[bool, Node]:
        split = self._split
        schema = split.answer
        if split.tail_keeps_rows:
            schema = schema.with_fields([*schema, Field(ROW, pa.int64())])
        return {False: split.after(PushSource(_NAME, "", schema, split.window.size), states=False),
                True: split.after(PushSource(_NAME, "", split.merged, split.window.hop), states=True)}


_NAME = "progressive:input"
