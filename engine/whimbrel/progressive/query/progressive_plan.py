"""Decide between a sample of blocks and a run in time order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from whimbrel.errors import PlanError
from whimbrel.plan import Blocks, Node
from whimbrel.progressive.estimation.estimate import check_ends
from whimbrel.progressive.late.late_rows_model import LateRowsModel
from whimbrel.progressive.plan.query_split import SplitQuery, one_ended
from whimbrel.progressive.sample_thresholds import MIN_BLOCKS_TO_SAMPLE
from whimbrel.progressive.sampling.block_states import BlockStates
from whimbrel.progressive.sampling.blocks import read_in_blocks

Array = np.ndarray[Any, Any]
Intervals = Literal["approximate", "guaranteed"]
ORDERS = ("random", "newest", "oldest")


@dataclass(frozen=True)
class ProgressiveOptions:
    """What a user asks of a progressive query, except when updates are due.

    Attributes
    ----------
    confidence : float
    seed : int
    order : {"random", "newest", "oldest", "time"} or None
        None: random if the query allows it, else time order.
    block_rows : int or None
    late : LateRowsModel or None
        The model of late rows, for intervals that allow for rows still to come.
    intervals : {"approximate", "guaranteed"}
    """

    confidence: float = 0.95
    seed: int = 0
    order: Literal["random", "newest", "oldest", "time"] | None = None
    block_rows: int | None = None
    late: LateRowsModel | None = None
    intervals: Intervals = "approximate"


class Fallback(NamedTuple):
    """Why a query runs in time order, and has no intervals."""

    reason: str


class BlockPlan(NamedTuple):
    """How a query runs block by block.

    Attributes
    ----------
    split : SplitQuery
    states : BlockStates
    blocks : Blocks
    begin : numpy.ndarray of int64 or None
        The blocks that are read before a sample of the others is drawn; None: the sample is drawn at once.
    without_intervals : str
        Why there are no intervals before the end; empty if there are.
    """

    split: SplitQuery
    states: BlockStates
    blocks: Blocks
    begin: Array | None
    without_intervals: str


def plan_progressive(plan: Node, options: ProgressiveOptions, *, resumes: bool = False) -> BlockPlan | Fallback:
    """Decide once how a query runs.

    Parameters
    ----------
    plan : Node
        As written.
    options : ProgressiveOptions
    resumes : bool
        Whether the query resumes from a file: that needs blocks.

    Raises
    ------
    PlanError
        If the query cannot run with these options.
    """
    planned = _planned(plan, options)
    if isinstance(planned, BlockPlan):
        check_ends(plan, () if planned.without_intervals else planned.split.result_columns)
        return planned
    late, order = options.late, options.order
    if late is not None and order is None and not late.live:
        raise PlanError(f"It is unclear when {late.source.name} ends: {planned.reason}.",
                        where="progressive(late=...)",
                        hint='Use order="random" if it ends now, or order="time" to read to its end.')
    check_ends(plan, one_ended(plan))
    if resumes:
        raise PlanError(f"Rows are read in time order: {planned.reason}.", where="progressive(resume=...)",
                        hint='Use the checkpoints of a run: query.start(checkpoints=wb.Checkpoints("folder")).')
    if order in ORDERS:
        raise PlanError(f"Rows cannot be read in the order {order!r}: {planned.reason}.",
                        where=f"progressive(order={order!r})",
                        hint='Use order="time" for estimates without intervals.')
    return planned


def _planned(plan: Node, options: ProgressiveOptions) -> BlockPlan | Fallback:
    if options.order == "time":
        return Fallback('order="time" was set')
    found = read_in_blocks(plan if options.late is None else options.late.plan, options.block_rows)
    if isinstance(found, str):
        return Fallback(found)
    planned = BlockPlan(*found)
    if options.order is None and len(planned.blocks) < MIN_BLOCKS_TO_SAMPLE:
        return Fallback(f"its source has only {len(planned.blocks)} blocks, too few for a sample")
    return planned
