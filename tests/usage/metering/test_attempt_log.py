"""What the ledger keeps of a failed request: its error and its vendor calls, and no prompt."""

import pytest

from app.usage.metering.attempt_log import (
    ATTEMPTS_LIMIT,
    attempt_log,
    error_code,
    error_message,
)
from app.usage.metering.call_meter import CallMeter
from app.usage.metering.quotes import QUOTE
from app.vocabulary.completion import CompletionRequest
from app.vocabulary.errors import (
    Cancelled,
    GatewayError,
    ShuttingDown,
    VendorAuthentication,
    VendorFailed,
    VendorOverloaded,
    VendorRejected,
)
from tests.usage.calls import ASKED


def asked(*prompts: str) -> CompletionRequest:
    return CompletionRequest(model="sim/m", prompt=list(prompts))


def failed(error: GatewayError, vendor: str = "sim") -> CallMeter:
    call = CallMeter(vendor, ASKED)
    call.failed(error)
    call.ended()
    return call


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (None, None),
        (VendorOverloaded("x"), "vendor_overloaded"),
        (VendorRejected("x", vendor_status=400, code="content_filter"), "content_filter"),
        (VendorRejected("x", vendor_status=400), "vendor_rejected"),
        (ShuttingDown(), "shutting_down"),
        (RuntimeError("a fault of ours"), "internal_error"),
    ],
)
def test_a_failure_has_a_stable_code(error: BaseException | None, code: str | None) -> None:
    assert error_code(error) == code


def test_the_vendors_own_words_come_before_what_the_caller_was_told() -> None:
    error = VendorAuthentication("The vendor rejected our credentials.", vendor_status=401)
    assert error_message(error, ASKED) == "The vendor rejected our credentials."
    error.vendor_message = "Your account is not active."
    assert error_message(error, ASKED) == "Your account is not active."


def test_the_words_of_a_fault_of_ours_are_not_kept() -> None:
    assert error_message(RuntimeError("Authorization: Bearer x"), ASKED) is None


def test_calls_are_kept_if_one_failed() -> None:
    first = failed(VendorOverloaded("It is full.", vendor_status=503))
    second = CallMeter("spare", ASKED)
    second.http_status = 200
    second.ended()
    assert attempt_log([second], ASKED, second.started_s) == ()
    started_s = first.started_s - 1.0
    one, two = attempt_log([first, second], ASKED, started_s)
    assert (one.vendor, one.http_status, one.error_code) == ("sim", 503, "vendor_overloaded")
    assert (one.error_message, one.started_ms >= 999) == ("It is full.", True)
    assert (two.vendor, two.http_status, two.error_code) == ("spare", 200, None)


def test_a_call_that_was_not_sent_is_no_attempt() -> None:
    skipped = CallMeter("sim", ASKED)
    skipped.was_skipped = True
    log = attempt_log([failed(VendorFailed("x")), skipped], ASKED, 0.0)
    assert [attempt.error_code for attempt in log] == ["vendor_failed"]


def test_of_very_many_calls_the_first_and_the_last_are_kept() -> None:
    calls = [failed(VendorFailed("x"), vendor=f"v{n}") for n in range(3 * ATTEMPTS_LIMIT)]
    kept = [attempt.vendor for attempt in attempt_log(calls, ASKED, 0.0)]
    assert len(kept) == ATTEMPTS_LIMIT
    assert (kept[0], kept[-1]) == ("v0", f"v{3 * ATTEMPTS_LIMIT - 1}")


def test_a_quoted_prompt_is_not_kept() -> None:
    request = asked("an unrelated prompt", "Dear Ms Smith, your diagnosis is bad")
    message = "Blocked: 'Dear Ms Smith, your diagnosis' violates the policy 'your diagnosis is bad'"
    error = VendorRejected(message, vendor_status=400)
    kept = error_message(error, request) or ""
    assert "Smith" not in kept
    assert "diagnosis" not in kept
    assert kept == f"Blocked: '{QUOTE}' violates the policy '{QUOTE}'"


def test_a_cancelled_call_has_no_words_of_ours() -> None:
    assert error_message(Cancelled(), ASKED) is None
