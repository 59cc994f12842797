from datetime import UTC, datetime

import pytest

from app.serving.backoff import FIRST_PAUSE_S, LONGEST_PAUSE_S, is_retryable, pause_s
from app.vocabulary.errors import (
    GatewayError,
    VendorAuthentication,
    VendorConnectTimeout,
    VendorFailed,
    VendorMisconfigured,
    VendorOverloaded,
    VendorRateLimited,
    VendorRejected,
    VendorTimeout,
    VendorUnreachable,
)

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
    (VendorConnectTimeout("x"), True),
    (VendorMisconfigured("x"), True),
    (VendorFailed("x", vendor_status=409, headers={"x-should-retry": "true"}), True),
    (VendorFailed("x", billable=True, headers={"x-should-retry": "true"}), False),
    (VendorTimeout("x", billable=True, headers={"x-should-retry": "true"}), False),
    (VendorRateLimited("x", headers={"x-should-retry": "false"}), True),
    (VendorFailed("x", billable=True), False),
    (VendorFailed("x", vendor_status=302), False),
    (VendorFailed("x", vendor_status=500, billable=True), False),
    (VendorRejected("x", vendor_status=400), False),
    (VendorAuthentication("x", vendor_status=401), False),
]


@pytest.mark.parametrize(("error", "passing"), PASSING)
def test_only_what_may_pass_at_no_cost_is_tried_again(error: GatewayError, passing: bool) -> None:
    assert is_retryable(error) is passing


def limited(**headers: str) -> VendorRateLimited:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return VendorRateLimited("x", vendor_status=429, headers=named)


def test_a_short_retry_after_is_kept_and_never_undercut() -> None:
    assert pause_s(limited(retry_after="1"), 0, lambda: 0.0) == 1.0
    assert pause_s(limited(retry_after_ms="1500", retry_after="2"), 0, lambda: 0.0) == 1.5
    assert pause_s(limited(retry_after="1"), 0, lambda: 1.0) == 1.0 + FIRST_PAUSE_S


@pytest.mark.parametrize("attempt", [0, 1])
def test_a_vendor_that_says_not_to_try_again_is_not_called_again(attempt: int) -> None:
    assert pause_s(limited(x_should_retry="false"), attempt) is None
    assert pause_s(limited(x_should_retry="false", retry_after="1"), attempt) is None
    assert pause_s(limited(x_should_retry="true"), attempt) is not None
    assert pause_s(VendorMisconfigured("x"), attempt) is None


@pytest.mark.parametrize(("second", "pause"), [(0, 2.0), (1, 1.0), (2, 0.0), (30, 0.0)])
def test_a_date_is_waited_for_when_it_is_near(second: int, pause: float) -> None:
    at = datetime(2026, 10, 21, 7, 28, second, tzinfo=UTC).timestamp()
    error = limited(retry_after="Wed, 21 Oct 2026 07:28:02 GMT")
    assert pause_s(error, 0, lambda: 0.0, lambda: at) == pause


@pytest.mark.parametrize("value", ["60", "3", "Wed, 21 Oct 2037 07:28:00 GMT"])
def test_a_long_retry_after_is_not_waited_for(value: str) -> None:
    assert pause_s(limited(retry_after=value), 0) is None


def test_pauses_of_our_own_grow_are_bounded_and_not_in_step() -> None:
    longest = [pause_s(limited(), attempt, lambda: 1.0) for attempt in range(6)]
    assert longest == [0.25, 0.5, 1.0, LONGEST_PAUSE_S, LONGEST_PAUSE_S, LONGEST_PAUSE_S]
    assert len({pause_s(limited(), 3) for _ in range(50)}) > 40
