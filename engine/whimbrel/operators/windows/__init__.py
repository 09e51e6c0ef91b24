"""Windows: fixed, hopping, sliding, session, adaptive."""
