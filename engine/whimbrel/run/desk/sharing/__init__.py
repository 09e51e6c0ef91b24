"""One aggregation for many queries that differ in their conditions and keys."""
