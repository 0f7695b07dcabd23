"""The formats that are fuzzed, each by the name it has on the command line.

A format registers itself with one line here and one module beside this. The
module is imported when its format is asked for, and not before.
"""

from __future__ import annotations

import importlib
from typing import Final

from tests.fuzz.frame import Target

# Name of a format, and the module with its `make_round`.
TARGETS: Final = {
    "avro": "tests.fuzz.avro_target",
    "framed": "tests.fuzz.framed_target",
    "json": "tests.fuzz.json_target",
    "protobuf": "tests.fuzz.protobuf_target",
}


def target(name: str) -> Target:
    """Return a format by its name."""
    found: Target = importlib.import_module(TARGETS[name])
    return found
