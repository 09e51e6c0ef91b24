"""Example logs, built once from installed packages."""
