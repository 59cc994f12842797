import pytest

from app.errors import (
    GatewayError,
    VendorAuthentication,
    VendorFailed,
    VendorOverloaded,
    VendorRateLimited,
    VendorRefused,
    VendorTimeout,
    VendorUnreachable,
)
from app.retrying import FIRST_PAUSE_S, LONGEST_PAUSE_S, is_passing, pause_s

PASSING: list[tuple[GatewayError, bool]] = [
    (VendorUnreachable("x"), True),
    (VendorOverloaded("x", vendor_status=529), True),
    (VendorRateLimited("x", vendor_status=429), True),
    (VendorFailed("x", vendor_status=500), True),
    (VendorFailed("x", vendor_status=502), True),
    (VendorTimeout("x", vendor_status=408), True),
    (VendorTimeout("x", vendor_status=504, billable=True), False),
    (VendorTimeout("x", billable=True), False),
    (VendorTimeout("x"), False),
    (VendorFailed("x", billable=True), False),
    (VendorFailed("x", vendor_status=302), False),
    (VendorFailed("x", vendor_status=500, billable=True), False),
    (VendorRefused("x", vendor_status=400), False),
    (VendorAuthentication("x", vendor_status=401), False),
]


@pytest.mark.parametrize(("error", "passing"), PASSING)
def test_only_what_may_pass_at_no_cost_is_tried_again(error: GatewayError, passing: bool) -> None:
    assert is_passing(error) is passing


def limited(**headers: str) -> VendorRateLimited:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return VendorRateLimited("x", vendor_status=429, headers=named)


def test_a_short_retry_after_is_kept_and_never_undercut() -> None:
    assert pause_s(limited(retry_after="1"), 0, lambda: 0.0) == 1.0
    assert pause_s(limited(retry_after_ms="1500", retry_after="2"), 0, lambda: 0.0) == 1.5
    assert pause_s(limited(retry_after="1"), 0, lambda: 1.0) == 1.0 + FIRST_PAUSE_S


@pytest.mark.parametrize("value", ["60", "3", "Wed, 21 Oct 2037 07:28:00 GMT"])
def test_a_long_retry_after_is_not_waited_for(value: str) -> None:
    assert pause_s(limited(retry_after=value), 0) is None


def test_pauses_of_our_own_grow_are_bounded_and_not_in_step() -> None:
    longest = [pause_s(limited(), attempt, lambda: 1.0) for attempt in range(6)]
    assert longest == [0.25, 0.5, 1.0, LONGEST_PAUSE_S, LONGEST_PAUSE_S, LONGEST_PAUSE_S]
    assert len({pause_s(limited(), 3) for _ in range(50)}) > 40
