"""Rows that are deleted: which delete files apply to a data file, and which of its rows they hide.

The rules are those of the Iceberg specification.
"""

from coldset.deletes.delete_index import DeleteIndex, cold_file
from coldset.deletes.key_deletes import DeletedKeys, deleted_keys, key_column
from coldset.deletes.position_deletes import deleted_positions

__all__ = ["DeleteIndex", "DeletedKeys", "cold_file", "deleted_keys", "deleted_positions", "key_column"]
