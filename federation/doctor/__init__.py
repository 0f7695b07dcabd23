"""What is wrong with a federated table, or soon will be: one examination, and what it found.

`examine` gathers facts and judges them; it reads only, and repairs nothing. What
each finding means and what to do about it is in the catalogue and in DOCTOR.md. What
only a person can say is written down by `write_repair`.
"""

from federation.doctor.catalogue import KINDS, kind_of
from federation.doctor.examination import LOOK_BACK, examine
from federation.doctor.findings import Report, Severity
from federation.doctor.repair import plan_repair, write_repair

__all__ = [
    "KINDS",
    "LOOK_BACK",
    "Report",
    "Severity",
    "examine",
    "kind_of",
    "plan_repair",
    "write_repair",
]
