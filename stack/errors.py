"""One error for local services, so that "no broker" is never mistaken for a wrong answer.

It must not know the errors of the packages under test: a service that does not start says nothing
about them.
"""

from __future__ import annotations


class StackError(Exception):
    """A local service could not be started, stopped or reached in time."""
