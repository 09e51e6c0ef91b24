"""Thresholds of samples and of their intervals."""

from __future__ import annotations

MIN_BLOCKS_TO_SAMPLE = 20
"""Blocks of a source; a sample of fewer, such as the row groups of a small file, is drawn only on request."""
MIN_BLOCKS_OF_GROUP = 10
"""Blocks with rows of a group, before the group has an interval."""
MIN_DEGREES, MIN_DEGREES_OF_SQUARES = 25.0, 50.0
"""Degrees of freedom of the variance between blocks, before a value has an interval. Where fewer blocks make that
variance, an unread block may add as much. Values made of squares need more."""
LIGHT_TAILS = 0.8
"""Degrees of freedom per block drawn that are enough, too: the tails are about as light as those of the normal
distribution. Not for values made of squares."""
DEGREES_OF_ALL = 0.7
"""The fraction of the degrees of freedom which a group needs that all groups must reach together."""
