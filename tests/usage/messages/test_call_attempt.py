"""The attempts of a request, as the ledger stores them."""

from app.usage.messages.call_attempt import CallAttempt, decode_attempts, encode_attempts
from app.vocabulary.text import SENTENCE_LIMIT, TEXT_LIMIT


def test_what_is_encoded_is_decoded() -> None:
    attempts = (
        CallAttempt("a", "m", 0, 12, 503, "r-1", "vendor_overloaded", "It is full."),
        CallAttempt("b", "m", 15, 90, 200),
    )
    assert decode_attempts(encode_attempts(attempts)) == attempts


def test_no_attempts_are_null() -> None:
    assert encode_attempts(()) is None
    assert decode_attempts(None) == ()


def test_nothing_that_is_null_is_written() -> None:
    assert encode_attempts([CallAttempt("a", "m")]) == '[{"vendor":"a","model":"m"}]'


def test_what_vendors_write_becomes_storable() -> None:
    attempt = CallAttempt("a", "m" * 999, error_message="\0" + "x" * 9_999).sanitized()
    assert len(attempt.model) == TEXT_LIMIT
    message = attempt.error_message or ""
    assert (len(message), message[0], message[-1]) == (
        SENTENCE_LIMIT,
        "\N{REPLACEMENT CHARACTER}",
        "…",
    )
