"""Finish reasons: the meaning of each value, and that of unknown ones."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.gateways.decoding.finish import NATIVE_LIMIT, REASONS, Finish, narrow
from app.vendors.vendor import Vendor

VENDOR = Vendor(name="sim", gateway="openai", base_url="http://v")


@pytest.mark.parametrize("reason", ["stop", "length", "content_filter"])
def test_the_contracts_own_reasons_stay(reason: Any) -> None:
    assert narrow(VENDOR, reason) == Finish(reason)


@pytest.mark.parametrize(
    ("reason", "narrowed"),
    [
        ("eos", "stop"),
        ("eos_token", "stop"),
        ("stop_sequence", "stop"),
        ("tool_calls", "tool_calls"),
        ("function_call", "function_call"),
        ("max_tokens", "length"),
        ("model_length", "length"),
        ("refusal", "content_filter"),
        ("Stop", "stop"),
        ("END_TURN", "stop"),
        ("repetition", "stop"),
        ("tool_use", "tool_calls"),
        ("pause_turn", "length"),
        ("model_context_window_exceeded", "length"),
        ("sensitive", "content_filter"),
        ("COMPLETE", "stop"),
        ("STOP_SEQUENCE", "stop"),
        ("TOOL_CALL", "tool_calls"),
        ("MAX_TOKENS", "length"),
        ("CONTINUATION", "length"),
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("LANGUAGE", "content_filter"),
        ("BLOCKLIST", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
        ("SPII", "content_filter"),
        ("MODEL_ARMOR", "content_filter"),
        ("ESCALATION", "content_filter"),
        ("IMAGE_SAFETY", "content_filter"),
        ("IMAGE_PROHIBITED_CONTENT", "content_filter"),
        ("IMAGE_RECITATION", "content_filter"),
        ("content_filtered", "content_filter"),
        ("guardrail_intervened", "content_filter"),
        ("FINISH", "stop"),
        ("FINISHED", "stop"),
        ("STOP_CRITERIA_MET", "stop"),
        ("LENGTH", "length"),
        ("endoftext", "stop"),
        ("ERROR_TOXIC", "content_filter"),
        ({"type": "length", "length": 16}, "length"),
    ],
)
def test_vendors_words_are_narrowed(reason: Any, narrowed: Any) -> None:
    assert narrow(VENDOR, reason) == Finish(narrowed)


@pytest.mark.parametrize(
    "reason", [None, "", "null", "FINISH_REASON_UNSPECIFIED", False, 0, [], {}, {"stop": "stop"}]
)
def test_no_word_means_that_the_choice_goes_on(reason: Any) -> None:
    assert narrow(VENDOR, reason) == Finish(None)


@pytest.mark.parametrize(
    "reason",
    [
        "error",
        "abort",
        "ABORT",
        "load",
        "unload",
        "timeout",
        "insufficient_system_resource",
        "cancelled",
        "failed",
        "internal_error",
        "server_error",
        "network_error",
        "ERROR_LIMIT",
        "USER_CANCEL",
        "MALFORMED_FUNCTION_CALL",
        "MALFORMED_RESPONSE",
        "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS",
        "MISSING_THOUGHT_SIGNATURE",
        "malformed_model_output",
        "malformed_tool_use",
    ],
)
def test_a_word_for_failure_is_one_and_is_named(reason: str) -> None:
    assert narrow(VENDOR, reason) == Finish("error", reason)


@pytest.mark.parametrize("reason", ["whatever", " stop", "x" * 10_000, 1, 1.5, True, ["stop"]])
def test_an_unknown_word_is_an_end_that_a_caller_may_go_on_from(reason: Any) -> None:
    finish, native = narrow(VENDOR, reason)
    assert finish == "length"
    assert native is not None
    assert native == str(reason)[:NATIVE_LIMIT]


@given(st.text(min_size=1))
def test_any_other_word_can_be_printed(reason: str) -> None:
    native = narrow(VENDOR, reason).native
    assert native is None or native.isprintable()


def test_an_entry_teaches_words_and_goes_before_the_table() -> None:
    taught = dataclasses.replace(VENDOR, finish_reasons={"fin": "stop", "stop": "error"})
    assert narrow(taught, "fin") == Finish("stop")
    assert narrow(taught, "stop") == Finish("error", "stop")
    assert REASONS["stop"] == "stop"
