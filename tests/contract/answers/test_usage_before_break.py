"""Counts that came before a response failed are recorded."""

import json
import threading
from typing import Any

import pytest

from tests.contract.answers.parts import Counts, Part, data, named
from tests.contract.answers.site import (
    BY_VENDOR,
    SOON_S,
    TEXT,
    TEXT_TOKENS,
    Site,
    Told,
    books,
)
from tests.contract.answers.usage_first_parts import COUNTS, EARLY, ERROR, begun
from tests.contract.answers.wires import WIRES
from tests.support.services.polling import wait_until
from tests.support.vendor import CUT, FIN, Reply
from tests.support.vendors.bedrock import exception_frame

#: Wires on which a count may come before the end.
COUNTING = ("text", "chat", "azure-chat", "llmengine", "launch", "gemini", "vertex", "fim")


EARLY_WIRES = ("anthropic", *COUNTING)


def check_begun(site: Site, name: str, status: str) -> None:
    """Check that the prompt's counts are the vendor's, and that the text was counted."""
    recorded = site.event()
    counts = (recorded.prompt_tokens, recorded.cached_tokens, recorded.completion_tokens)
    assert (recorded.status, *counts) == (status, 2010, 2000, TEXT_TOKENS)
    assert recorded.prompt_source == "vendor"
    expected = ("estimated",) if name == "anthropic" else ("vendor", "estimated")
    assert recorded.completion_source in expected


@pytest.mark.parametrize("end", [CUT, FIN], ids=["reset", "closed"])
@pytest.mark.parametrize("name", EARLY_WIRES)
def test_a_broken_stream_costs_what_the_vendor_had_counted(
    site: Site, name: str, end: object
) -> None:
    wire = WIRES[name]
    site.says(wire.stream(*begun(wire), end))
    told = site.ask(wire, stream=True)
    assert (told.texts, told.cut) == ({0: TEXT}, True)
    check_begun(site, name, "truncated")


