"""Rows that come from outside while they come: one file a feed, and what all of them share."""

from whimbrel.connect.feeds.runtime.dead_letter_queue import DeadLetterSource
from whimbrel.connect.feeds.runtime.feed import Feed
from whimbrel.connect.feeds.runtime.feed_reader import FeedReader
from whimbrel.connect.feeds.runtime.feed_status import FeedStatus
from whimbrel.connect.feeds.runtime.overload import Conflate, Overload, Sample, WidenHop

__all__ = ["Conflate", "DeadLetterSource", "Feed", "FeedReader", "FeedStatus", "Overload", "Sample", "WidenHop"]
