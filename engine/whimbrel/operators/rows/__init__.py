"""Operators on single rows: filter, project, unite, sort, declare."""
