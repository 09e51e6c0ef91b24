"""Growing files and directories as feeds."""
