"""What a writer's record leaves open, held against the table's rows and Kafka's records.

`settle` is asked once for a snapshot; what nothing shows becomes an assumption, by name.
"""

from federation.boundary.evidence.settling import isolation_of, settle

__all__ = ["isolation_of", "settle"]
