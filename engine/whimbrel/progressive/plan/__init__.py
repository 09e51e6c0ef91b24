"""Split of a plan for sampling: states of blocks, and their result."""
