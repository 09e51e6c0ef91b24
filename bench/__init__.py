"""Benchmarks: one file per question, against peers and against the limit of the hardware, answers compared first."""
