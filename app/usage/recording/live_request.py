"""LiveRequest: an admitted request that has not finished, as its recorder knows it."""

from collections.abc import Callable

from msgspec import Struct

from app.admission.limiter import AdmissionRequest
from app.usage.cost import Cost
from app.usage.messages.open_record import OpenRecord


class LiveRequest(Struct, frozen=True):
    """What the request must fit in, and `checkpoint`: its open record with its usage by now.

    Any thread may call `checkpoint`. `cost` returns what the finished request cost, if that was
    computed for its response, so that it is not computed again for its charge.
    """

    admission: AdmissionRequest
    checkpoint: Callable[[], OpenRecord]
    cost: Callable[[], Cost | None] = lambda: None
