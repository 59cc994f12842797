"""Google's streams: deltas, running totals, ends, errors, and arbitrary bytes."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.formats.sse import EVENT_LIMIT
from app.vocabulary.completion import Completion, Usage
from app.vocabulary.errors import GatewayError, VendorFailed, VendorOverloaded, VendorRateLimited
from tests.gateways.gemini.wire import asked, candidate, chunks_of, event
from tests.gateways.gemini.wire import response as said

TWO = asked(n=2)

#: A stream with all that one may hold: thoughts, UTF-8, running totals, an end without text.
STREAM = [
    event(said(candidate({"text": "hmm", "thought": True}, finish=None), usageMetadata={})),
    event(
        said(
            candidate("caf\u00e9", finish=None),
            usageMetadata={"promptTokenCount": 4, "totalTokenCount": 7, "thoughtsTokenCount": 3},
        )
    ),
    event(said(candidate(" \u2028\U0001f600", finish=None))),
    event(
        said(
            {"finishReason": "STOP"},
            usageMetadata={
                "promptTokenCount": 4,
                "candidatesTokenCount": 2,
                "thoughtsTokenCount": 3,
                "totalTokenCount": 9,
            },
        )
    ),
]


def texts(chunks: Sequence[Completion]) -> dict[int, str]:
    told: dict[int, str] = {}
    for choice in (choice for chunk in chunks for choice in chunk.choices):
        told[choice.index] = told.get(choice.index, "") + choice.text
    return told


def reasons(chunks: Sequence[Completion]) -> list[tuple[int, str | None]]:
    ended = (c for chunk in chunks for c in chunk.choices if c.finish_reason is not None)
    return [(choice.index, choice.finish_reason) for choice in ended]


@pytest.mark.parametrize("size", [*range(1, 24), 1000, None])
def test_a_stream_is_the_same_however_it_is_cut(size: int | None) -> None:
    chunks = chunks_of(STREAM, size=size)
    assert texts(chunks) == {0: "caf\u00e9 \u2028\U0001f600"}
    assert reasons(chunks) == [(0, "stop")]
    assert [chunk.usage for chunk in chunks if chunk.usage] == [
        Usage(prompt_tokens=4, completion_tokens=3, total_tokens=7, reasoning_tokens=3),
        Usage(prompt_tokens=4, completion_tokens=5, total_tokens=9, reasoning_tokens=3),
    ]
    assert {(chunk.id, chunk.model) for chunk in chunks} == {("r1", "m-001")}
    assert len({chunk.created for chunk in chunks}) == 1


def test_samples_that_come_interleaved_keep_their_indices() -> None:
    stream = [
        event(said(candidate("a", finish=None), candidate("x", finish=None, index=1))),
        event(said(candidate("b", index=0))),
        event(said(candidate("y", index=1, finish="MAX_TOKENS"))),
    ]
    chunks = chunks_of(stream, TWO)
    assert texts(chunks) == {0: "ab", 1: "xy"}
    assert reasons(chunks) == [(0, "stop"), (1, "length")]


def test_a_choice_ends_once_though_its_end_is_said_again() -> None:
    counts = {"promptTokenCount": 4, "candidatesTokenCount": 1, "totalTokenCount": 5}
    again = said(candidate(index=0), usageMetadata=counts)
    chunks = chunks_of([event(said(candidate("a"))), event(again)])
    assert reasons(chunks) == [(0, "stop")]
    assert [chunk.usage for chunk in chunks if chunk.usage][-1] == Usage(
        prompt_tokens=4, completion_tokens=1, total_tokens=5
    )


def test_a_blocked_prompt_ends_every_choice() -> None:
    chunks = chunks_of([event({"promptFeedback": {"blockReason": "SAFETY"}})], TWO)
    assert reasons(chunks) == [(0, "content_filter"), (1, "content_filter")]
    assert texts(chunks) == {0: "", 1: ""}


def test_log_probabilities_count_on_through_the_text() -> None:
    def piece(text: str, finish: str | None) -> bytes:
        result = {"chosenCandidates": [{"token": text, "logProbability": -1.0}]}
        return event(said(candidate(text, finish=finish, logprobsResult=result)))

    chunks = chunks_of([piece("caf\u00e9", None), piece("!", "STOP")], asked(logprobs=0))
    told = [choice.logprobs for chunk in chunks for choice in chunk.choices]
    offsets = [logprobs["text_offset"] for logprobs in told if logprobs]
    assert offsets == [[0], [4]]


WHOLE = b"".join(STREAM)


@pytest.mark.parametrize("length", range(len(WHOLE) - len(STREAM[-1]) + 1))
def test_a_stream_that_breaks_off_before_its_end_is_a_failure(length: int) -> None:
    with pytest.raises(VendorFailed) as caught:
        chunks_of([WHOLE[:length]])
    assert caught.value.billable


def test_a_stream_without_its_last_blank_line_is_whole() -> None:
    assert reasons(chunks_of([WHOLE.rstrip()])) == [(0, "stop")]


@pytest.mark.parametrize(
    "last",
    [
        said(candidate("b", finish=None)),
        said(candidate("b", finish="FINISH_REASON_UNSPECIFIED")),
        said(candidate("b", finish="")),
    ],
)
def test_a_stream_without_a_finish_reason_is_a_failure(last: Any) -> None:
    with pytest.raises(VendorFailed, match="before it was complete"):
        chunks_of([event(said(candidate("a", finish=None))), event(last)])


def test_a_stream_that_lacks_a_sample_is_a_failure() -> None:
    with pytest.raises(VendorFailed, match="left out 1"):
        chunks_of([event(said(candidate("a")))], TWO)


OVERLOADED = {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}


@pytest.mark.parametrize("wrap", [lambda e: {"error": e}, lambda e: [{"error": e}]])
def test_an_error_in_a_stream_keeps_its_meaning(wrap: Any) -> None:
    with pytest.raises(VendorOverloaded, match="overloaded"):
        chunks_of([STREAM[1], event(wrap(OVERLOADED))])


@pytest.mark.parametrize("wrap", [lambda e: {"error": e}, lambda e: [{"error": e}]])
@pytest.mark.parametrize("before", [b"", STREAM[1]])
@pytest.mark.parametrize("eol", ["\n", "\r\n"])
@pytest.mark.parametrize("size", [1, 7, None])
def test_an_error_may_come_as_plain_json_and_no_event(
    wrap: Any, before: bytes, eol: str, size: int | None
) -> None:
    text = json.dumps(wrap(OVERLOADED), indent=2).replace("\n", eol)
    with pytest.raises(VendorOverloaded, match="overloaded"):
        chunks_of([before, text.encode()], size=size)


def test_an_error_in_a_stream_says_when_to_try_again() -> None:
    retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3.2s"}
    error = {"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED", "details": [retry]}
    with pytest.raises(VendorRateLimited) as caught:
        chunks_of([event({"error": error})])
    assert caught.value.headers == {"retry-after": "4"}


@pytest.mark.parametrize("nonsense", [b"data: <html>\n\n", b"data: 5\n\n"])
def test_an_event_that_is_no_response_is_a_failure(nonsense: bytes) -> None:
    with pytest.raises(VendorFailed):
        chunks_of([STREAM[1], nonsense])


def test_comments_and_empty_events_say_nothing() -> None:
    stream = [b": hello\r\n\r\n", b"data:\r\n\r\n", *STREAM, b"event: x\r\n\r\n"]
    assert reasons(chunks_of(stream)) == [(0, "stop")]


def test_an_event_without_end_is_a_failure() -> None:
    with pytest.raises(VendorFailed, match="too large"):
        chunks_of([b"data: " + b"x" * EVENT_LIMIT], size=2**20)


@given(st.lists(st.binary() | st.sampled_from(STREAM), max_size=6), st.integers(1, 50))
def test_no_bytes_raise_anything_but_a_gateway_error(pieces: list[bytes], size: int) -> None:
    try:
        chunks = chunks_of(pieces, size=size)
    except GatewayError:
        return
    assert reasons(chunks)
