from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.formats.sse import EVENT_LIMIT
from app.vocabulary.errors import GatewayError, VendorFailed
from tests.gateways.anthropic.wire import PING, ROW, STOP, delta, end, simulated, start, stream
from tests.gateways.rows import json_values, told
from tests.support.vendors.anthropic import named_event
from tests.support.vendors.base import Said

SAID = Said(text="one tw\u00f6 \u2028 three", reasoning_tokens=3, cached_tokens=4)
STREAM = simulated(SAID, stream=True)


@pytest.mark.parametrize("size", range(1, 80))
def test_a_stream_is_the_same_however_it_is_cut(size: int) -> None:
    text, reasons, usage = told(ROW.chunks([STREAM], size))
    assert (text, reasons) == (SAID.text, ["stop"])
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens) == (11, 7)
    assert (usage.cached_tokens, usage.reasoning_tokens) == (4, 3)


def test_a_stream_and_a_whole_answer_say_the_same() -> None:
    whole = ROW.decoded(simulated(SAID))
    chunks = ROW.chunks([STREAM])
    assert told(chunks) == told([whole])
    assert {(chunk.id, chunk.model) for chunk in chunks} == {(whole.id, whole.model)}


def test_thinking_is_a_sign_of_life_and_no_text() -> None:
    thinking = {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "thinking_delta", "thinking": "hmm"},
    }
    decoder = ROW.gateway.reader(ROW.vendor, ROW.asks(stream=True))
    assert [chunk.choices for chunk in decoder.feed(named_event(thinking))] == [()]
    assert list(decoder.feed(PING)) == []


def test_events_of_unknown_types_are_passed_over() -> None:
    text, reasons, _ = told(ROW.chunks([PING, *stream({"type": "new"}, delta("a"), end(), STOP)]))
    assert (text, reasons) == ("a", ["stop"])


def test_a_stream_that_breaks_off_is_never_whole() -> None:
    for length in range(STREAM.index(b"event: message_delta")):
        error = ROW.broken([STREAM[:length]])
        assert isinstance(error, VendorFailed)
        assert error.billable


@pytest.mark.parametrize(
    "events",
    [
        stream({"type": "content_block_delta", "delta": {"type": "text_delta"}}),
        [b"data: nonsense\n\n"],
        [b"data: []\n\n"],
        [b"data: {}\n\n"],
        [b"data: [DONE]\n\n"],
        [b"data: " + b"x" * (EVENT_LIMIT + 1)],
    ],
)
def test_a_stream_of_nonsense_fails(events: list[bytes]) -> None:
    assert isinstance(ROW.broken(events), VendorFailed)


# Stop sequences that the vendor would refuse.


@pytest.mark.parametrize("stop", ["\n", ("\n", "END"), (" \n", "\n")])
def test_a_stop_sequence_of_blanks_ends_the_text_here(stop: Any) -> None:
    said = Said(text="one two\nthree")
    assert not {"\n", " \n"} & set(ROW.sent(stop=stop).get("stop_sequences", []))
    assert told([ROW.decoded(simulated(said), stop=stop)])[:2] == ("one two", ["stop"])
    for size in (1, 50, None):
        text, reasons, usage = told(ROW.chunks([simulated(said, stream=True)], size, stop=stop))
        assert (text, reasons) == ("one two", ["stop"])
        assert usage is not None
        assert usage.completion_tokens == said.completion_tokens


def test_nothing_that_follows_a_cut_goes_out_and_its_count_stands() -> None:
    events = stream(start(input_tokens=3), delta("one\ntwo"), delta("three"), delta("\nfour"))
    events += stream(end("max_tokens", output_tokens=9), STOP)
    text, reasons, usage = told(ROW.chunks(events, stop="\n"))
    assert (text, reasons) == ("one", ["stop"])
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens) == (3, 9)


def test_what_a_vendor_holds_back_at_its_end_is_no_text_after_a_cut() -> None:
    """The last of a text that may begin a stop sequence comes with the end, but not after a cut."""
    events = stream(delta("one\n"), delta("\ntwo\n"), end(), STOP)
    assert told(ROW.chunks(events, stop="\n\n"))[:2] == ("one", ["stop"])


@pytest.mark.parametrize(
    ("last", "counted"),
    [
        ({"input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 50}, (103, 100, 50)),
        ({"input_tokens": 4, "cache_read_input_tokens": 0, "output_tokens": 0}, (104, 100, 20)),
        ({"input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0}, (103, 100, 20)),
    ],
)
def test_a_zero_is_no_count_and_leaves_the_running_total_as_it_was(
    last: dict[str, int], counted: tuple[int, int, int]
) -> None:
    events = stream(
        start(input_tokens=3, cache_read_input_tokens=100, output_tokens=0),
        delta("a"),
        end(None, output_tokens=20),
        end(**last),
        STOP,
    )
    usage = told(ROW.chunks(events))[2]
    assert usage is not None
    assert (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens) == counted


def test_a_text_that_is_cut_here_was_not_cut_by_its_length() -> None:
    said = Said(text="one\ntwo", finish="length")
    assert told([ROW.decoded(simulated(said), stop="\n")])[1] == ["stop"]
    assert told(ROW.chunks([simulated(said, stream=True)], stop="\n"))[1] == ["stop"]


def test_what_only_began_a_stop_sequence_is_given_on_at_the_end() -> None:
    said = Said(text="one\n")
    text, reasons, _ = told(ROW.chunks([simulated(said, stream=True)], stop="\n\n"))
    assert (text, reasons) == ("one\n", ["stop"])


def test_a_stream_that_breaks_off_after_its_text_was_cut_is_whole_to_the_caller() -> None:
    text, reasons, _ = told(ROW.chunks(stream(delta("one\ntwo")), stop="\n"))
    assert (text, reasons) == ("one", ["stop"])


@pytest.mark.parametrize("ends", [[], [end(None)], [{"type": "message_delta"}]])
def test_the_end_mark_is_an_end_without_a_reason_too(ends: list[dict[str, Any]]) -> None:
    assert told(ROW.chunks(stream(delta("a"), *ends, STOP)))[:2] == ("a", ["stop"])


def test_a_message_without_its_last_event_is_whole() -> None:
    text, reasons, usage = told(ROW.chunks(stream(start(input_tokens=3), delta("a"), end())))
    assert (text, reasons) == ("a", ["stop"])
    assert usage is not None


KINDS = st.sampled_from(
    [
        "content_block_delta",
        "content_block_start",
        "error",
        "message_delta",
        "message_start",
        "message_stop",
        "ping",
    ]
)
WORDS = ["content_block", "delta", "end_turn", "error", "input_tokens", "message", "stop_reason"]
WORDS += ["text", "text_delta", "type", "usage"]
FIELDS = st.dictionaries(st.sampled_from(WORDS), json_values(*WORDS), max_size=3)
EVENTS = st.builds(lambda kind, fields: named_event({**fields, "type": kind}), KINDS, FIELDS)


@given(st.lists(EVENTS | st.binary(max_size=30), max_size=6))
def test_no_stream_raises_anything_but_a_gateway_error(packets: list[bytes]) -> None:
    try:
        chunks = ROW.chunks(packets, stop="\n")
    except GatewayError:
        return
    assert len(told(chunks)[1]) == 1
