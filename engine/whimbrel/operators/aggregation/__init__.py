"""Aggregation by group and window: accumulators, panes, snapshots, results."""
