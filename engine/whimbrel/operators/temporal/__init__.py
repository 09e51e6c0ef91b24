"""Values of other events as columns."""
