"""Packets of captures: records of files, layers, fields and names."""
