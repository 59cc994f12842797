"""Finish reasons: three are a success, and nothing else is."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import VendorFailed
from app.gateways.base import Vendor
from app.gateways.finish import REASONS, narrow

VENDOR = Vendor(name="sim", gateway="openai", base_url="http://v")


@pytest.mark.parametrize("reason", ["stop", "length", "content_filter"])
def test_the_contracts_own_reasons_stay(reason: str) -> None:
    assert narrow(VENDOR, reason) == reason


@pytest.mark.parametrize(
    ("reason", "narrowed"),
    [
        ("eos", "stop"),
        ("eos_token", "stop"),
        ("stop_sequence", "stop"),
        ("tool_calls", "stop"),
        ("function_call", "stop"),
        ("max_tokens", "length"),
        ("model_length", "length"),
        ("refusal", "content_filter"),
    ],
)
def test_vendors_words_are_narrowed(reason: str, narrowed: str) -> None:
    assert narrow(VENDOR, reason) == narrowed


@pytest.mark.parametrize("reason", [None, ""])
def test_no_word_means_that_the_choice_goes_on(reason: Any) -> None:
    assert narrow(VENDOR, reason) is None


FAILURES = ["error", "abort", "load", "unload", "timeout", "insufficient_system_resource"]
NO_WORDS: list[Any] = [False, 0, 1, 1.5, [], ["stop"], {}, {"stop": "stop"}]


@pytest.mark.parametrize(
    "reason", [*FAILURES, "whatever", " stop", "x" * 10_000, *NO_WORDS], ids=str
)
def test_a_word_for_failure_or_an_unknown_one_is_no_success(reason: Any) -> None:
    with pytest.raises(VendorFailed) as caught:
        narrow(VENDOR, reason)
    assert caught.value.billable
    assert len(str(caught.value)) < 200


@given(st.text(min_size=1))
def test_any_other_word_is_a_failure(reason: str) -> None:
    if reason in REASONS:
        return
    with pytest.raises(VendorFailed):
        narrow(VENDOR, reason)
