"""When a vendor call is made again, and after what pause. Pure, but for the dice.

Never after a failure that may have been billed: the caller would pay twice for one answer.
"""

import random
from collections.abc import Callable

from app.errors import (
    GatewayError,
    VendorFailed,
    VendorOverloaded,
    VendorRateLimited,
    VendorTimeout,
    VendorUnreachable,
)

#: The first pause, doubled each time, and the longest that a caller is kept waiting for, seconds.
FIRST_PAUSE_S = 0.25
LONGEST_PAUSE_S = 2.0


def is_passing(error: GatewayError) -> bool:
    """Whether the same call may succeed a little later, or elsewhere, at no further cost."""
    if error.billable:
        return False
    if isinstance(error, VendorUnreachable | VendorOverloaded | VendorRateLimited):
        return True
    status = error.vendor_status or 0
    return isinstance(error, VendorFailed | VendorTimeout) and (status == 408 or status >= 500)


def pause_s(
    error: GatewayError, attempt: int, dice: Callable[[], float] = random.random
) -> float | None:
    """Return how long to wait before trying again; None: do not, the caller knows better.

    `attempt` counts from 0. A vendor's `retry-after` is kept to the second, or passed on to the
    caller where it is longer than we keep one waiting; a pause of our own has full jitter.
    """
    asked = _retry_after_s(error)
    if asked is not None:
        return asked + dice() * FIRST_PAUSE_S if asked <= LONGEST_PAUSE_S else None
    return min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0**attempt) * dice()


def _retry_after_s(error: GatewayError) -> float | None:
    millis = error.headers.get("retry-after-ms")
    if millis is not None:
        return int(millis) / 1000
    value = error.headers.get("retry-after")
    if value is None:
        return None
    return (
        float(value) if value.isdigit() else LONGEST_PAUSE_S + 1
    )  # an HTTP date: not ours to wait for
