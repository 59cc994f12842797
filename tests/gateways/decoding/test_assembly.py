"""Putting a response together: when it is complete, what it has cost, and what it lacks."""

from typing import Any

import pytest

from app.gateways.decoding.assembly import Assembly
from app.gateways.openai.response import OpenAIDecoder
from app.vendors.vendor import Vendor
from app.vocabulary.completion import Choice, Completion, CompletionRequest, Usage
from app.vocabulary.errors import VendorFailed, VendorTimeout

VENDOR = Vendor(name="sim", gateway="openai", base_url="http://v.invalid")
COUNTED = Usage(prompt_tokens=2, completion_tokens=3, total_tokens=5)


def assembly_of(**fields: Any) -> Assembly:
    """Return the assembly of a response to this request."""
    asked: dict[str, Any] = {"model": "sim/m", "prompt": "p", "stream": True}
    request = CompletionRequest(**(asked | fields))
    return Assembly(OpenAIDecoder(VENDOR, request))


def chunk(*choices: Choice, usage: Usage | None = None) -> Completion:
    return Completion("c", 1, "m", choices, usage)


def test_a_plain_delta_is_passed_on_as_it_is() -> None:
    assembly, delta = assembly_of(), chunk(Choice(0, "a"))
    assert assembly.place(delta) is delta


def test_an_end_is_held_back_until_the_response_is_complete() -> None:
    assembly = assembly_of()
    assert assembly.place(chunk(Choice(0, "a", "stop"))) == chunk(Choice(0, "a"))
    assert assembly.place(chunk(Choice(0, "", "stop"))) is None
    assert (assembly.has_ended, assembly.is_complete) == (True, False)
    assembly.put_usage(COUNTED)
    assert assembly.is_complete
    assert list(assembly.finish(None)) == [chunk(Choice(0, "", "stop"))]


def test_text_after_an_end_makes_ends_unreliable() -> None:
    assembly = assembly_of()
    for delta in (Choice(0, "a", "stop"), Choice(0, "b", "stop")):
        assembly.place(chunk(delta))
    assembly.put_usage(COUNTED)
    assert not assembly.is_complete


def test_a_usage_beside_text_is_not_the_last() -> None:
    assembly = assembly_of()
    assembly.place(chunk(Choice(0, "a"), usage=COUNTED))
    assembly.place(chunk(Choice(0, "", "stop")))
    assert not assembly.is_complete


def test_a_usage_of_zero_is_none_where_text_has_come() -> None:
    assembly = assembly_of()
    assembly.place(chunk(Choice(0, "a", "stop")))
    assembly.put_usage(Usage(prompt_tokens=2, total_tokens=2))
    assert not assembly.is_complete


def test_a_failure_after_text_or_before_a_usage_is_billable() -> None:
    after, before, free = assembly_of(), assembly_of(), assembly_of()
    after.place(chunk(Choice(0, "a")))
    for assembly in (after, before, free):
        assembly.fail(VendorFailed("x"))
    before.put_usage(COUNTED)
    found = [assembly.failure for assembly in (after, before, free)]
    assert [failure is not None and failure.billable for failure in found] == [True, True, False]


def test_the_first_failure_is_raised() -> None:
    assembly = assembly_of()
    assembly.fail(VendorTimeout("first"))
    assembly.fail(VendorFailed("second"))
    with pytest.raises(VendorTimeout, match="first"):
        list(assembly.finish(None))


@pytest.mark.parametrize("ended", [True, False])
def test_without_an_end_mark_every_choice_that_began_must_have_ended(ended: bool) -> None:
    assembly = assembly_of(n=2)
    assembly.place(chunk(Choice(0, "a", "stop" if ended else None)))
    if ended:
        assert [end.choices[0].finish_reason for end in assembly.finish(None)] == ["stop"]
        assert assembly.choices.missing == [1]
    else:
        with pytest.raises(VendorFailed, match="before it was complete"):
            list(assembly.finish(None))


def test_if_the_connection_broke_no_choice_may_be_missing() -> None:
    assembly = assembly_of(n=2)
    assembly.place(chunk(Choice(0, "a", "stop")))
    with pytest.raises(VendorTimeout):
        list(assembly.finish(VendorTimeout("x")))


def test_an_end_mark_ends_choices_without_a_finish_reason() -> None:
    assembly = assembly_of()
    assembly.place(chunk(Choice(0, "a")))
    assembly.end()
    (tail,) = assembly.finish(None)
    assert tail.choices == (Choice(0, "", "stop"),)


def test_a_choice_that_failed_after_its_text_fails_the_response() -> None:
    assembly = assembly_of()
    assembly.place(chunk(Choice(0, "a")))
    assembly.place(chunk(Choice(0, "", "error", None, "abort")))
    with pytest.raises(VendorFailed, match="ended a choice with the reason 'abort'"):
        list(assembly.finish(None))


def test_a_choice_that_failed_without_text_is_missing() -> None:
    assembly = assembly_of(n=2)
    assembly.place(chunk(Choice(0, "a", "stop"), Choice(1, "", "error")))
    assembly.end()
    assert [end.choices for end in assembly.finish(None)] == [(Choice(0, "", "stop"),)]
    assert assembly.choices.missing == [1]


def test_the_last_chunk_has_the_running_usage_if_it_was_requested() -> None:
    assembly = assembly_of(stream_options={"continuous_usage_stats": True})
    assembly.place(chunk(Choice(0, "a", "stop"), usage=COUNTED))
    assembly.end()
    assert [end.usage for end in assembly.finish(None)] == [COUNTED]


def test_a_whole_completion_has_no_tail() -> None:
    assembly = assembly_of(stream=False)
    assembly.is_whole = True
    assembly.end()
    whole = chunk(Choice(0, "a", "stop"), usage=COUNTED)
    assert assembly.place_whole(whole) is whole
    assert list(assembly.finish(None)) == []
    assert assembly.template is None


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"max_tokens": 3}, "length"),
        ({"max_tokens": 2}, "length"),
        ({"max_tokens": 4}, "stop"),
        ({}, "stop"),
        ({"max_tokens": 3, "n": 2}, "stop"),
    ],
)
def test_an_end_without_a_reason_is_the_limit_if_that_is_used_up(
    fields: dict[str, Any], reason: str
) -> None:
    """OpenRouter has null then for xAI's models."""
    streamed = assembly_of(**fields)
    streamed.place(chunk(Choice(0, "a")))
    streamed.put_usage(COUNTED)
    streamed.end()
    assert [it.finish_reason for it in list(streamed.finish(None))[-1].choices] == [reason]
    whole = assembly_of(**fields).place_whole(chunk(Choice(0, "a"), usage=COUNTED))
    assert whole.choices[0].finish_reason == reason


def test_a_reason_that_the_vendor_names_stays_at_the_limit() -> None:
    assembly = assembly_of(max_tokens=3)
    assert assembly.place_whole(chunk(Choice(0, "a", "stop"), usage=COUNTED)).choices == (
        Choice(0, "a", "stop"),
    )
