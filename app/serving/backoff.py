"""When a vendor call is made again, and after what pause. No I/O, except for dice and a clock.

Never after a failure that may have been billed: the caller would pay twice for one answer.
"""

import random
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime

from app.vocabulary.errors import (
    SHOULD_RETRY,
    GatewayError,
    VendorAuthentication,
    VendorFailed,
    VendorOverloaded,
    VendorRateLimited,
    VendorRejected,
    VendorUnreachable,
)

#: The first pause, doubled each time, and the longest that a caller is kept waiting for, seconds.
FIRST_PAUSE_S = 0.25
LONGEST_PAUSE_S = 2.0


def is_retryable(error: GatewayError) -> bool:
    """Whether the same call may succeed a little later, or elsewhere, at no further cost."""
    if error.billable or isinstance(error, VendorRejected | VendorAuthentication):
        return False
    if isinstance(error, VendorUnreachable | VendorOverloaded | VendorRateLimited):
        return True
    status = error.vendor_status or 0
    if status == 408 or (status >= 500 and isinstance(error, VendorFailed)):
        return True
    return error.headers.get(SHOULD_RETRY) == "true"


def pause_s(
    error: GatewayError,
    attempt: int,
    dice: Callable[[], float] = random.random,
    clock: Callable[[], float] = time.time,
) -> float | None:
    """Return how long to wait before calling the same vendor again; None: do not.

    `attempt` counts from 0. A vendor that says that no other attempt helps is believed; another
    vendor may still answer. Its `retry-after` is kept to the second, or passed on to the caller
    where it is longer than we keep one waiting; a pause of our own has full jitter.
    """
    if error.headers.get(SHOULD_RETRY) == "false":
        return None
    asked = _retry_after_s(error, clock)
    if asked is not None:
        return asked + dice() * FIRST_PAUSE_S if asked <= LONGEST_PAUSE_S else None
    return min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0**attempt) * dice()


def _retry_after_s(error: GatewayError, clock: Callable[[], float]) -> float | None:
    """Return what `retry-after` asks for, as `app.gateways.decoding.failures` writes it."""
    millis = error.headers.get("retry-after-ms")
    if millis is not None:
        return int(millis) / 1000
    value = error.headers.get("retry-after")
    if value is None:
        return None
    if value.isdigit():
        return float(value)
    return max(0.0, parsedate_to_datetime(value).timestamp() - clock())
