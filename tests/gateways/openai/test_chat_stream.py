from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.vocabulary.completion import Choice
from app.vocabulary.errors import GatewayError, VendorFailed
from tests.gateways.openai.chat_wire import STREAM, USAGE, chunk, delta
from tests.gateways.rows import Row, bodies, told
from tests.support.vendor import DONE, event

OPENAI = Row("openai", "OPENAI_API_KEY")
GROQ = Row("groq", "GROQ_API_KEY")
TEXT = "café \u2028"


@pytest.mark.parametrize("size", range(1, len(b"".join(STREAM)) + 1))
def test_a_stream_is_read_however_it_is_cut(size: int) -> None:
    text, reasons, usage = told(OPENAI.chunks(STREAM, size))
    assert (text, reasons) == (TEXT, ["stop"])
    assert usage is not None
    assert usage.total_tokens == 18


def test_a_stream_may_have_other_line_ends() -> None:
    crlf = [packet.replace(b"\n", b"\r\n") for packet in STREAM]
    assert told(OPENAI.chunks(crlf))[0] == TEXT


def test_pieces_that_say_nothing_are_not_passed_on() -> None:
    silent = [
        chunk(delta(role="assistant", content="")),
        chunk(delta(content=None)),
        chunk({"index": 0, "finish_reason": None, "content_filter_results": None}),
        chunk({"index": 0, "delta": None, "finish_reason": None}),
        chunk(prompt_filter_results=[{"prompt_index": 0}], id="", model="", created=0),
        b": OPENROUTER PROCESSING\n\n",
    ]
    chunks = OPENAI.chunks([*silent, *STREAM])
    assert [c.choices[0].text for c in chunks if c.choices] == ["caf", "é \u2028", ""]


@pytest.mark.parametrize(
    "thought",
    [
        {"reasoning_content": "Hm."},
        {"reasoning": "Hm."},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]},
        {"tool_calls": [{"index": 0}]},
    ],
)
def test_a_thought_is_a_sign_of_life_and_no_text(thought: dict[str, Any]) -> None:
    first, *rest = OPENAI.chunks([chunk(delta(**thought)), *STREAM])
    assert first.choices == ()
    assert told(rest)[0] == TEXT


def test_samples_may_come_in_turns() -> None:
    stream = [
        chunk(delta(0, content="a"), delta(1, content="b")),
        chunk(delta(1, "length", content="d")),
        chunk(delta(0, "stop")),
        DONE,
    ]
    choices = [c for piece in OPENAI.chunks(stream, n=2) for c in piece.choices]
    assert choices == [
        Choice(0, "a"),
        Choice(1, "b"),
        Choice(1, "d"),
        Choice(0, "", "stop"),
        Choice(1, "", "length"),
    ]


def test_a_refusal_is_filtered_content() -> None:
    stream = [chunk(delta(refusal="I ")), chunk(delta(refusal="can't.")), chunk(delta(0, "stop"))]
    assert told(OPENAI.chunks([*stream, DONE]))[:2] == ("", ["content_filter"])


def test_usage_that_is_told_twice_is_the_same_usage() -> None:
    stream = [
        chunk(delta(content="a"), x_groq={"id": "req_1"}),
        chunk(delta(0, "stop"), x_groq={"id": "req_1", "usage": {**USAGE, "queue_time": 0.1}}),
    ]
    trailer = chunk(usage={**USAGE, "queue_time": 0.1})
    for whole in ([*stream, DONE], [*stream, trailer, DONE]):
        _, _, usage = told(GROQ.chunks(whole))
        assert usage is not None
        assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (11, 7, 18)


def test_usage_may_come_with_the_last_piece() -> None:
    chunks = OPENAI.chunks([chunk(delta(0, "stop", content="a"), usage=USAGE), DONE])
    assert told(chunks)[0] == "a"
    assert chunks[0].usage is not None


def test_offsets_go_on_from_piece_to_piece_choice_by_choice() -> None:
    def piece(index: int, *tokens: str, finish: str | None = None) -> dict[str, Any]:
        content = [{"token": t, "logprob": -1, "bytes": list(t.encode())} for t in tokens]
        said = delta(index, finish, content="".join(tokens))
        return {**said, "logprobs": {"content": content}}

    stream = [
        chunk(piece(0, "é", "bc"), piece(1, "x")),
        chunk(piece(1, "yz", finish="stop")),
        chunk(piece(0, "d", finish="stop")),
        DONE,
    ]
    chunks = OPENAI.chunks(stream, n=2, logprobs=0)
    offsets: dict[int, list[int]] = {0: [], 1: []}
    for choice in (c for piece in chunks for c in piece.choices if c.finish_reason is None):
        assert choice.logprobs is not None
        offsets[choice.index] += choice.logprobs["text_offset"]
    assert offsets == {0: [0, 1, 3], 1: [0, 1]}


# Streams that go wrong.


@pytest.mark.parametrize("end", range(3))
def test_a_stream_without_its_finish_reason_or_end_mark_is_never_whole(end: int) -> None:
    error = OPENAI.broken(STREAM[:end])
    assert isinstance(error, VendorFailed)
    assert error.billable


def test_a_sample_that_began_and_never_ended_is_missed() -> None:
    stream = [chunk(delta(0, role="assistant"), delta(1, role="assistant")), *STREAM[1:-1]]
    assert OPENAI.broken(stream, n=2).billable


def test_a_sample_that_never_began_is_missed_where_the_stream_just_ends() -> None:
    assert OPENAI.broken(STREAM[:-1], n=2).billable


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        (event({"error": {"code": 502, "message": "Provider disconnected"}}), 502),
        (
            chunk(delta(0, "error"), error={"code": 429, "message": "Slow down."}),
            429,
        ),
        (event({"error": {"message": "Overloaded", "status_code": 503}}), 503),
        (event({"code": "Internal error", "error": "Sorry."}), 502),
        (chunk(x_groq={"error": "over capacity"}), 502),
        (chunk(delta(0, "error")), 502),
        (event("not JSON"), 502),
        (chunk({"index": 0, "delta": 5, "finish_reason": None}), 502),
        (chunk(delta(content=7)), 502),
    ],
)
def test_an_error_in_a_stream_ends_it(wrong: bytes, status: int) -> None:
    assert OPENAI.broken([*STREAM[:2], wrong, *STREAM[2:]]).status == status


@given(
    st.lists(bodies("choices", "delta", "content", "finish_reason", "stop", "index"), max_size=4),
    st.integers(1, 50),
)
def test_no_stream_makes_anything_but_chunks_or_a_vendors_error(
    packets: list[bytes], size: int
) -> None:
    stream = [b"data: " + packet + b"\n\n" for packet in packets]
    try:
        chunks = OPENAI.chunks(stream, size, logprobs=1)
    except GatewayError:
        return
    assert any(choice.finish_reason for c in chunks for choice in c.choices)
