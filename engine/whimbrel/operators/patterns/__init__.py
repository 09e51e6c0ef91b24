"""Pattern detection."""
