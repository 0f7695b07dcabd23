"""What is wrong with a federated table, or soon will be: one examination, and what it found.

`examine` gathers facts and judges them; it reads only, and repairs nothing. What
each finding means and what to do about it is in the catalogue and in DOCTOR.md.
"""

from federation.doctor.catalogue import KINDS, Kind, kind_of
from federation.doctor.examine import LOOK_BACK, WARN_WITHIN_MS, examine
from federation.doctor.findings import Finding, Report, Severity, Unchecked

__all__ = [
    "KINDS",
    "LOOK_BACK",
    "WARN_WITHIN_MS",
    "Finding",
    "Kind",
    "Report",
    "Severity",
    "Unchecked",
    "examine",
    "kind_of",
]
