"""Rows that come from outside while they come: one file a feed, and what all of them share."""

from whimbrel.connect.feeds.feed import Feed
from whimbrel.connect.feeds.letters import DeadLetters
from whimbrel.connect.feeds.overload import Conflate, Overload, Sample, WidenHop
from whimbrel.connect.feeds.reading import Reading
from whimbrel.connect.feeds.state import FeedState

__all__ = ["Conflate", "DeadLetters", "Feed", "FeedState", "Overload", "Reading", "Sample", "WidenHop"]
