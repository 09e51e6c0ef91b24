"""Load shedding of queries."""
