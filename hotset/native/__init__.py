"""The module in C that speaks to librdkafka, where it was built and librdkafka is the one of the wheel.

It is optional: what it does, `hotset.kafka` and `hotset.drain` do in Python as well. This folder only finds
out whether it is there.
"""

from hotset.native.availability import is_pure, native_available

__all__ = ["is_pure", "native_available"]
