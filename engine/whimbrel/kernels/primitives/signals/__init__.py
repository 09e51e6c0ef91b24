"""Loops over the samples of signals."""
