"""Sources of CSV, JSON lines and Arrow IPC files."""
