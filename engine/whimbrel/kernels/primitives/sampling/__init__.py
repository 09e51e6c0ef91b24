"""Loops over blocks of a sample, their states and confidence intervals."""
