"""An exact model of the engine, and laws of all operators.

``whimbrel.testing.strategies`` needs hypothesis and is therefore imported by name.
"""

from whimbrel.testing.block_checks import check_blocks
from whimbrel.testing.laws import check_operator
from whimbrel.testing.query import Query
from whimbrel.testing.rows import EXAMPLE_SCHEMA, BatchedRows

__all__ = ["EXAMPLE_SCHEMA", "BatchedRows", "Query", "check_blocks", "check_operator"]
