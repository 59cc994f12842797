"""RequestContext: who makes a request, beyond what its body says."""

from collections.abc import Sequence
from typing import NamedTuple

from app.tracing.trace_context import UNTRACED, Trace
from app.usage.metering.observer import UNOBSERVED, Observer
from app.vocabulary.limits import Limits


class RequestContext(NamedTuple):
    """The request's identity and account, the limits it must fit in, its trace and observer.

    `client_retry_count`: how often the client says that it has retried the request.
    """

    request_id: str
    account_id: str
    api_key_id: str
    client_retry_count: int = 0
    limits: Sequence[Limits] = ()
    trace: Trace = UNTRACED
    observer: Observer = UNOBSERVED
