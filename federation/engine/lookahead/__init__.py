"""What a statement will look at: columns, filters and offsets, read from the plan DuckDB makes of it.

No row is read here.
"""

from federation.engine.lookahead.lookahead import Lookout, Outlook
from federation.engine.lookahead.offset_bounds import bounds_of

__all__ = ["Lookout", "Outlook", "bounds_of"]
