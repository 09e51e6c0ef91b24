"""Functions of time: other events, windows, loops over periodic streams."""
