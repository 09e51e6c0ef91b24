"""Loops over lifetimes: durations, overlaps, chains."""
