"""A progressive query: updates, stopping, pause, resume, save."""
