"""Feeds of tables of lakes: new versions arrive as rows."""
