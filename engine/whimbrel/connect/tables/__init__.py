"""Tables in memory as sources, and the columns that become lifetimes."""
