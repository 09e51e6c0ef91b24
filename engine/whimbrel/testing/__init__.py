"""How the engine is held to its word: a slow exact model, and the laws that every operator keeps.

``whimbrel.testing.strategies`` needs hypothesis and is therefore imported by name.
"""

from whimbrel.testing.laws import check_operator
from whimbrel.testing.query import Query
from whimbrel.testing.rows import EXAMPLE_SCHEMA, BatchedRows

__all__ = ["EXAMPLE_SCHEMA", "BatchedRows", "Query", "check_operator"]
