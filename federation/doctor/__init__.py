"""What is wrong with a federated table, or soon will be: one examination, and what it found.

`examine` gathers facts and judges them; it reads only, and repairs nothing. What
each finding means and what to do about it is in the catalogue and in DOCTOR.md.
"""

from federation.doctor.catalogue import KINDS, kind_of
from federation.doctor.examination import LOOK_BACK, examine
from federation.doctor.findings import Report, Severity

__all__ = ["KINDS", "LOOK_BACK", "Report", "Severity", "examine", "kind_of"]
