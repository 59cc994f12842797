"""LiveRequest: an admitted request that has not finished, as its recorder knows it."""

from collections.abc import Callable
from dataclasses import dataclass

from app.admission.limiter import AdmissionRequest
from app.usage.messages.open_record import OpenRecord


@dataclass(frozen=True, slots=True)
class LiveRequest:
    """What the request must fit in, and `checkpoint`: its open record with its usage by now.

    Any thread may call `checkpoint`.
    """

    admission: AdmissionRequest
    checkpoint: Callable[[], OpenRecord]
