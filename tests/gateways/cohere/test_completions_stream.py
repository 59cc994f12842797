import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.vocabulary.errors import GatewayError, VendorFailed
from tests.gateways.cohere.wire import ROW, SAID, STREAM, WORDS, delta, end, simulated
from tests.gateways.rows import json_values, told
from tests.support.vendors.cohere import typed_event


@pytest.mark.parametrize("size", range(1, 80))
def test_a_stream_is_the_same_however_it_is_cut(size: int) -> None:
    text, reasons, usage = told(ROW.chunks([STREAM], size))
    assert (text, reasons) == (SAID.text, ["stop"])
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens) == (11, 7, 4)


def test_a_stream_and_a_whole_answer_say_the_same() -> None:
    assert told(ROW.chunks([STREAM])) == told([ROW.decoded(simulated(SAID))])


@pytest.mark.parametrize("trailer", [b"data: [DONE]\n\n", delta(text="more")])
def test_what_follows_the_end_is_not_heard(trailer: bytes) -> None:
    assert told(ROW.chunks([STREAM, trailer]))[:2] == (SAID.text, ["stop"])


def test_thinking_is_a_sign_of_life_and_no_text() -> None:
    decoder = ROW.gateway.reader(ROW.vendor, ROW.asks(stream=True))
    packet = delta(thinking="hmm") + delta(thinking="hmm", text=None)
    assert [chunk.choices for chunk in decoder.feed(packet)] == [(), ()]


def test_a_stream_that_breaks_off_is_never_whole() -> None:
    for length in range(len(STREAM) - len("\n\n")):
        error = ROW.broken([STREAM[:length]])
        assert isinstance(error, VendorFailed)
        assert error.billable


@pytest.mark.parametrize(
    "events",
    [
        [b"data: [DONE]\n\n"],
        [b"data: nonsense\n\n"],
        [b'data: {"message": "internal server error", "id": "c14c"}\n\n'],
        [delta(text=5)],
        [delta(text="a"), end(finish_reason="ERROR")],
        [delta(text="a"), end(finish_reason="COMPLETE", error="oops")],
    ],
)
def test_a_stream_of_nonsense_fails(events: list[bytes]) -> None:
    assert isinstance(ROW.broken(events), VendorFailed)


KINDS = st.sampled_from(["message-start", "content-start", "content-delta", "message-end", "debug"])
FIELDS = st.dictionaries(st.sampled_from(WORDS), json_values(*WORDS), max_size=3)
EVENTS = st.builds(lambda kind, fields: typed_event({**fields, "type": kind}), KINDS, FIELDS)


@given(st.lists(EVENTS | st.binary(max_size=30), max_size=6))
def test_no_stream_raises_anything_but_a_gateway_error(packets: list[bytes]) -> None:
    try:
        chunks = ROW.chunks(packets)
    except GatewayError:
        return
    assert len(told(chunks)[1]) == 1
