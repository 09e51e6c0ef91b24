"""Loops over blocks of a sample, their states, and the intervals that follow."""
