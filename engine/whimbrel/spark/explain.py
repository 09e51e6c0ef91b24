"""Explain how Spark executes a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.plan import Node, explain
from whimbrel.spark.execution import SparkExecution, stages
from whimbrel.spark.stages import Before, How, Stage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def explain_on_spark(plan: Node, spark: SparkSession) -> str:
    """Explain the stages of a query on Spark, in order.

    Each stage has its executor, the rows that a task gets, and the plan that the task runs.
    """
    carriage = SparkExecution(plan, spark)
    if carriage.pieces:
        tasks = len(carriage.pieces)
        each = "which reads its rows itself" if tasks == 1 else "each of which reads a range of time itself"
        return f"on Spark, in {_tasks(tasks)}, {each}\n{explain(plan)}"
    every = list(stages(carriage.stage))
    text = [f"on Spark, in {len(every)} stage{'' if len(every) == 1 else 's'}"]
    for number, stage in enumerate(every, 1):
        sql = carriage.in_sql(stage) is not None
        by = "Spark SQL" if sql else "the engine's kernels"
        text += [f"{number}. {by}, {_exchange(stage)}", _indented(explain(_numbered(stage.plan, every)))]
    return "\n".join(text)


def _exchange(stage: Stage) -> str:
    if stage.how is How.KEY:
        keys = (f"({', '.join(dict.fromkeys(columns.values()))})" for columns in stage.by)
        return f"by key {' and '.join(keys)}, each in the order of time"
    if stage.how is How.TIME and stage.reach is not None:
        halo = "" if not (stage.reach.back or stage.reach.forward) else ", each with what lies within its reach"
        return f"{stage.how.value}{halo}"
    return stage.how.value


def _numbered(plan: Node, every: list[Stage]) -> Node:
    """With earlier stages by their number."""
    def named(node: Node) -> Node:
        if isinstance(node.op, Before):
            node.op.name = f"stage {every.index(node.op.stage) + 1}"
        return node

    return plan.rewrite(named)


def _indented(text: str) -> str:
    return "\n".join(f"   {line}" for line in text.splitlines())


def _tasks(number: int) -> str:
    return "one task" if number == 1 else f"{number} tasks"
