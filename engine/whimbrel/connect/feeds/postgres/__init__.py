"""PostgreSQL tables and their change logs as feeds."""
