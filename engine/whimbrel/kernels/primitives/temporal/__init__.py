"""Loops over the events of each key around the times of others."""
