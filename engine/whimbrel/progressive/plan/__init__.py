"""How a plan is split for sampling: states of blocks, and the result of states."""
