"""Errors of the services that Tollgate itself needs."""

from app.vocabulary.errors.base import TollgateError


class Unavailable(TollgateError):
    """A service that Tollgate needs does not respond; a retry may succeed."""

    status = 503
    code = "service_unavailable"
    acts = "the operator: `GET /readyz` names the service that is down."


class StreamUnavailable(Unavailable):
    """Redis does not respond, so the request cannot be admitted or its usage recorded.

    `reason` is the word for it in metrics.
    """

    code = "accounting_unavailable"
    reason = "redis_down"


class StreamTimeout(StreamUnavailable):
    """Redis did not respond in time; it may have done what it was asked for."""

    reason = "redis_timeout"


class StreamFull(StreamUnavailable):
    """Redis has reached its memory limit; it has done nothing, and still responds."""

    reason = "redis_full"


class LedgerUnavailable(Unavailable):
    """The SQL database does not respond, or its schema is not up to date."""

    code = "ledger_unavailable"
