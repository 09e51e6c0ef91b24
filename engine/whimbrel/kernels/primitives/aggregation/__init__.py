"""Loops over the states and values of groups."""