@pytest.mark.parametrize("name", [n for n in EARLY_WIRES if n != "launch"])
def test_a_stream_that_ends_in_an_error_costs_what_the_vendor_had_counted(
    site: Site, name: str
) -> None:
    wire = WIRES[name]
    error: bytes = data({"error": ERROR})
    if name == "anthropic":
        error = named({"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}})
    site.says(wire.stream(*begun(wire), error))
    told = site.ask(wire, stream=True)
    assert told.error is not None
    check_begun(site, name, "truncated")


@pytest.mark.parametrize("name", EARLY_WIRES)
def test_a_caller_that_leaves_pays_what_the_vendor_had_counted(site: Site, name: str) -> None:
    wire = WIRES[name]
    site.says(wire.stream(*begun(wire), threading.Event()))
    with site.open(wire, stream=True) as caller:
        caller.read_until(b"gamma")
    wait_until(lambda: site.vendor.hang_ups)
    check_begun(site, name, "disconnected")


def test_the_text_after_the_last_running_count_is_counted_too(site: Site) -> None:
    wire = WIRES["text"]
    usage = wire.usage(Counts(2010, 1))
    rest = wire.event(Part(" beta gamma"))
    site.says(wire.stream(wire.event(Part("alpha"), usage=usage), rest, CUT))
    site.ask(wire, stream=True)
    assert books(site.event()) == ("truncated", 2010, TEXT_TOKENS, "vendor", "estimated")


def test_anthropics_placeholder_for_the_output_is_no_count_of_it(site: Site) -> None:
    wire = WIRES["anthropic"]
    site.says(wire.stream(wire.opening(wire.usage(EARLY)), CUT))
    told = site.ask(wire, stream=True)
    assert told.status == 502
    recorded = site.event()
    assert (recorded.prompt_tokens, recorded.cached_tokens) == (2010, 2000)
    assert (recorded.completion_tokens, recorded.prompt_source) == (0, "vendor")


def test_an_overload_after_the_first_count_has_its_class_and_costs_that_count(site: Site) -> None:
    wire = WIRES["anthropic"]
    error = named({"type": "error", "error": {"type": "overloaded_error", "message": "Busy."}})
    site.says(wire.stream(wire.opening(wire.usage(EARLY)), error))
    told = site.ask(wire, stream=True)
    assert told.status == 503
    assert told.error is not None
    assert (told.error["code"], "Busy." in told.error["message"]) == ("vendor_overloaded", True)
    recorded = site.event()
    assert (recorded.status, recorded.attempts) == ("failed", 1)
    assert (recorded.prompt_tokens, recorded.cached_tokens) == (2010, 2000)
    assert (recorded.completion_tokens, recorded.prompt_source) == (0, "vendor")


def test_the_same_without_any_count_costs_nothing(site: Site) -> None:
    error = named({"type": "error", "error": {"type": "overloaded_error", "message": "Busy."}})
    site.says(WIRES["anthropic"].stream(error))
    assert site.ask(WIRES["anthropic"], stream=True).status == 503
    assert books(site.event()) == ("failed", 0, 0, "none", "none")


@pytest.mark.parametrize("last", [{"output_tokens": 5}, {"output_tokens": 5, "input_tokens": 0}])
def test_anthropics_two_counts_are_put_together(site: Site, last: dict[str, int]) -> None:
    wire = WIRES["anthropic"]
    start = wire.opening({**wire.usage(EARLY), "cache_creation_input_tokens": 30})
    end = wire.event(Part("", "end_turn"), usage=last)
    site.says(wire.stream(start, wire.event(Part(TEXT)), end, wire.mark))
    told = site.ask(wire, stream=True)
    assert told.counts == (2040, 5)
    recorded = site.event()
    assert books(recorded) == ("completed", 2040, 5, *BY_VENDOR)
    assert (recorded.cached_tokens, recorded.cache_write_tokens) == (2000, 30)


@pytest.mark.parametrize("last", [{}, None, {"output_tokens": None}, "none"])
def test_without_a_second_count_the_output_is_estimated(site: Site, last: Any) -> None:
    wire = WIRES["anthropic"]
    end = wire.event(Part("", "end_turn"), usage=last)
    steps = [wire.opening(wire.usage(EARLY)), wire.event(Part(TEXT)), end, wire.mark]
    site.says(wire.stream(*steps))
    told = site.ask(wire, stream=True)
    assert told.is_whole(), told
    sides = ("vendor", "estimated")
    assert books(site.event()) == ("completed", 2010, TEXT_TOKENS, *sides)


@pytest.mark.parametrize("name", ["converse", "llama"])
def test_an_exception_after_the_counts_costs_them(site: Site, name: str) -> None:
    wire = WIRES[name]
    exception = exception_frame("modelStreamErrorException", message="It broke.")
    usage = wire.usage(COUNTS)
    site.says(wire.stream(wire.event(Part(TEXT)), wire.event(usage=usage), exception))
    told: Told = site.ask(wire, stream=True)
    assert told.cut
    assert books(site.event()) == ("truncated", 20, 7, *BY_VENDOR)


def test_nonsense_after_the_counts_costs_them(site: Site) -> None:
    wire = WIRES["text"]
    counted = wire.event(Part(TEXT), usage=wire.usage(Counts(20, TEXT_TOKENS)))
    site.says(wire.stream(counted, b"data: {no json\n\n"))
    told = site.ask(wire, stream=True)
    assert told.cut
    recorded = site.event()
    assert (recorded.status, recorded.prompt_tokens) == ("truncated", 20)
    assert (recorded.completion_tokens, recorded.prompt_source) == (TEXT_TOKENS, "vendor")


@pytest.mark.parametrize("body", [b"", b'{"choices": [{"index": 0, "text": "alp', b"<html>"])
def test_a_whole_answer_that_is_broken_is_a_failure_and_estimated(site: Site, body: bytes) -> None:
    site.says(Reply([body], 200, {"content-type": "application/json"}, framing="length"))
    told = site.ask("text/m")
    assert told.status == 502
    assert books(site.event())[0] == "failed"


def test_a_usage_in_a_whole_answer_that_is_cut_is_read_as_far_as_it_came(site: Site) -> None:
    wire = WIRES["text"]
    body = {"usage": wire.usage(COUNTS), "choices": [{"index": 0, "text": TEXT}]}
    text = json.dumps(body).encode()
    headers = {"content-type": "application/json", "content-length": str(len(text))}
    site.says(Reply([text[:-20], site.ends, CUT], 200, headers, framing="raw"))
    told = site.ask(wire)
    assert told.status == 502
    assert told.ended_s - site.ended_s < SOON_S
    assert site.event().status == "failed"
