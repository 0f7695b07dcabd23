"""What a writer's record leaves open, held against the table's rows and Kafka's records.

`settle` is asked once for a snapshot; what nothing shows becomes an assumption, by name.
"""

from federation.boundary.evidence.rows_brought import count_rows
from federation.boundary.evidence.settling import isolation_of, settle

__all__ = ["count_rows", "isolation_of", "settle"]
