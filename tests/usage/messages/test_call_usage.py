"""CallUsage: what one vendor call of a request used."""

import json

import pytest
from msgspec import ValidationError

from app.usage.messages.call_usage import CallUsage, decode_calls, encode_calls
from app.vocabulary.completion import USAGE_COUNTS, Usage
from tests.support.events import usage_event


def test_a_call_is_written_without_its_nulls_and_zeros() -> None:
    usage = Usage(prompt_tokens=3, total_tokens=3)
    event = usage_event(calls=(CallUsage.of("openai", "m", None, "flex", usage),))
    written = json.loads(event.encode())["calls"]
    told = {"vendor": "openai", "model": "m", "service_tier": "flex"}
    assert written == [told | {"prompt_tokens": 3, "total_tokens": 3}]
    assert decode_calls(encode_calls(event.calls)) == event.calls


def test_no_calls_are_written_as_null() -> None:
    assert encode_calls(()) is None
    assert decode_calls(None) == decode_calls("") == ()


def test_a_call_has_the_counts_of_its_usage() -> None:
    usage = Usage(**{name: n for n, name in enumerate(USAGE_COUNTS)})
    call = CallUsage.of("openai", "m", "m-2026", None, usage)
    assert call.usage == usage
    assert decode_calls(encode_calls([call])) == (call,)


def test_texts_that_a_ledger_cannot_store_are_clipped() -> None:
    call = CallUsage("v\0", "m" * 1000, None, "t\ud800")
    clean = call.sanitized()
    assert (clean.vendor, len(clean.model)) == ("v\ufffd", 256)
    assert (clean.model_served, clean.service_tier) == (None, "t\ufffd")


def test_fields_of_a_later_version_are_ignored_and_wrong_ones_rejected() -> None:
    assert decode_calls('[{"vendor":"v","model":"m","region":"eu"}]') == (CallUsage("v", "m"),)
    with pytest.raises(ValidationError, match="prompt_tokens"):
        decode_calls('[{"vendor":"v","model":"m","prompt_tokens":-1}]')
