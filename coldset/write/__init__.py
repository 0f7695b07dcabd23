"""Write data files, and commit them under a fence.

What the fence means is decided by the caller.
"""

from coldset.write.data_writer import delete_files, write_files
from coldset.write.fenced_commit import commit_append

__all__ = ["commit_append", "delete_files", "write_files"]
