"""Periodic streams as one generated loop."""
