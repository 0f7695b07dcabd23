"""Records taken by the module in C, where it was built and librdkafka is the one of the wheel.

Both are optional: `hotset.drain` does the same in Python.
"""

from hotset.native.availability import is_pure, native_available
from hotset.native.native_source import NativeSource

__all__ = ["NativeSource", "is_pure", "native_available"]
