"""Which errors of a ledger mean that it can never store an event."""

from sqlalchemy.exc import DataError, IntegrityError

#: Any other error is a fault of Tollgate or of a service: it is raised, and the events stay where
#: they are until the fault is fixed.
REJECTIONS = (DataError, IntegrityError, ValueError, OverflowError)
