"""Live views of running queries, in notebooks."""
