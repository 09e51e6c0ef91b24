"""What all feeds share: connections, buffers, options, dead letters, status."""
