"""Whether a vendor call is retried, and after which pause. No I/O.

A failure that may be billed is never retried: the caller would pay twice for one completion.
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

#: The first pause, which doubles each time, and the longest one, in seconds.
FIRST_PAUSE_S = 0.25
LONGEST_PAUSE_S = 2.0


def is_retryable(error: GatewayError) -> bool:
    """Whether the same call may succeed on a retry, or at another candidate, at no extra cost."""
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
    """Return the seconds to wait before calling the same vendor again; None: do not retry.

    `attempt` counts from 0. A vendor's `x-should-retry: false` rules out a retry at the same
    vendor. Its `retry-after` is obeyed; one above LONGEST_PAUSE_S goes to the caller instead.
    Without it, the pause grows exponentially, with full jitter. `dice` returns 0 to 1, `clock`
    Unix seconds.
    """
    if error.headers.get(SHOULD_RETRY) == "false":
        return None
    asked = _retry_after_s(error, clock)
    if asked is not None:
        return asked + dice() * FIRST_PAUSE_S if asked <= LONGEST_PAUSE_S else None
    return min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0**attempt) * dice()


def _retry_after_s(error: GatewayError, clock: Callable[[], float]) -> float | None:
    """Return the seconds of `retry-after`, as `app.gateways.decoding.retry_hints` writes it."""
    millis = error.headers.get("retry-after-ms")
    if millis is not None:
        return int(millis) / 1000
    value = error.headers.get("retry-after")
    if value is None:
        return None
    if value.isdigit():
        return float(value)
    return max(0.0, parsedate_to_datetime(value).timestamp() - clock())
