"""Feeds: unbounded sources with a connection.

Each feed has a file. :mod:`~whimbrel.connect.feeds.runtime` holds the parts that all feeds share.
"""

from whimbrel.connect.feeds.runtime.dead_letter_queue import DeadLetterSource
from whimbrel.connect.feeds.runtime.feed import Feed
from whimbrel.connect.feeds.runtime.feed_reader import FeedReader
from whimbrel.connect.feeds.runtime.feed_status import FeedStatus
from whimbrel.connect.feeds.runtime.overload import Conflate, Overload, Sample, WidenHop

__all__ = ["Conflate", "DeadLetterSource", "Feed", "FeedReader", "FeedStatus", "Overload", "Sample", "WidenHop"]
