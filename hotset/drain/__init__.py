"""Read exact offset ranges of a topic into Arrow columns of raw bytes.

Values are not looked into.
"""

from hotset.drain.drain_ranges import drain

__all__ = ["drain"]
