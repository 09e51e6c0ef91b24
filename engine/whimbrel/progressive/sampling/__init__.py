"""Which blocks are read, in which order, and what is known of the others."""
