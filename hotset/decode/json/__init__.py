"""JSON records to Arrow: by the reader in C, and exactly by `json_exact` for what it does not take.

Topics and offsets are not known here.
"""

from hotset.decode.json.epoch_unit import EpochUnit
from hotset.decode.json.json_decoder import decode_json

__all__ = ["EpochUnit", "decode_json"]
