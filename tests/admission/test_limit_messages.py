"""Headers, warnings and errors about limits."""

from typing import Any

import pytest

from app.admission.limit_messages import (
    LimitOutcome,
    limit_error,
    limit_headers,
    show_duration,
    warning,
)
from app.admission.reservations import UNITS, Check, LimitState
from app.vocabulary.errors import InsufficientQuota, LimitReached, RateLimited
from app.vocabulary.limits import Limits
from app.vocabulary.money import NANO

#: 2026-12-01, in Unix seconds.
DECEMBER_S = 1_796_083_200
ACME = Limits(kind="account", subject_id="acme", budget_nanousd=10 * NANO, soft_nanousd=8 * NANO)


def outcome(
    kind: Any, limit: int, amount: int, used: int, reserved: int = 0, *, fits: bool = False
) -> LimitOutcome:
    check = Check(kind=kind, key="k", limit=limit, amount=amount, ends_s=DECEMBER_S)
    return LimitOutcome(ACME, check, LimitState(fits, used, reserved, 0))


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0s"),
        (1, "1ms"),
        (999, "999ms"),
        (1000, "1s"),
        (8640, "8.64s"),
        (59_999, "59.999s"),
        (60_000, "1m0s"),
        (360_000, "6m0s"),
        (361_500, "6m1.5s"),
    ],
)
def test_durations_are_written_as_openai_writes_them(ms: int, text: str) -> None:
    assert show_duration(ms) == text


@pytest.mark.parametrize(
    ("used", "remaining", "reset"),
    [
        (0, "60", "0s"),
        (1, "59", "1ms"),  # a part of a request is no request that is left
        (UNITS, "59", "1s"),
        (60 * UNITS, "0", "1m0s"),
        (90 * UNITS, "0", "1m30s"),
    ],
)
def test_what_is_left_is_whole_and_never_negative(used: int, remaining: str, reset: str) -> None:
    assert limit_headers([outcome("requests", 60, 1, used, fits=True)]) == {
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": remaining,
        "x-ratelimit-reset-requests": reset,
    }


def test_streams_and_budgets_have_no_headers_of_rates() -> None:
    assert limit_headers([outcome("streams", 5, 1, 1), outcome("budget", 5, 1, 1)]) == {}


@pytest.mark.parametrize(
    ("used", "amount", "wait_s"),
    [
        (60 * UNITS, 1, 1),
        (60 * UNITS, 2, 2),
        (60 * UNITS + 1, 1, 2),  # never a moment too early
        (60 * UNITS, 60, 60),
        (120 * UNITS, 60, 120),
        (59 * UNITS + 1, 1, 1),
    ],
)
def test_the_wait_is_as_long_as_it_takes_to_fit(used: int, amount: int, wait_s: int) -> None:
    error = limit_error([outcome("tokens", 60, amount, used)])
    assert isinstance(error, RateLimited)
    assert error.headers == {"retry-after": str(wait_s)}
    left = max(0, 60 - -(-used // UNITS))
    assert f"the account acme has a limit of 60 tokens per minute, of which {left} are left" in str(
        error
    )
    assert f"This request may use {amount}. Try again in {wait_s} s." in str(error)


@pytest.mark.parametrize(
    ("used", "reserved", "amount", "kind", "text"),
    [
        (
            10,
            0,
            0,
            InsufficientQuota,
            "The monthly budget of the account acme, $10.00 (months are UTC's), is used up",
        ),
        (12, 0, 1, InsufficientQuota, "It resets at 2026-12-01T00:00:00Z."),
        (9, 0, 2, InsufficientQuota, "This request may cost $2.00; $1.00 is left of the monthly"),
        (5, 4, 2, RateLimited, "reserved for running requests. Try again in 2 s."),
    ],
)
def test_the_error_of_a_budget_names_the_next_step(
    used: int, reserved: int, amount: int, kind: type[LimitReached], text: str
) -> None:
    money = (amount * NANO, used * NANO, reserved * NANO)
    error = limit_error([outcome("budget", 10 * NANO, *money)])
    assert type(error) is kind
    assert text in str(error)
    final = error.headers.get("x-should-retry") == "false"
    assert final == (kind is InsufficientQuota)
    assert final != ("retry-after" in error.headers)


def test_of_several_limits_the_one_with_the_longest_wait_is_reported() -> None:
    short, long = outcome("requests", 60, 1, 60 * UNITS), outcome("tokens", 60, 60, 60 * UNITS)
    never = outcome("budget", 10 * NANO, 0, 10 * NANO)
    fitting = outcome("tokens", 1, 1, 10**9, fits=True)
    assert limit_error([short, long, fitting]).headers["retry-after"] == "60"
    assert limit_error([short, never, long]).code == "insufficient_quota"


def test_a_warning_says_how_far_the_budget_is() -> None:
    text = "account acme has spent or reserved $9.50 this month of $10.00; the soft bound is $8.00"
    text += " (months are UTC's)"
    assert warning(outcome("budget", 0, 0, 9 * NANO, NANO // 2)) == text
