"""Message formats: from bytes or Python objects to rows."""
