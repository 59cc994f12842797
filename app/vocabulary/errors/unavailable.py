"""Errors of the services that Tollgate itself needs."""

from app.vocabulary.errors.base import TollgateError


class Unavailable(TollgateError):
    """A service that Tollgate needs does not respond; a retry may succeed."""

    status = 503
    code = "service_unavailable"


class StreamUnavailable(Unavailable):
    """Redis does not respond, so the request cannot be admitted or its usage recorded."""

    code = "accounting_unavailable"


class LedgerUnavailable(Unavailable):
    """The SQL database does not respond, or its schema is not up to date."""

    code = "ledger_unavailable"
