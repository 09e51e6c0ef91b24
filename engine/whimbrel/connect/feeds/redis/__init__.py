"""Redis streams as feeds."""
