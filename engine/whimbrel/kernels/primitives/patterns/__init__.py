"""Loops over the runs of pattern automata."""
