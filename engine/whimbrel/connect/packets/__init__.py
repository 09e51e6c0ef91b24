"""Packets of captures as rows."""
