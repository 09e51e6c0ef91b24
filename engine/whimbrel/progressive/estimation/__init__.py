"""Estimates from the blocks read so far."""
