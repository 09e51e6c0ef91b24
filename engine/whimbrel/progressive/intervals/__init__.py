"""Confidence intervals of estimates."""
